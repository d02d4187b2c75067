"""Bring values to the form their tool wants, by what the tool declares of its arguments (ARGS-02).

Unlike coercion this knows meanings: "tomorrow" is a day, "C" may stand for "celsius". So it acts only where a tool says
so, with the moment of the proposal and the time zone of its session: judging a call again, after a night's wait for a
person, gives the same day. What it is not: it judges nothing; words it does not know are left for the schema to refuse.
Invariant: what it has brought into form it leaves alone.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from callslip.schema.change import Change

DAYS: Final = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1,
    "the day after tomorrow": 2, "day after tomorrow": 2,
}  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COUNT: Final = r"(a|an|one|[1-9][0-9]{0,3}) (day|week)s?"
AHEAD: Final = re.compile(rf"in {COUNT}|{COUNT} from (?:now|today)", re.ASCII)
AGO: Final = re.compile(rf"{COUNT} ago", re.ASCII)
NEXT: Final = re.compile(rf"next ({'|'.join(WEEKDAYS)})")
LIST: Final = "list"
_JSON: Final = frozenset('[{"')
LONGEST: Final = 40
"""Characters of a text that may be a date in words."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """When a call was proposed, and where."""

    at: int
    """Milliseconds since 1970, UTC."""
    zone: datetime.tzinfo

    def today(self) -> datetime.date:
        """The date there and then."""
        return datetime.datetime.fromtimestamp(self.at / 1000, self.zone).date()


Form = Callable[[str, Moment], str | list[str] | None]
"""Gives the text in its form, or None where it does not know it."""


class Normaliser(msgspec.Struct, frozen=True, kw_only=True):
    """One declaration of a tool, ready to be used."""

    path: tuple[str, ...]
    """The names that lead to the argument; the items of an array have their array's."""
    form: Form
    items: bool = True
    """Whether the items of an array are brought into form; else they are in it by being in one."""


def read_normalisers(declared: Mapping[str, str | Mapping[str, str]]) -> tuple[Normaliser, ...]:
    """Read what a tool declares: for each argument (`place`, or `stay.from` for one inside an object) the name of a
    form, or a mapping from other words for a value to that value.

    Raises:
        ValueError: a form that does not exist, or a mapping that leads on from where it has led.
    """
    return tuple(
        Normaliser(path=tuple(place.split(".")), form=_form(place, how), items=how != LIST)
        for place, how in declared.items()
    )


def normalise(value: Any, declared: tuple[Normaliser, ...], moment: Moment) -> tuple[Any, tuple[Change, ...]]:
    """The arguments in their declared forms, and what was changed for it."""
    changes: list[Change] = []
    for one in declared:
        value = _visit(value, one, moment, (), changes)
    return value, tuple(changes)


def zone(name: str) -> datetime.tzinfo:
    """A time zone by its name in the IANA database, such as Europe/Oslo.

    Raises:
        ValueError: there is none of that name on this machine.
    """
    if name == "UTC":
        return datetime.UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - few need it, and it costs a start 2 ms

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r} here: name one such as Europe/Oslo") from error


def _visit(
    value: Any, one: Normaliser, moment: Moment, place: tuple[str | int, ...], changes: list[Change], depth: int = 0
) -> Any:
    if isinstance(value, list) and (one.items or depth < len(one.path)):
        made = [_visit(item, one, moment, (*place, at), changes, depth) for at, item in enumerate(value)]
        return made if any(after is not item for after, item in zip(made, value, strict=True)) else value
    if depth < len(one.path):
        name = one.path[depth]
        if not isinstance(value, dict) or name not in value:
            return value
        after = _visit(value[name], one, moment, (*place, name), changes, depth + 1)
        return value if after is value[name] else {**value, name: after}
    if not isinstance(value, str):
        return value
    formed = one.form(value, moment)
    if formed is None or formed == value:
        return value
    changes.append(Change(path=place, before=value, after=formed))
    return formed


def _form(place: str, how: str | Mapping[str, str]) -> Form:
    if not isinstance(how, str):
        return _synonyms(place, how)
    if how not in FORMS:
        raise ValueError(f"{place} can't be normalised by {how!r}: use {' or '.join(FORMS)}, or map words to values")
    return FORMS[how]


def _synonyms(place: str, mapping: Mapping[str, str]) -> Form:
    words = {word.strip().lower(): value for word, value in mapping.items()}
    for value in words.values():
        onward = words.get(value.strip().lower(), value)
        if onward != value:
            raise ValueError(f"{place}: {value!r} is itself mapped to {onward!r}: map every word to its final value")
    return lambda text, _: words.get(text.strip().lower())


def _date(text: str, moment: Moment) -> str | None:
    """An ISO date for words that mean one day.

    "next friday" is said of the coming Friday and of the one in the week after this; where these differ it is left.
    """
    if len(text) > LONGEST:
        return None
    words = " ".join(text.lower().split())
    try:
        today = moment.today()
        days = _days(words, today)
        return None if days is None else (today + datetime.timedelta(days=days)).isoformat()
    except (OverflowError, ValueError, OSError):  # beyond what a calendar holds
        return None


def _days(words: str, today: datetime.date) -> int | None:
    if words in DAYS:
        return DAYS[words]
    if match := AHEAD.fullmatch(words):
        return _span(match[1] or match[3], match[2] or match[4])
    if match := AGO.fullmatch(words):
        return -_span(match[1], match[2])
    if match := NEXT.fullmatch(words):
        wanted = WEEKDAYS.index(match[1])
        coming = (wanted - today.weekday() - 1) % 7 + 1
        return coming if wanted <= today.weekday() else None
    return None


def _span(count: str, unit: str) -> int:
    number = 1 if count in {"a", "an", "one"} else int(count)
    return number * (7 if unit == "week" else 1)


def _path(text: str, moment: Moment) -> str | None:
    """Without `.` parts, doubled slashes and a slash at the end. `..` stays: what it leads to, links decide."""
    bare = text.strip()
    parts = [part for part in bare.split("/") if part not in {"", "."}]
    root = "/" if bare.startswith("/") else ""
    return root + "/".join(parts) or ("." if bare else None)


def _list(text: str, moment: Moment) -> list[str] | None:
    """An array of the one text. What begins like JSON may be an array that stands in a string: coercion reads it."""
    bare = text.strip()
    return None if not bare or bare[0] in _JSON else [text]


FORMS: Final[dict[str, Form]] = {"relative_date": _date, "path": _path, LIST: _list}
