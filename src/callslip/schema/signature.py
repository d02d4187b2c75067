"""Find out what a callable really takes and returns: through decorators, partials, methods and string annotations.

Stands below `derive` and knows no JSON. What a model can't fill by name is refused here, with what to do instead.
"""

import functools
import inspect
import re
import types
import typing
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec
from pydantic.fields import FieldInfo

EMPTY: Final = inspect.Parameter.empty
STREAMS: Final = (AsyncIterator, AsyncIterable, AsyncGenerator)
MOST_WRAPPERS: Final = 100


class UnsupportedSignature(ValueError):  # named after what it reports, like the rest of our refusals
    """This function can't be a tool as it stands; the message says why and what to change."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter that the model may fill."""

    name: str
    annotation: Any
    """The resolved type with its Annotated extras; Any when there is none."""
    default: Any
    """The Python default or a pydantic Field(...); EMPTY when there is none."""

    @property
    def required(self) -> bool:
        if isinstance(self.default, FieldInfo):
            return self.default.is_required()
        return self.default is EMPTY


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A callable's true signature."""

    signature: inspect.Signature
    parameters: tuple[Parameter, ...]
    returns: Any
    """What a caller gets in the end (an awaitable's result); EMPTY when unannotated or not resolvable."""
    context_parameter: str | None
    is_async: bool
    is_stream: bool
    name: str
    """The plain function's name, or in words_like_this the class of a callable object."""
    documentation: str | None
    """The docstring of the same."""


def read_signature(function: Callable[..., Any], context_type: type | str | None) -> Reading:
    """Read a function, method, partial or callable object.

    Raises:
        UnsupportedSignature: it takes parameters that can't be passed by name, or its types can't be resolved.
    """
    given: Any = function
    if not callable(given) or inspect.isclass(given):
        raise UnsupportedSignature(f"{function!r} is not a function: pass a function, method or callable object")
    layers = _layers(function)
    inner = layers[-1]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UnsupportedSignature(f"{_name(inner)} has no readable signature: wrap it in a def") from error
    scope = _scope(inner)
    context: str | None = None
    parameters: list[Parameter] = []
    bound = {name for layer in layers if isinstance(layer, functools.partial) for name in layer.keywords}
    for parameter in signature.parameters.values():
        _check(parameter, inner)
        if _is_context(parameter.annotation, scope, context_type):
            if context is not None:
                raise UnsupportedSignature(f"{_name(inner)} takes two context parameters: keep one")
            context = parameter.name
        elif parameter.name not in bound:  # what a partial has fixed is no business of the model's
            annotation = _resolved(parameter, scope, inner)
            parameters.append(Parameter(name=parameter.name, annotation=annotation, default=parameter.default))
    is_async, is_stream = _flavour(layers)
    owner = next((type(layer) for layer in layers if _is_object(layer)), None)
    returns, awaited, streamed = _returns(signature.return_annotation, scope)
    return Reading(
        signature=signature,
        parameters=tuple(parameters),
        returns=EMPTY if is_stream or streamed else returns,
        context_parameter=context,
        is_async=is_async or awaited or streamed,
        is_stream=is_stream or (streamed and not is_async),
        name=_snake(owner.__name__) if owner else _name(inner),
        documentation=inner.__doc__ or (owner.__doc__ if owner else None),
    )


def _layers(function: Callable[..., Any]) -> list[Any]:
    """The callable, and all that it wraps, down to the plain function."""
    layers: list[Any] = [function]
    while len(layers) < MOST_WRAPPERS:
        top = layers[-1]
        if isinstance(top, functools.partial):
            layers.append(top.func)
        elif inspect.ismethod(top):
            layers.append(top.__func__)
        elif (wrapped := getattr(top, "__wrapped__", None)) is not None:
            layers.append(wrapped)
        elif _is_object(top):
            layers.append(type(top).__call__)
        else:
            break
    return layers


def _is_object(layer: Any) -> bool:
    """An object with a __call__ of its own, not a function or one of the standard library's wrappers."""
    return not (inspect.isroutine(layer) or isinstance(layer, functools.partial) or hasattr(layer, "__wrapped__"))


