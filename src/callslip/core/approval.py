"""What an approval binds to, and what has changed since it was given (APPR-02, APPR-03). Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core import canon, version
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.version import Version


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it would be made now, as far as an approval of it depends on that."""

    session: str
    requester: str
    call_id: str
    tool: str
    tool_version: str
    executor: str
    arguments_digest: str
    rules: tuple[str, ...]
    evidence: Evidence | None
    version: Version | None = None

    def digest(self, shown: str) -> str:
        """SHA-256, hex, of all of it and of the whole question (:func:`shown`). Of the evidence only the target and its
        state before belong to the call; what it will be after follows from the arguments.
        """
        facts: dict[str, Any] = {
            "shown": shown,
            "arguments": self.arguments_digest,
            "call_id": self.call_id,
            "executor": self.executor,
            "requester": self.requester,
            "rules": sorted(set(self.rules)),
            "session": self.session,
            "state": _state(self.evidence),
            "target": _target(self.evidence),
            "tool": self.tool,
            "tool_version": self.tool_version,
        }
        if self.version is not None:  # which most calls don't have: their questions bind to what they did before
            facts["version"] = msgspec.structs.asdict(self.version)
        return canon.digest(canon.canonical(facts))


def changes(
    asked: ApprovalRequested, now: Bound, *, edited: bool, approvers: int, named: bool = False
) -> tuple[str, ...]:
    """Why an approval of ``asked`` does not hold for the call as it would be made now; empty when it does.

    ``edited``: a person has put other arguments in the place of those asked about, and thereby approved them. Their
    target must still be the one that person was shown. ``named``: the call names the version that it is for.
    """
    found = []
    if now.tool != asked.tool:
        found.append(f"the tool is {now.tool}, not {asked.tool}")
    if now.tool_version != asked.tool_version:
        found.append(f"the tool has changed (version {asked.tool_version}, now {now.tool_version})")
    if now.executor != asked.executor:
        found.append(f"something else runs the tool ({asked.executor}, now {now.executor})")
    if now.requester != asked.requester:
        found.append(f"it is asked for by {now.requester}, not {asked.requester}")
    if set(now.rules) != set(asked.rules):
        found.append(f"other rules ask ({_words(asked.rules)}; now {_words(now.rules)})")
    if not edited and now.arguments_digest != asked.arguments_digest:
        found.append("the arguments are not the ones shown")
    if _target(now.evidence) != _target(asked.evidence):
        found.append(f"the target is {_target(now.evidence) or 'none'}, not {_target(asked.evidence) or 'none'}")
    elif _state(now.evidence) != _state(asked.evidence):
        found.append(f"{_target(now.evidence)} has changed since")
    moved = version.changes(asked.version, now.version, named=named)
    if moved is not None:
        found.append(moved)
    if approvers > asked.approvers:
        found.append(f"{approvers} people must approve now, not {asked.approvers}")
    if not found and not edited and now.digest(shown(asked)) != asked.binding:
        found.append("the call is not the one shown")
    return tuple(found)


def bind(asked: ApprovalRequested, session: str) -> ApprovalRequested:
    """The question with the binding that everything in it makes."""
    return msgspec.structs.replace(asked, binding=_bound(asked, session).digest(shown(asked)))


def altered(asked: ApprovalRequested, session: str, arguments: bytes | None = None) -> bool:
    """Whether the question is not the one that its binding was made of; ``arguments``: the text of those it shows."""
    others = arguments is not None and canon.digest(arguments) != asked.arguments_digest
    return others or bind(asked, session) != asked


def _bound(asked: ApprovalRequested, session: str) -> Bound:
    return Bound(
        session=session, requester=asked.requester, call_id=asked.call_id, tool=asked.tool,
        tool_version=asked.tool_version, executor=asked.executor, arguments_digest=asked.arguments_digest,
        rules=asked.rules, evidence=asked.evidence, version=asked.version,
    )  # fmt: skip


_encoder = msgspec.json.Encoder(order="sorted")


def shown(question: ApprovalRequested) -> str:
    """SHA-256, hex, of the question as it stands in the log, but for its binding: reason, schema and all."""
    return canon.digest(_encoder.encode(msgspec.structs.replace(question, binding="")))


def _target(evidence: Evidence | None) -> str:
    return evidence.target if evidence is not None else ""


def _state(evidence: Evidence | None) -> str:
    return evidence.before if evidence is not None else ""


def _words(rules: tuple[str, ...]) -> str:
    return ", ".join(sorted(set(rules))) or "none"
