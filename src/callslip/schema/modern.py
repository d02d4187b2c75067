"""Rewrite `typing.TypedDict` inside a type as the one that pydantic reads on Python 3.11.

Before 3.12 the standard library's TypedDict keeps too little about its bases for pydantic, which refuses it; users
shouldn't have to know. On later Pythons `modern` returns its argument. TypedDicts inside dataclasses and models are
out of reach: pydantic's own refusal stands for those.
"""

import sys
import types
import typing
from typing import Any, Final

import typing_extensions

NEEDED: Final = sys.version_info < (3, 12)


def modern(annotation: Any) -> Any:
    """Return an equal type that pydantic can read."""
    return _rewritten(annotation, {}) if NEEDED else annotation


def _rewritten(annotation: Any, done: dict[Any, Any]) -> Any:
    if type(annotation).__module__ == "typing" and typing.is_typeddict(annotation):
        if annotation not in done:
            done[annotation] = annotation  # inside itself it stays as it is, and pydantic refuses it
            done[annotation] = _typed_dict(annotation, done)
        return done[annotation]
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal or not inside:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(_rewritten(inside[0], done), *inside[1:])]
    parts = tuple(_rewritten(part, done) for part in inside)
    if all(part is old for part, old in zip(parts, inside, strict=True)):
        return annotation
    if origin is types.UnionType or origin is typing.Union:
        return typing.Union[parts]  # noqa: UP007  # made from a tuple at run time
    return annotation.copy_with(parts) if hasattr(annotation, "copy_with") else origin[parts]


def _typed_dict(annotation: Any, done: dict[Any, Any]) -> Any:
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(annotation, include_extras=True).items():
        marker = typing.get_origin(hint)
        marked = marker in {typing.Required, typing.NotRequired}
        kind = _rewritten(typing.get_args(hint)[0] if marked else hint, done)
        required = marker is typing.Required if marked else name in annotation.__required_keys__
        fields[name] = typing_extensions.Required[kind] if required else typing_extensions.NotRequired[kind]
    make: Any = typing_extensions.TypedDict
    made = make(annotation.__name__, fields)
    made.__doc__, made.__module__ = annotation.__doc__, annotation.__module__
    return made
