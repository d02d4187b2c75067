"""A session as far as it has been told: what must be remembered of its earlier records to tell the later ones.

Which tool a call was, since when it runs, who approved it, which words of the user it goes back to. It is small, and
can be made again from the log at any time.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.audit.entry import Entry
from callslip.core.event import Record, genesis
from callslip.core.payload import Payload
from callslip.core.principal import Proof

_MOST_UNSURE = 200
"""Calls of earlier steps that are remembered because something may still be heard of them."""


class Known(msgspec.Struct, kw_only=True):
    """What is remembered of a call."""

    tool: str = ""
    step: str = ""
    message: tuple[int, ...] = ()
    undoes: str = ""
    parent: str = ""
    proposed: Payload | None = None
    """Until it is dispatched or refused."""
    version: str = ""
    arguments_digest: str = ""
    dispatched_at: int | None = None
    approval: str = ""
    approved_by: tuple[str, ...] = ()
    unsure: bool = False
    """Something may still be heard of it after its step."""

    def since(self, record: Record) -> int | None:
        """How long ago it was dispatched."""
        return None if self.dispatched_at is None else max(record.at - self.dispatched_at, 0)


_NOTHING = Known()


class Story(msgspec.Struct, kw_only=True):
    """Made by :func:`begin`; ``audit/telling`` goes on with it."""

    session: str
    seq: int = 0
    """Position of the last record that was told."""
    digest: str = ""
    """Of that record, hex."""
    requester: str = ""
    process: str = ""
    message: tuple[int, ...] = ()
    """Positions of the user's words that the current step answers."""
    calls: dict[str, Known] = {}
    """The unsure ones of earlier steps, oldest first, then those of the current step."""
    waits: dict[str, tuple[str, str]] = {}
    """Open waits: kind, and call or nothing."""

    def known(self, call_id: str) -> Known:
        """What is remembered of the call."""
        return self.calls.setdefault(call_id, Known())

    def next_step(self) -> None:
        """Forget the calls of which nothing more can come."""
        unsure = [call for call, known in self.calls.items() if known.unsure]
        self.calls = {call: self.calls[call] for call in unsure[-_MOST_UNSURE:]}

    def entry(self, record: Record, **fields: Any) -> Entry:
        """An entry of the record that was told last, with what all have in common and these fields."""
        event = record.event
        proof: Proof | None = getattr(event, "proof", None)
        facts: dict[str, Any] = {
            "at": record.at,
            "kind": str(event.__struct_config__.tag),
            "session": self.session,
            "seq": self.seq,
            "digest": self.digest,
            "requester": self.requester,
            "process": self.process if record.epoch > 0 else "",
            "actor": getattr(event, "actor", record.by),
            "protected": bool(record.sealed),
        }
        if proof is not None:
            facts |= {
                "actor": proof.principal,
                "on_behalf_of": proof.on_behalf_of,
                "key": proof.key if proof.signature else "",
                "uid": proof.uid,
            }
        return Entry(**(facts | fields))

    def about(self, call_id: str, record: Record, **fields: Any) -> Entry:
        """An entry about a call."""
        known = self.calls.get(call_id, _NOTHING)
        fields.setdefault("tool", known.tool)
        fields.setdefault("version", known.version)
        return self.entry(
            record,
            call=call_id,
            step=known.step,
            message=known.message,
            undoes=known.undoes,
            parent=known.parent,
            **fields,
        )


def begin(session: str) -> Story:
    """The story before the first record."""
    return Story(session=session, digest=genesis(session).hex())
