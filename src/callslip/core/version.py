"""Which version a state has, so that a call changes the one that it was made for, and no other (PARA-02). Pure.

A state that is kept elsewhere (a ticket, a document, a row) has a version that its keeper gives: a revision number, an
ETag. What a call was made for, and what it finds, are compared as text: 5 and "5" are one version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from callslip.core.claim import Kind, wanted

LONGEST: Final = 1000
"""Characters of a version. An ETag has some dozens."""
_NUMBERS = range(-(2**63), 2**63)
_CUT = 200

Value = str | int | None
"""``None``: there is nothing yet."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The version of something, as its keeper says it."""

    of: str
    """What has it, as the call claims it: ``ticket:17``."""
    value: str | int | None = None
    """``None``: there is nothing yet."""


def own_claims(claims: tuple[str, ...]) -> tuple[str, ...]:
    """Of a tool's claims, or those of a call, the ones that keep everybody else out."""
    found = [(one, wanted(one)) for one in claims]
    return tuple(text for text, claim in found if claim.kind is not Kind.SLOT and not claim.shared)


def unusable(value: object) -> str | None:
    """Why this can't be a version, as half a sentence; ``None``: it can."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        return f"it is given as {type(value).__name__}, and has to be a text, a whole number or None"
    if isinstance(value, int):
        return None if value in _NUMBERS else "it is a number of more than 64 bits: give it as a text"
    if len(value) > LONGEST:
        return f"it is a text of {len(value):,} characters, and {LONGEST:,} are the most"
    if any("\ud800" <= character <= "\udfff" for character in value):
        return "it is a text of broken Unicode"
    return None


def expected(name: str, arguments: Mapping[str, Any]) -> Value:
    """The version that the caller says it has seen, in the argument of this name; ``None``: it says none.

    A model that must fill in every argument gives null for what it leaves out.
    """
    given = arguments.get(name) if name else None
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if given is None or isinstance(given, str | int) else str(given)


def same(one: Value, other: Value) -> bool:
    if one is None or other is None:
        return one is other
    return str(one) == str(other)


def conflict(now: Version, made_for: Value) -> str:
    """What the model is told of a call that was not made."""
    return f"{_found(now)}, and this call was made for {_as(made_for)}. {_ADVICE}"


def conflict_at_keeper(seen: Version | None, now: Value) -> str:
    """The same of a call that its service has refused; ``now`` is ``None`` when it has not said its version."""
    if seen is None:
        by_now = "" if now is None else f" ({_cut(now)})"
        return f"What this call would change has another version by now{by_now}. {_ADVICE}"
    if now is None:
        return f"{_cut(seen.of)} has changed by now, and this call was made for {_as(seen.value)}. {_ADVICE}"
    return conflict(Version(of=seen.of, value=now), seen.value)


def unclear(seen: Version | None, now: Value) -> str:
    """The same of a repeated call: it may have been the earlier attempt that changed the version."""
    of = "What this call changes" if seen is None else _cut(seen.of)
    by_now = "another version" if now is None else _as(now)
    return f"{of} has {by_now} by now. Whether an earlier attempt of this call has changed it, nobody knows."


_ADVICE = "Nothing was executed. Read it again and decide anew."


def changes(asked: Version | None, now: Version | None, *, named: bool) -> str | None:
    """Why an approval of the call at ``asked`` does not hold at ``now``, as a sentence without its end.

    ``named``: the call itself names the version that it is for, and that is the one it has now.
    """
    if asked is None or now is None:
        return None if asked is now else "whether what it changes has a version is seen otherwise than before"
    if asked.of != now.of:
        return f"it changes {_cut(now.of)}, not {_cut(asked.of)}"
    if named or same(asked.value, now.value):
        return None
    then = "was not there" if asked.value is None else f"had {_as(asked.value)}"
    return f"{_found(now)}; it {then} when it was asked about"


def in_words(version: Version) -> str:
    """For the timeline and the audit."""
    if version.value is None:
        return f"{version.of}, which is not there yet"
    return f"version {version.value} of {version.of}"


def _found(version: Version) -> str:
    if version.value is None:
        return f"{_cut(version.of)} is not there"
    return f"{_cut(version.of)} has {_as(version.value)} now"


def _as(value: Value) -> str:
    return "one that is not there yet" if value is None else f"version {_cut(value)}"


def _cut(value: str | int) -> str:
    text = str(value)
    return text if len(text) <= _CUT else text[:_CUT] + "…"
