"""Tools from Python functions: the ``@tool`` decorator and the executor behind it (SPEC-01, SPEC-02)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import anyio
import anyio.to_thread

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.fault import Fault
from callslip.core.tool import Recovery, Risk, ToolSpec
from callslip.core.version import Version
from callslip.errors import ToolDefinitionError
from callslip.ports.background import Done, Running
from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer
from callslip.schema.explain import explain
from callslip.schema.field_error import BindError
from callslip.sources import contradictions, declaring, versions

if TYPE_CHECKING:
    from callslip.schema.derive import Derived
    from callslip.sources.child import Place

Rule = Callable[[Mapping[str, Any]], str | None]
Classify = Callable[[BaseException], Fault | None]


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
        poll: Callable[..., Any] | None = None,
        cancel: Callable[..., Any] | None = None,
        compensate_with: Callable[..., Any] | None = None,
        classify: Classify | None = None,
        process: bool = False,
        version: Callable[..., Any] | None = None,
    ) -> None:
        self.spec = spec
        self.version = spec.version
        self.identity = f"python:{_where(function)}"
        self.function = function
        self._derived = derived
        self._rules = tuple(rules)
        self._probe = probe
        self._prepare = prepare
        self._digest = digest
        self._poll = poll
        self._cancel = cancel
        self._compensate_with = compensate_with
        self._classify = classify
        self._asks_version = None if version is None else versions.Asks(version, spec)
        self._place = _place_of(function, spec.name) if process else None
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

    async def state(self, arguments: Mapping[str, Any]) -> Version:
        asks = self._asks_version
        if asks is None:
            raise ToolDefinitionError(f"{self.spec.name} declares no version function.")
        return asks.version(arguments, await call(asks.function, **asks.given(arguments)))

    async def run(self, arguments: Mapping[str, Any], context: Context) -> Any:
        if self._place is not None:
            context.queue(hears=self._hears or self.is_async, forced=True)
            reads = self.spec.risk is Risk.READ
            from callslip.sources import child  # noqa: PLC0415 - as below

            return await child.run_in_child(self._place, arguments, context, reads=reads)
        function = self.bound(arguments, context)
        if self._derived.is_stream:
            return await _drain(function(), context)
        if self._derived.is_async:
            return await function()
        context.queue(hears=self._hears)
        result = await anyio.to_thread.run_sync(functools.partial(context.in_thread, function), abandon_on_cancel=True)
        return await result if inspect.isawaitable(result) else result

    def bound(self, arguments: Mapping[str, Any], context: Context) -> Callable[[], Any]:
        """The function with these arguments in its own types, and the context if it takes one."""
        bound = self._derived.bind(dict(arguments))
        if self._derived.context_parameter:
            bound[self._derived.context_parameter] = context
        return functools.partial(self.function, **bound)

    def run_here(self, arguments: Mapping[str, Any], context: Context) -> Any:
        """The function's result, in the current thread; for a process that serves this call and no other."""
        function = self.bound(arguments, context)
        return _drain(function(), context) if self._derived.is_stream else function()

    @property
    def is_async(self) -> bool:
        """Whether what the function gives is to be awaited."""
        return self._derived.is_async or self._derived.is_stream

    @property
    def _hears(self) -> bool:
        return self._derived.context_parameter is not None

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

    async def poll(self, handle: Any, context: Context) -> Running | Done:
        if self._poll is None:
            raise ToolDefinitionError(f"{self.spec.name} starts no jobs: it declares no poll function.")
        answer: Running | Done = await call(self._poll, handle, context)
        return answer

    async def cancel(self, handle: Any, context: Context) -> bool:
        if self._cancel is None:
            return False
        await call(self._cancel, handle, context)
        return True

    def classify(self, error: BaseException) -> Fault | None:
        return None if self._classify is None else self._classify(error)

    def compensate_with(self, arguments: Mapping[str, Any], result: Any) -> Mapping[str, Any] | None:
        if self._compensate_with is None:
            return arguments
        undoing: Mapping[str, Any] | None = self._compensate_with(arguments, result)
        return undoing