def _flavour(layers: list[Any]) -> tuple[bool, bool]:
    """The outermost layer that isn't a plain function decides: a plain wrapper hands on what it was given."""
    for layer in layers:
        if inspect.isasyncgenfunction(layer):
            return True, True
        if inspect.iscoroutinefunction(layer):
            return True, False
        if inspect.isgeneratorfunction(layer):
            raise UnsupportedSignature(
                f"{_name(layer)} is a generator: make it `async def` to stream partial results, or return a list"
            )
    return False, False


def _check(parameter: inspect.Parameter, inner: Any) -> None:
    name = _name(inner)
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise UnsupportedSignature(f"{name} takes *{parameter.name}: declare one list parameter instead")
    if parameter.kind is parameter.VAR_KEYWORD:
        raise UnsupportedSignature(f"{name} takes **{parameter.name}: declare each parameter, or one dict parameter")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise UnsupportedSignature(
            f"{name} takes {parameter.name} by position only, but arguments come by name: remove the `/`"
        )
    if parameter.name in {"self", "cls"} and parameter.annotation is EMPTY and "." in inner.__qualname__:
        raise UnsupportedSignature(f"{name} is a method without its object: pass the bound method")


def _scope(inner: Any) -> dict[str, Any]:
    """The names that the function's annotations may use: its module's, and those around its definition."""
    inside: dict[str, Any] = {}
    code, module = getattr(inner, "__code__", None), getattr(inner, "__globals__", {})
    outer = set(inner.__qualname__.split(".")[:-1])
    frame = inspect.currentframe()
    while frame is not None and "<locals>" in outer:
        if frame.f_globals is module and frame.f_code.co_name in outer:
            inside = {**frame.f_locals, **inside}
        frame = frame.f_back
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(inner, "__closure__", None) or (), strict=False):
        try:
            inside[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return {**module, **inside}


def _evaluate(annotation: Any, scope: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, scope, scope, include_extras=True)["it"]


def _resolved(parameter: inspect.Parameter, scope: dict[str, Any], inner: Any) -> Any:
    if parameter.annotation is EMPTY:
        return Any
    try:
        return _evaluate(parameter.annotation, scope)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise UnsupportedSignature(
            f"the type of {_name(inner)}'s parameter {parameter.name} can't be resolved ({error}): "
            "define or import it at module level, outside `if TYPE_CHECKING`"
        ) from error


def _is_context(annotation: Any, scope: dict[str, Any], context_type: type | str | None) -> bool:
    if context_type is None or annotation is EMPTY:
        return False
    wanted = context_type if isinstance(context_type, str) else context_type.__name__
    try:
        annotation = _evaluate(annotation, scope)
    except (NameError, TypeError, SyntaxError, AttributeError):
        # Often imported for type checkers only; the name tells enough.
        return str(annotation).partition("[")[0].rpartition(".")[2].strip() == wanted
    for part in _alternatives(annotation):
        core = typing.get_origin(part) or part
        if inspect.isclass(core):
            same = core.__name__ == wanted if isinstance(context_type, str) else issubclass(core, context_type)
            if same:
                return True
    return False


def _alternatives(annotation: Any) -> list[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if origin in {typing.Union, types.UnionType}:
        return [core for part in typing.get_args(annotation) for core in _alternatives(part)]
    return [annotation]


def _returns(annotation: Any, scope: dict[str, Any]) -> tuple[Any, bool, bool]:
    """The type of the result, whether it must be awaited for, and whether it comes in parts."""
    if annotation is EMPTY:
        return EMPTY, False, False
    try:
        resolved = _evaluate(annotation, scope)
    except (NameError, TypeError, SyntaxError, AttributeError):
        return EMPTY, False, False
    origin, inside = typing.get_origin(resolved) or resolved, typing.get_args(resolved)
    if origin in {Awaitable, Coroutine}:
        return inside[-1] if inside else EMPTY, True, False
    return resolved, False, origin in STREAMS


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
