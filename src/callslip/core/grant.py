"""A grant: an approval that holds for more than one call, by a rule that was shown before it was written (APPR-04)."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from callslip.core import canon

_PLAIN = re.compile(r"[A-Za-z0-9_.:@/-]+")


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Calls that need no further asking. It never allows what the policy denies, and never covers a wider call: every
    argument is either equal to what was approved, at most a bound, or named as free.
    """

    id: str
    tool: str
    tool_version: str
    executor: str
    """Identity of what runs the tool: another one of the same name is not meant."""
    requester: str
    """Whose sessions it holds for."""
    rules: tuple[str, ...]
    """The policy rules that asked; a call for which others ask is asked about."""
    equal: dict[str, Any]
    """Arguments that must be the same."""
    at_most: dict[str, int | float] = {}
    """Numbers that may be up to this bound, and not negative."""
    free: tuple[str, ...] = ()
    """Arguments that may be anything, or be left out."""
    session: str = ""
    """Empty: every session of the requester."""
    until: int | None = None
    """Milliseconds since 1970, UTC; ``None``: until it is revoked."""
    reason: str = ""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a grant, or an approval, is compared with: one call as it would be made now."""

    session: str
    requester: str
    tool: str
    tool_version: str
    executor: str
    rules: tuple[str, ...]
    arguments: Mapping[str, Any]


def covers(grant: Grant, subject: Subject, *, now: int) -> bool:
    """Whether the grant says yes to this call. ``now`` is in milliseconds since 1970, UTC."""
    same = (
        (grant.tool, grant.tool_version, grant.executor, grant.requester)
        == (subject.tool, subject.tool_version, subject.executor, subject.requester)
        and grant.session in ("", subject.session)
        and set(subject.rules) <= set(grant.rules)
    )
    if not same or (grant.until is not None and now >= grant.until):
        return False
    return _fits(grant, subject.arguments)


def _fits(grant: Grant, arguments: Mapping[str, Any]) -> bool:
    known: Collection[str] = {*grant.equal, *grant.at_most, *grant.free}
    if any(name not in known for name in arguments):
        return False
    if any(name not in arguments or not _same(arguments[name], value) for name, value in grant.equal.items()):
        return False
    return all(_within(arguments.get(name), bound) for name, bound in grant.at_most.items())


def _within(value: Any, bound: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= bound


def _same(one: Any, other: Any) -> bool:
    """Equal as the log spells them, so that ``1`` and ``true`` are not, at any depth, and ``1`` and ``1.0`` are."""
    try:
        return canon.canonical(one) == canon.canonical(other)
    except (TypeError, ValueError):
        return False


def in_words(grant: Grant) -> str:
    """The rule as a person is shown it before it is written. Nothing in it is rounded or cut."""
    parts = [f"{_name(name)} = {_json(value)}" for name, value in grant.equal.items()]
    parts += [f"{_name(name)} from 0 up to {_bound(bound)}" for name, bound in grant.at_most.items()]
    parts += [f"{_name(name)} anything or left out" for name in grant.free]
    where = f"session {_name(grant.session)}" if grant.session else f"every session of {_name(grant.requester)}"
    until = "" if grant.until is None else f", until {_moment(grant.until)}"
    tool = f"{_name(grant.tool)} (version {_name(grant.tool_version)}, run by {_name(grant.executor)})"
    one = len(grant.rules) == 1
    rules = f"{' and '.join(map(_name, grant.rules))} {'asks' if one else 'ask'}"
    rules = f", if the rule{'' if one else 's'} {rules}" if grant.rules else ""
    return f"{tool} with {', '.join(parts) or 'no arguments'}; in {where}{rules}{until}"


def _name(text: str) -> str:
    """A name as it is; quoted where it could be taken for more than one."""
    return text if _PLAIN.fullmatch(text) else _json(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _bound(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else canon.number(bound)


def _moment(at: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(at // 1000, tz=datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at} ms after 1970"
