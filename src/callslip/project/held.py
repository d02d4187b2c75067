"""What of a project is not as it was accepted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from callslip.errors import NotAccepted

_NAMED = 6
"""Files that a refusal names."""
_WORDS = {"new": "not accepted", "changed": "changed", "gone": "gone"}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file that differs. A new one is held as well: it was never accepted."""

    path: str
    kind: Literal["new", "changed", "gone"]
    was: str = ""
    """SHA-256 as accepted, hex."""
    now: str = ""


def changes(accepted: Mapping[str, str], now: Mapping[str, str]) -> tuple[Change, ...]:
    """How the digests now differ from the accepted ones, by name."""
    found = []
    for path in sorted({*accepted, *now}):
        was, found_now = accepted.get(path, ""), now.get(path, "")
        if was != found_now:
            kind: Literal["new", "changed", "gone"] = "new" if not was else "changed" if found_now else "gone"
            found.append(Change(path=path, kind=kind, was=was, now=found_now))
    return tuple(found)


def refusal(held: Sequence[Change], *, command: str) -> NotAccepted:
    """The refusal to act on these; ``command`` is what lets a person accept them."""
    fresh = all(change.kind == "new" for change in held)
    named = ", ".join(change.path if fresh else f"{change.path} ({_WORDS[change.kind]})" for change in held[:_NAMED])
    more = f" and {len(held) - _NAMED:,} more" if len(held) > _NAMED else ""
    what = "Not accepted yet" if fresh else "The project is not what was accepted"
    return NotAccepted(
        f"{what}: {named}{more}. Nothing was started, and nothing in these files took effect. See what they say, and "
        f"accept it if you mean it: {command}"
    )
