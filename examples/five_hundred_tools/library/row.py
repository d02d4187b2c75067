"""A line of the tables: a function of the standard library, and how JSON becomes its arguments.

``row("math.comb", math.comb, "n: 0..500, k: 0..500", (5, 2), 10)`` is a tool: its name, what runs, its parameters, and
an example with its result. A parameter is ``name: kind`` or ``name: kind = default``; a kind is one of ``KINDS``, a
range of whole numbers ``0..500``, or words to choose from, ``up|down``. Every kind has a limit, so that no call works
for long. Without words of its own a row says what the function's own docstring says.
"""

from __future__ import annotations

import datetime
import inspect
import ipaddress
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from callslip import Tool, ToolFailed, tool

LONG, SHORT, MANY = 4000, 200, 500
_CANNOT = (ValueError, ArithmeticError, LookupError, TypeError, SyntaxError, RecursionError, struct.error, zlib.error)
_INT = Annotated[int, Field(ge=-(10**15), le=10**15)]
_TEXT = Annotated[str, Field(max_length=LONG)]
_WORD = Annotated[str, Field(max_length=SHORT)]


class Kind(NamedTuple):
    """What JSON has to be, and what it becomes."""

    annotation: Any
    into: Callable[[Any], Any] | None = None


def _said(kind: Any, words: str) -> Any:
    return Annotated[kind, Field(description=words)]


KINDS: Mapping[str, Kind] = {
    "number": Kind(float),
    "int": Kind(_INT),
    "bool": Kind(bool),
    "text": Kind(_TEXT),
    "word": Kind(_WORD),
    "numbers": Kind(Annotated[list[float], Field(max_length=MANY)]),
    "ints": Kind(Annotated[list[_INT], Field(max_length=MANY)]),
    "texts": Kind(Annotated[list[_WORD], Field(max_length=MANY)]),
    "items": Kind(Annotated[list[Any], Field(max_length=MANY)]),
    "lists": Kind(Annotated[list[list[Any]], Field(max_length=20)]),
    "any": Kind(Any),
    "map": Kind(Annotated[dict[str, Any], Field(max_length=MANY)]),
    "date": Kind(_said(datetime.date, "YYYY-MM-DD")),
    "time": Kind(_said(datetime.time, "HH:MM:SS")),
    "moment": Kind(_said(datetime.datetime, "YYYY-MM-DDTHH:MM:SS")),
    "fraction": Kind(_said(Annotated[str, Field(pattern=r"^-?\d{1,12}(/\d{1,12})?$")], 'such as "3/4"'), Fraction),
    "decimal": Kind(_said(Annotated[str, Field(pattern=r"^-?\d{1,20}(\.\d{1,20})?$")], 'such as "1.25"'), Decimal),
    "bytes": Kind(_said(_TEXT, "taken as UTF-8"), str.encode),
    "hex": Kind(_said(_TEXT, "bytes in hexadecimal"), bytes.fromhex),
    "ip": Kind(_said(_WORD, "an IPv4 or IPv6 address"), ipaddress.ip_address),
    "form": Kind(_said(Annotated[str, Field(pattern=r"^[,_]?(\.\d{1,2})?[deEfgGn%]?$")], 'such as ",.2f"')),
    "net": Kind(_said(_WORD, 'a network, such as "10.0.0.0/8"'), lambda text: ipaddress.ip_network(text, strict=False)),
}


class Row(NamedTuple):
    """A tool with an example."""

    tool: Tool
    example: dict[str, Any]
    result: Any


def rows(category: str, *lines: tuple[Any, ...]) -> list[Row]:
    """The tools of one category."""
    return [_row(category, *line) for line in lines]


def _row(
    category: str,
    name: str,
    function: Callable[..., Any],
    takes: str,
    example: tuple[Any, ...],
    result: Any,
    says: str = "",
) -> Row:
    kinds: dict[str, Kind] = {}
    parameters = []
    for part in filter(None, re.split(r",\s*(?=\w+:)", takes)):
        parameter, _, rest = part.partition(":")
        kind, equals, default = rest.partition(" = ")
        kinds[parameter] = made = _kind(kind.strip())
        parameters.append(
            inspect.Parameter(
                parameter,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=made.annotation,
                default=json.loads(default) if equals else inspect.Parameter.empty,
            )
        )

    def run(**given: Any) -> Any:
        try:
            values = [_into(kinds[one.name], given.get(one.name, one.default)) for one in parameters]
            return plain(function(*values))
        except _CANNOT as error:
            raise ToolFailed(f"{type(error).__name__}: {error}", code="not_computable") from error

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    said = says or documented(function)
    made_tool = tool(
        name=name, description=said, category=category, risk="read", deferred=True, untrusted_fields=(), timeout=10
    )(run)
    return Row(made_tool, dict(zip(kinds, example, strict=False)), result)


def _kind(text: str) -> Kind:
    if text in KINDS:
        return KINDS[text]
    if ".." in text:
        low, _, high = text.partition("..")
        return Kind(Annotated[int, Field(ge=int(low), le=int(high))])
    return Kind(Literal[tuple(text.split("|"))])


def _into(kind: Kind, value: Any) -> Any:
    return value if kind.into is None else kind.into(value)


def documented(function: Callable[..., Any]) -> str:
    """The first paragraph of its docstring that is no signature."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    said = next((one for one in paragraphs if not re.match(r"[\w.]+\(.*\)( ->.*)?$", one)), "")
    return " ".join(said.split())


def plain(value: Any) -> Any:
    """A result as JSON can say it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError("the result is no finite number")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.decode("ascii", "backslashreplace")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(one) for one in value)
    if isinstance(value, list | tuple | range | Iterator):
        return [plain(one) for one in value]
    return str(value)
