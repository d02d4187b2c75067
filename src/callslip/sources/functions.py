"""Tools from Python functions: the ``@tool`` decorator and the executor behind it (SPEC-01, SPEC-02)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import anyio
import anyio.to_thread

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk, ToolSpec
from callslip.errors import ToolDefinitionError
from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer
from callslip.schema.explain import explain
from callslip.schema.field_error import BindError

if TYPE_CHECKING:
    from callslip.schema.derive import Derived

Rule = Callable[[Mapping[str, Any]], str | None]


class Tool:
    """A function with its declaration. Still callable as the plain function it was."""

    def __init__(
        self,
        function: Callable[..., Any],
        spec: ToolSpec,
        derived: Derived,
        *,
        rules: Sequence[Rule] = (),
        probe: Callable[..., Any] | None = None,
        prepare: Callable[..., Any] | None = None,
        digest: Callable[[str], Any] | None = None,
    ) -> None:
        self.spec = spec
        self.version = spec.version
        self.function = function
        self._derived = derived
        self._rules = tuple(rules)
        self._probe = probe
        self._prepare = prepare
        self._digest = digest
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name} {self.spec.risk} {self.spec.recovery}>"

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        try:
            self._derived.bind(dict(arguments))
        except BindError as error:  # valid by the schema, refused by the function's own types
            return explain(self.spec.name, error.errors)
        for rule in self._rules:
            complaint = rule(arguments)
            if complaint is not None:
                return complaint
        return None

    async def prepare(self, arguments: Mapping[str, Any]) -> Evidence | None:
        if self._prepare is None:
            return None
        evidence: Evidence | None = await call(self._prepare, **arguments)
        return evidence

    async def run(self, arguments: Mapping[str, Any], context: Context) -> Any:
        bound = self._derived.bind(dict(arguments))
        if self._derived.context_parameter:
            bound[self._derived.context_parameter] = context
        if self._derived.is_stream:
            return await _drain(self.function(**bound), context)
        if self._derived.is_async:
            return await self.function(**bound)
        body = functools.partial(context.in_thread, functools.partial(self.function, **bound))
        context.wait_for_thread()
        result = await anyio.to_thread.run_sync(body, abandon_on_cancel=True)
        return await result if inspect.isawaitable(result) else result

    async def probe(self, arguments: Mapping[str, Any], context: Context) -> ProbeAnswer:
        if self._probe is None:
            return ProbeAnswer(happened=None)
        answer = await call(self._probe, context, **arguments)
        if isinstance(answer, ProbeAnswer):
            return answer
        return ProbeAnswer(happened=answer is not None, result=answer)

    async def digest(self, target: str) -> str:
        if self._digest is None:
            raise ToolDefinitionError(f"{self.spec.name} declares recovery by evidence but gives no digest function.")
        return str(await call(self._digest, target))


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Await an asynchronous function; run a synchronous one in a worker thread, so that it can't stop the loop."""
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        return await function(*args, **kwargs)
    return await anyio.to_thread.run_sync(functools.partial(function, *args, **kwargs), abandon_on_cancel=True)


