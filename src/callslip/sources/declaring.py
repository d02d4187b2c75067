"""What stands in a ``@tool(…)``, read so that a slip of the pen is one sentence and never a Python error (SPEC-01)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from callslip.core.declared import LONGEST_MS, not_texts
from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolDefinitionError

_FUNCTIONS = ("probe", "prepare", "digest", "poll", "cancel", "compensate_with", "classify", "version")
_OR_NONE = frozenset({"background_timeout", "cached_fallback", "hedge_after"})


def refused(tool: str, said: str) -> ToolDefinitionError:
    """The error of a declaration; ``said`` is half a sentence."""
    return ToolDefinitionError(f"{tool}: {said}. Nothing was started.")


def milliseconds(tool: str, name: str, seconds: Any) -> int | None:
    """A duration, which some may leave open with ``None``."""
    if seconds is None and name in _OR_NONE:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        none = ", or None," if name in _OR_NONE else ""
        raise refused(tool, f"{name} is a number of seconds{none} and not {seconds!r}")
    if seconds * 1000 > LONGEST_MS:
        raise refused(tool, f"{name} is more than ten years ({seconds:g} s)")
    return round(seconds * 1000)


def texts(tool: str, name: str, value: Any) -> tuple[str, ...]:
    """A sequence of texts."""
    given = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else value
    said = not_texts(name, given)
    if said is not None:
        raise refused(tool, said)
    return tuple(given)


def member(tool: str, kind: type[Risk | Recovery], value: Any) -> Any:
    """One of a few words."""
    try:
        return kind(value)
    except ValueError:
        raise refused(tool, f"{value!r} is not one of {', '.join(kind)}") from None


def mapping(tool: str, name: str, value: Any) -> dict[str, Any]:
    """A schema, or arguments by name."""
    if not isinstance(value, Mapping):
        raise refused(tool, f"{name} has to be a mapping, and is {value!r}")
    return dict(value)


def normalisers(tool: str, value: Any) -> dict[str, Any]:
    """What brings arguments into form, by their names."""
    found = mapping(tool, "normalise", value or {})
    return {
        place: how if isinstance(how, str) else mapping(tool, f"normalise of {place!r}", how)
        for place, how in found.items()
    }


def examples(tool: str, value: Any) -> tuple[dict[str, Any], ...]:
    """Arguments to show."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise refused(tool, f"examples has to be a list of mappings, and is {value!r}")
    return tuple(mapping(tool, "each of examples", one) for one in value)


def check_functions(tool: str, own: Mapping[str, Any]) -> None:
    """What is called at some time can be called."""
    for name in _FUNCTIONS:
        given = own.get(name)
        if given is not None and not callable(given):
            raise refused(tool, f"{name} has to be a function, and is {given!r}")
    rules = own.get("rules", ())
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise refused(tool, f"rules has to be a list of functions, and is {rules!r}")
    wrong = next((one for one in rules if not callable(one)), None)
    if wrong is not None:
        raise refused(tool, f"rules has to be a list of functions, and {wrong!r} in it is none")
    if not isinstance(own.get("process", False), bool):
        raise refused(tool, f"process has to be True or False, and is {own['process']!r}")
