"""Which tool a proposed name means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from callslip.core.result import Status
from callslip.gate.refusal import Refusal

_PASTED_SIGNATURE = re.compile(r"^([^\s(]+)\s*\(.*\)$", re.DOTALL)
_INVENTED_PREFIX = "functions."
_SHOWN = 80


def lookup(name: str, visible: Iterable[str]) -> str | Refusal:
    """The visible tool's own name, or a refusal with the nearest names.

    Forgiven, because one reading is left: white space around, the prefix ``functions.``, a pasted signature. Not
    forgiven: another case or spelling. Only visible tools are searched and suggested, so that a refusal tells nothing
    of hidden ones (CALL-02).
    """
    names = list(visible)
    if name in names:
        return name
    wanted = name.strip()
    pasted = _PASTED_SIGNATURE.match(wanted)
    for candidate in (name, wanted, pasted.group(1) if pasted else wanted):
        for spelling in (candidate, candidate.removeprefix(_INVENTED_PREFIX)):
            if spelling in names:
                return spelling
    return Refusal(status=Status.NOT_FOUND, code="unknown_tool", message=_message(wanted, names))


def _message(wanted: str, names: list[str]) -> str:
    shown = wanted if len(wanted) <= _SHOWN else wanted[:_SHOWN] + "…"
    by_case = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(wanted.lower()[:200], by_case, n=3, cutoff=0.6)
    text = f"There is no tool named {shown!r} in this step."
    if near:
        return f"{text} Did you mean {' or '.join(by_case[candidate] for candidate in near)}? Use the exact name."
    if names:
        listed = ", ".join(sorted(names)[:20])
        return f"{text} The tools are: {listed}{'…' if len(names) > 20 else ''}."
    return f"{text} No tools are available."
