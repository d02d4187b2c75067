"""Every gate in its fixed order, none skipped (CALL-02). Pure but for the tool's own rules: executes nothing.

lookup → visible in this step → arguments → business rules → required calls → loop guard → policy. What follows
(approval, breaker, claims, prepare, T1) is ``runtime/dispatch``. Each gate runs only when the ones before it passed, so
that an earlier answer tells nothing of a later gate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.events.model_requested import VisibleTool
from callslip.core.repeat import Repeat
from callslip.gate import access, business, loop
from callslip.gate.arguments import Arguments, read_arguments
from callslip.gate.catalogue import Catalogue, Entry
from callslip.gate.lookup import lookup
from callslip.gate.refusal import Refusal
from callslip.gate.visibility import not_shown, resolve
from callslip.ports.policy import Policy, Verdict
from callslip.schema.normalise import Moment


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may be dispatched as long as nothing changes: at once, or once a person has approved it."""

    entry: Entry
    arguments: Arguments
    verdict: Verdict
    """``allow`` or ``ask``."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal with the facts of this moment."""

    session: str
    requester: str
    tool: str
    """The name as it was emitted."""
    arguments: str | dict[str, Any]
    by_person: bool = False
    """A person has put these arguments in the place of the model's: they are judged to the letter."""
    moment: Moment
    """When and where it was proposed."""
    visible: Sequence[VisibleTool]
    succeeded: Collection[str]
    caller: str = "model"
    repeated: Repeat | None = None
    """It was proposed too often, and always came to this end."""
    made: Callable[[str, bytes], Repeat | None] | None = None
    """The same of the calls of this tool with these final arguments; ``None``: none was made too often."""
    no_room: Callable[[str], str] | None = None
    """Why a tool that can be found can't be shown in this turn any more, not even by its name; empty: it can."""


def judge(case: Case, catalogue: Catalogue, policy: Policy) -> Passed | Refusal:
    """Pass or refuse one proposal."""
    passed = _judge(case, catalogue, policy)
    return loop.once_more(case.tool, passed, case.repeated) if isinstance(passed, Refusal) else passed


def _judge(case: Case, catalogue: Catalogue, policy: Policy) -> Passed | Refusal:
    name = lookup(case.tool, (tool.name for tool in case.visible))
    if isinstance(name, Refusal):
        return not_shown(case.tool, case.visible, catalogue, case.no_room) or name
    entry = resolve(name, case.visible, catalogue, case.caller)
    if isinstance(entry, Refusal):
        return entry
    arguments = read_arguments(case.arguments, entry, case.moment, exact=case.by_person)
    if isinstance(arguments, Refusal):
        return arguments
    refusal = (
        business.check_rules(entry, canon.parse(arguments.text))
        or business.check_required(entry, case.succeeded)
        or loop.check_loop(name, case.repeated)
        or (None if case.made is None else loop.check_loop(name, case.made(entry.executor.spec.name, arguments.text)))
    )
    if refusal is not None:
        return refusal
    verdict = access.decide(policy, entry, arguments.value, case.session, case.requester)
    if isinstance(verdict, Refusal):
        return verdict
    return Passed(entry=entry, arguments=arguments, verdict=verdict)
