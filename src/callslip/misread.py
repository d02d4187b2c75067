"""What is wrong with settings that can't be read, for whoever wrote them: which setting, and what it may be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import inspect

_STEP = re.compile(r"\.([^.\[\]`]+)|\[([^\]]*)\]")
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
    "null": "nothing",
}
_INSIDE = (inspect.ListType, inspect.VarTupleType, inspect.SetType)


def explain(error: msgspec.ValidationError, settings: Any) -> str:
    """One or two sentences: which setting of ``settings`` the error is about, and what it may be."""
    said, _, place = str(error).rpartition(" - at ")
    said, place = (said, place) if said else (place, "")
    steps = [name or f"[{index}]" for name, index in _STEP.findall(place)]
    types = _alternatives([inspect.type_info(settings)])
    for step in steps[:-1]:
        types = _inside(types, step)
    last = _inside(types, steps[-1]) if steps else types
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", said, re.DOTALL):
        return f"There is no setting `{unknown[1]}`{_in(steps)}.{_near(unknown[1], _names(last))}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", said):
        return f"The setting `{missing[1]}`{_in(steps)} is missing."
    if wrong := re.fullmatch(r"Invalid (?:enum )?value (.*)", said, re.DOTALL):
        given = wrong[1].strip("'\"")
        if place.startswith("`key`"):
            return f"There is no `{given}` for {_table(steps)}.{_near(given, _keys(last))}"
        values = _values(last) or (_tags(types, steps[-1]) if steps else [])
        return f"{_named(steps)} can't be {given!r}. It is {_listed(values)}.{_near(given, values, listed=False)}"
    if kind := re.fullmatch(r"Expected `(.*)`, got `(.*)`", said):
        given = "one with a fraction" if "int" in kind[1] and kind[2] == "float" else _in_words(kind[2])
        return f"{_named(steps)} is {_in_words(kind[1])}, and not {given}."
    whole = said if said.endswith((".", "!", "?")) else f"{said}."
    return f"{_table(steps)}: {whole}" if steps else whole  # in the words of the settings' own class


def _alternatives(types: Iterable[inspect.Type]) -> list[inspect.Type]:
    found: list[inspect.Type] = []
    for one in types:
        found += _alternatives(one.types) if isinstance(one, inspect.UnionType) else [one]
    return found


def _inside(types: Sequence[inspect.Type], step: str) -> list[inspect.Type]:
    """What may stand at the next step, whichever of these it is in."""
    found: list[inspect.Type] = []
    for one in types:
        if isinstance(one, inspect.StructType):
            found += [field.type for field in one.fields if field.encode_name == step]
        elif isinstance(one, inspect.DictType):
            found.append(one.value_type)
        elif isinstance(one, _INSIDE):
            found.append(one.item_type)
    return _alternatives(found)


def _names(types: Iterable[inspect.Type]) -> list[str]:
    structs = [one for one in types if isinstance(one, inspect.StructType)]
    return list(dict.fromkeys(field.encode_name for one in structs for field in one.fields))


def _values(types: Iterable[inspect.Type]) -> list[str]:
    """The texts that may stand here, where there are only so many; the empty one says nothing."""
    found: list[Any] = []
    for one in types:
        if isinstance(one, inspect.LiteralType):
            found += one.values
        elif isinstance(one, inspect.EnumType):
            found += [member.value for member in one.cls]
    return list(dict.fromkeys(str(value) for value in found if value != ""))


def _keys(types: Iterable[inspect.Type]) -> list[str]:
    return _values(one.key_type for one in types if isinstance(one, inspect.DictType))


def _tags(types: Iterable[inspect.Type], step: str) -> list[str]:
    structs = [one for one in types if isinstance(one, inspect.StructType)]
    return [str(one.tag) for one in structs if one.tag_field == step]


def _in_words(types: str) -> str:
    return " or ".join(_WORDS.get(one, one) for one in types.split(" | ") if one != "null" or types == "null")


def _listed(values: Sequence[str]) -> str:
    return f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else "".join(values)


def _near(given: str, known: Sequence[str], *, listed: bool = True) -> str:
    near = difflib.get_close_matches(given, known, n=1)
    if near:
        return f" Did you mean {near[0]}?"
    return f" There are {', '.join(known)}." if listed and known else ""


def _table(steps: Sequence[str]) -> str:
    """The table's name as it stands in the file, and which one of several."""
    names = [step for step in steps if not step.startswith("[")]
    names += ["NAME"] if steps[-1] == "[...]" else []
    number = next((step[1:-1] for step in steps if step[1:-1].isdigit()), "")
    return f"[[{'.'.join(names)}]] number {int(number) + 1}" if number else f"[{'.'.join(names)}]"


def _in(steps: Sequence[str]) -> str:
    return f" in {_table(steps)}" if steps else ""


def _named(steps: Sequence[str]) -> str:
    """A setting by its table and its name."""
    *table, name = steps or ["the file"]
    if name == "[...]":
        name = "NAME"
    elif name.startswith("["):
        return f"{_named(table)} number {int(name[1:-1]) + 1}"
    return f"{_table(table)} {name}" if table else name