async def _drain(stream: AsyncIterator[Any], context: Context) -> Any:
    """Show each piece as it comes; the settled result is their concatenation, or the list of them."""
    pieces: list[Any] = []
    async for piece in stream:
        context.partial(piece if isinstance(piece, str) else repr(piece))
        pieces.append(piece)
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    when_not: str = "",
    category: str = "",
    tags: Sequence[str] = (),
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    examples: Sequence[Mapping[str, Any]] = (),
    tag: str = "",
    risk: Risk | str = Risk.DANGEROUS,
    recovery: Recovery | str = Recovery.NEVER,
    timeout: float = 60.0,
    quiet: float = 30.0,
    local_effect: bool = False,
    callable_from: Sequence[str] = ("model",),
    requires: Sequence[str] = (),
    claims: Sequence[str] = (),
    allowed_paths: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    identity_arguments: Sequence[str] = (),
    untrusted_fields: Sequence[str] = ("*",),
    sandbox: str = "none",
    deferred: bool = False,
    client_owned: bool = False,
    fallback: str | None = None,
    compensation: str | None = None,
    rules: Sequence[Rule] = (),
    probe: Callable[..., Any] | None = None,
    prepare: Callable[..., Any] | None = None,
    digest: Callable[[str], Any] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **declared: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a function as a tool. Undeclared means dangerous, never repeated, not callable from programs.

    ``timeout`` and ``quiet`` are seconds. ``probe(context, **arguments)`` gives the result of the call with
    ``context.idempotency_key``, ``None`` when it did not happen, or a :class:`ProbeAnswer`. ``prepare(**arguments)``
    gives an :class:`Evidence`, and ``digest(target)`` the target's digest now. A rule of ``rules`` is given the
    arguments and answers with a sentence for the model, or ``None``.

    Raises:
        ToolDefinitionError: the signature can't be described, or the declaration contradicts itself.
    """
    if function is not None:
        return _build(function, declared)
    return lambda wrapped: _build(wrapped, declared)


_OWN = ("rules", "probe", "prepare", "digest")
_SEQUENCES = (
    "tags", "callable_from", "requires", "claims", "allowed_paths", "allowed_hosts", "identity_arguments",
    "untrusted_fields",
)  # fmt: skip


def _build(function: Callable[..., Any], declared: dict[str, Any]) -> Tool:
    from callslip.schema import derive  # noqa: PLC0415 - pydantic is loaded by the first tool, not by the import

    declared = dict(declared)
    own = {name: declared.pop(name) for name in _OWN if name in declared}
    try:
        derived = derive.derive(function, context_type=Context)
    except derive.UnsupportedSignature as error:
        raise ToolDefinitionError(f"{getattr(function, '__name__', function)!s} can't be a tool: {error}") from error
    fields: dict[str, Any] = {
        "name": declared.pop("name", None) or derived.name,
        "description": _first(declared.pop("description", None), derived.description),
        "input_schema": dict(declared.pop("input_schema", None) or derived.input_schema),
        "output_schema": _first(declared.pop("output_schema", None), derived.output_schema),
        "timeout_ms": round(declared.pop("timeout", 60.0) * 1000),
        "quiet_ms": round(declared.pop("quiet", 30.0) * 1000),
        "risk": _member(Risk, declared.pop("risk", Risk.DANGEROUS)),
        "recovery": _member(Recovery, declared.pop("recovery", Recovery.NEVER)),
        "examples": tuple(dict(example) for example in declared.pop("examples", ())),
    }
    fields |= {name: tuple(declared.pop(name)) for name in _SEQUENCES if name in declared}
    try:
        spec = ToolSpec(**fields, **declared)
    except TypeError as error:
        raise ToolDefinitionError(f"{fields['name']}: {error}. See ToolSpec for what a tool declares.") from error
    _check(spec, own)
    return Tool(function, spec, derived, **own)


def _check(spec: ToolSpec, own: Mapping[str, Any]) -> None:
    complaint = None
    if spec.recovery is Recovery.PROBE and not own.get("probe") and not spec.client_owned:
        complaint = "recovery='probe' needs a probe function"
    elif spec.recovery is Recovery.EVIDENCE and not (own.get("prepare") and own.get("digest")):
        complaint = "recovery='evidence' needs a prepare and a digest function"
    elif spec.timeout_ms <= 0 or spec.quiet_ms < 0:
        complaint = "timeout must be positive and quiet not negative"
    if complaint:
        raise ToolDefinitionError(f"{spec.name}: {complaint}.")


def _member(kind: type[Risk | Recovery], value: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise ToolDefinitionError(f"{value!r} is not one of {', '.join(kind)}.") from None


def _first(declared: Any, derived: Any) -> Any:
    return derived if declared is None else declared