def _place_of(function: Callable[..., Any], name: str) -> Place:
    from callslip.sources import child  # noqa: PLC0415 - an import of Callslip need not pay for what few tools use

    return child.place_of(function, name)


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
    normalise: Mapping[str, str | Mapping[str, str]] | None = None,
    untrusted_fields: Sequence[str] = ("*",),
    sandbox: str = "none",
    deferred: bool = False,
    client_owned: bool = False,
    asks_user: bool = False,
    background_timeout: float | None = None,
    poll_after: float = 5.0,
    fallback: str | None = None,
    cached_fallback: float | None = None,
    hedge_after: float | None = None,
    breaker: bool = True,
    target: str = "",
    compensation: str | None = None,
    rules: Sequence[Rule] = (),
    probe: Callable[..., Any] | None = None,
    prepare: Callable[..., Any] | None = None,
    digest: Callable[[str], Any] | None = None,
    poll: Callable[..., Any] | None = None,
    cancel: Callable[..., Any] | None = None,
    compensate_with: Callable[..., Any] | None = None,
    classify: Classify | None = None,
    process: bool = False,
    version: Callable[..., Any] | None = None,
    expects: str = "",
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **declared: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a function as a tool. Undeclared means dangerous, never repeated, not callable from programs.

    ``timeout`` and ``quiet`` are seconds. ``probe(context, **arguments)`` gives the result of the call with
    ``context.idempotency_key``, ``None`` when it did not happen, or a :class:`ProbeAnswer`. ``prepare(**arguments)``
    gives an :class:`Evidence`, and ``digest(target)`` the target's digest now. A rule of ``rules`` is given the
    arguments and answers with a sentence for the model, or ``None``.

    With ``poll`` the function starts a job and gives its handle, any JSON value; ``poll(handle, context)`` then says
    :class:`Running` or :class:`Done`, or raises :class:`ToolFailed` when the job has failed. ``cancel(handle,
    context)`` tells the job to end. ``poll_after`` and ``background_timeout`` are seconds from the start.

    ``normalise`` says which arguments are brought into form before they are judged: by ``relative_date`` ("tomorrow"
    becomes a date in the session's time zone), ``path``, ``list`` (a text alone becomes a list of it), or a mapping
    from other words to values.

    ``compensation`` names the tool that undoes a call, and ``compensate_with(arguments, result)`` gives its arguments;
    the same ones unless it is declared.

    ``classify(error)`` says of an exception what kind of :class:`Fault` it is, or ``None``: then it is told by its type
    and status, as without it. ``classify=one_request`` is for a function that makes a single request.

    ``process=True`` runs the function in a process of its own, which ends at the deadline with all that it started.
    The function stands at the top of a module or file, and its arguments, result and errors cross over as JSON.

    ``fallback`` names the tool that answers when this one fails without having had an effect, or is left alone because
    it keeps failing; of a tool that only reads, ``cached_fallback`` says how many seconds old an earlier answer may be
    that is given then. ``target`` says what it reaches, as a template over its arguments (``{host}``), so that each is
    left alone by itself; ``breaker=False`` leaves it alone never.

    A tool that only reads and has not answered after ``hedge_after`` seconds is executed a second time, beside the
    first, and the answer that comes first counts. At most one call in ten is (J. Dean and L. A. Barroso, "The Tail at
    Scale", 2013; throttled as gRPC does).

    ``version(**arguments)`` gives the version that what the call changes has now, a text or a whole number, or ``None``
    where there is nothing yet; it is given the arguments that it names. It stands in ``context.version``. ``expects``
    names the argument in which the caller says which version it has seen: a call that was made for another is refused.

    Raises:
        ToolDefinitionError: the signature can't be described, or the declaration contradicts itself.
    """
    if function is not None:
        return _build(function, declared)
    return lambda wrapped: _build(wrapped, declared)


_OWN = ("rules", "probe", "prepare", "digest", "poll", "cancel", "compensate_with", "classify", "process", "version")
_SEQUENCES = (
    "tags", "callable_from", "requires", "claims", "allowed_paths", "allowed_hosts", "identity_arguments",
    "secret_arguments", "untrusted_fields",
)  # fmt: skip
_DURATIONS = ("timeout", "quiet", "background_timeout", "poll_after", "cached_fallback", "hedge_after")


def _build(function: Callable[..., Any], declared: dict[str, Any]) -> Tool:
    from callslip.schema import derive  # noqa: PLC0415 - pydantic is loaded by the first tool, not by the import

    declared = dict(declared)
    own = {name: declared.pop(name) for name in _OWN if name in declared}
    job = own.get("poll") is not None
    try:
        derived = derive.derive(function, context_type=Context)
    except derive.UnsupportedSignature as error:
        raise ToolDefinitionError(f"{getattr(function, '__name__', function)!s} can't be a tool: {error}") from error
    name = _first(declared.pop("name", None), derived.name)
    declaring.check_functions(name, own)
    fields: dict[str, Any] = {
        "name": name,
        "description": _first(declared.pop("description", None), derived.description),
        "input_schema": declaring.mapping(
            name, "input_schema", declared.pop("input_schema", None) or derived.input_schema
        ),
        # What a function that starts a job returns is a handle, and no result.
        "output_schema": _first(declared.pop("output_schema", None), None if job else derived.output_schema),
        "risk": declaring.member(name, Risk, declared.pop("risk", Risk.DANGEROUS)),
        "recovery": declaring.member(name, Recovery, declared.pop("recovery", Recovery.NEVER)),
        "background": job,
        "versioned": own.get("version") is not None,
        "normalise": declaring.normalisers(name, declared.pop("normalise", None)),
        "examples": declaring.examples(name, declared.pop("examples", ())),
    }
    fields |= {
        f"{one}_ms": declaring.milliseconds(name, one, declared.pop(one)) for one in _DURATIONS if one in declared
    }
    fields |= {one: declaring.texts(name, one, declared.pop(one)) for one in _SEQUENCES if one in declared}
    try:
        spec = ToolSpec(**fields, **declared)
    except TypeError as error:
        raise ToolDefinitionError(f"{name}: {error}. See ToolSpec for what a tool declares.") from error
    contradictions.check(spec, own)
    if spec.background and derived.is_stream:
        raise ToolDefinitionError(f"{spec.name}: a stream of pieces can't be the handle of a job.")
    return Tool(function, spec, derived, **own)


def found_in(module: object, name: str) -> Tool:
    """The tool that stands there by this name, or of which this is the function.

    Raises:
        AttributeError, UnsupportedSignature: nothing of that kind does.
    """
    there: Any = functools.reduce(getattr, name.split("."), module)
    return there if isinstance(there, Tool) else _build(there, {})


def _where(function: Callable[..., Any]) -> str:
    """File and name of the function: the same whether its module was imported, loaded by name, or run as a program."""
    inner = inspect.unwrap(function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    code = getattr(inner, "__code__", None)
    file = Path(code.co_filename).stem if code is not None else type(inner).__module__
    return f"{file}:{name}"


def _first(declared: Any, derived: Any) -> Any:
    return derived if declared is None else declared
