"""Hold a JSON value against the types that an SDK gives its requests: strictly, as no SDK does at run time.

The SDKs of OpenAI, Anthropic and Mistral write down every field of a request as typed dictionaries. A type checker
would find the field that is not there and the word that is no choice; here it is done with what is really sent.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from functools import cache
from typing import Annotated, Any, Literal, Union

import typing_extensions

_WRAPPERS = (typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired, Annotated)
_PLAIN = {str: str, bool: bool, type(None): type(None), dict: dict, list: list}


def faults(value: Any, wanted: Any, path: str = "") -> list[str]:
    """What of ``value`` is not as ``wanted`` says, each with its place."""
    origin = typing.get_origin(wanted)
    if origin in _WRAPPERS:
        return faults(value, typing.get_args(wanted)[0], path)
    if wanted in (Any, object):
        return []
    if isinstance(wanted, typing_extensions.TypeAliasType):
        return faults(value, wanted.__value__, path)
    if isinstance(origin, typing_extensions.TypeAliasType):
        return faults(value, origin.__value__[typing.get_args(wanted)], path)
    if origin in (Union, types.UnionType):
        return _nearest(value, typing.get_args(wanted), path)
    if origin is Literal:
        return [] if value in typing.get_args(wanted) else [f"{path}: {value!r} is none of {typing.get_args(wanted)}"]
    if typing_extensions.is_typeddict(origin or wanted):
        return _of_fields(value, origin or wanted, path)
    if wanted is None or wanted in _PLAIN:
        return [] if type(value) is _PLAIN.get(wanted, type(None)) else [_other(value, wanted, path)]
    if wanted in (int, float):
        fits = isinstance(value, int if wanted is int else (int, float)) and not isinstance(value, bool)
        return [] if fits else [_other(value, wanted, path)]
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return _of_mapping(value, typing.get_args(wanted)[-1], path)
    if _is_sequence(origin):
        return _of_list(value, typing.get_args(wanted)[0], path)
    # What is left is no JSON: the SDK's own objects, files, paths, bytes.
    return [_other(value, wanted, path)]


def _is_sequence(origin: Any) -> bool:
    return origin is not None and (
        getattr(origin, "__name__", "") == "SequenceNotStr"
        or (isinstance(origin, type) and issubclass(origin, collections.abc.Iterable))
    )


def _nearest(value: Any, choices: tuple[Any, ...], path: str) -> list[str]:
    """No fault if one of the choices has none; else those of the one that has fewest."""
    return min((faults(value, choice, path) for choice in choices), key=len)


def _of_fields(value: Any, wanted: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [_other(value, wanted, path)]
    hints = _hints(wanted)
    found = [f"{path}: {name} is missing" for name in _required(wanted) if name not in value]
    for name, inner in value.items():
        if name in hints:
            found += faults(inner, hints[name], f"{path}.{name}")
        else:
            found.append(f"{path}: {wanted.__name__} has no field {name!r}")
    return found


@cache
def _required(wanted: Any) -> list[str]:
    """As the hints say: the class itself can't see ``Required`` in a module whose annotations are texts."""
    said = {
        True: (typing.Required, typing_extensions.Required),
        False: (typing.NotRequired, typing_extensions.NotRequired),
    }
    origins = {name: typing.get_origin(hint) for name, hint in _hints(wanted).items()}
    return [
        name
        for name, origin in origins.items()
        if origin in said[True] or (origin not in said[False] and name in wanted.__required_keys__)
    ]


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(wanted, include_extras=True)


def _of_mapping(value: Any, inner: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [_other(value, dict, path)]
    return [fault for name, one in value.items() for fault in faults(one, inner, f"{path}.{name}")]


def _of_list(value: Any, inner: Any, path: str) -> list[str]:
    if not isinstance(value, list):
        return [_other(value, list, path)]
    return [fault for place, one in enumerate(value) for fault in faults(one, inner, f"{path}[{place}]")]


def _other(value: Any, wanted: Any, path: str) -> str:
    return f"{path}: {type(value).__name__} is no {getattr(wanted, '__name__', wanted)}"
