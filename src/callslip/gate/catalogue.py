"""The bound tools, each with its compiled schemas, and the three-part check of their registration (SPEC-03)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from callslip.core import declared, hedging
from callslip.core.activation import BYTES_BY_TOKEN, Found
from callslip.core.events.model_requested import VisibleTool
from callslip.core.tool import Risk, ToolSpec
from callslip.errors import ToolDefinitionError
from callslip.ports.executor import Executor, Versioned
from callslip.ports.model import ToolView
from callslip.schema.coerce import Coercer
from callslip.schema.engine import SchemaError
from callslip.schema.normalise import Normaliser, read_normalisers
from callslip.schema.validate import Validator, compile_schema

_RISKS = list(Risk)
"""From the least to the most."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that can be called."""

    executor: Executor
    arguments: Validator
    coercer: Coercer
    normalisers: tuple[Normaliser, ...]
    output: Validator | None
    view: ToolView


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a tool's registration, as ``callslip doctor`` prints it."""

    tool: str
    part: Literal["schema", "executor", "handshake"]
    ok: bool
    detail: str


class Catalogue(Mapping[str, Entry]):
    """All bound tools by name, in the order in which they were given.

    Args:
        executors: what runs them.
        deferred: names of those that a model is not shown until it has found them; default: those that declare it.

    Raises:
        ToolDefinitionError: two tools of one name, a tool that another one needs and that is not there, or
            a declaration or a schema that is none.
    """

    def __init__(self, executors: Iterable[Executor], *, deferred: Iterable[str] | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._tokens: dict[str, int] = {}
        for executor in executors:
            name = executor.spec.name
            if name in self._entries:
                raise ToolDefinitionError(f"Two tools are named {name!r}. Nothing was started. Rename one of them.")
            self._entries[name] = _entry(executor)
        for name, entry in self._entries.items():
            undoes = entry.executor.spec.compensation
            if undoes is not None and undoes not in self._entries:
                raise ToolDefinitionError(
                    f"{name} is undone by {undoes!r}, and no tool of that name is bound. Nothing was started. Bind it."
                )
            self._check_fallback(entry.executor.spec)
            self._check_required(entry.executor.spec)
        if deferred is None:
            deferred = [name for name, entry in self._entries.items() if entry.executor.spec.deferred]
        self.deferred = frozenset(deferred)
        """Bound, and not shown until found."""
        found = (self._entries[name] for name in sorted(self.deferred))
        self.discoverable = tuple(entry for entry in found if "model" in entry.executor.spec.callable_from)
        """What a model can find, in the order of the names."""

    def _check_fallback(self, spec: ToolSpec) -> None:
        """What stands in is there, answers here and now, and does no more to the world than what it stands in for."""
        if spec.fallback is None:
            return
        other = self._entries.get(spec.fallback)
        wrong = None
        if other is None:
            wrong = "no tool of that name is bound"
        elif other.executor.spec.name == spec.name:
            wrong = "that is the tool itself"
        elif other.executor.spec.client_owned or other.executor.spec.background or spec.client_owned or spec.background:
            wrong = "one of the two is answered by a client or by a job, where nothing can stand in"
        elif _RISKS.index(other.executor.spec.risk) > _RISKS.index(spec.risk):
            wrong = f"that one is declared {other.executor.spec.risk}, and may do more than what it stands in for"
        if wrong is not None:
            raise ToolDefinitionError(
                f"{spec.name} has the fallback {spec.fallback!r}: {wrong}. Nothing was started. Correct `fallback`."
            )

    def _check_required(self, spec: ToolSpec) -> None:
        """What has to come first can come first: it is there, and does not wait for this one itself."""
        for name in spec.requires:
            if name not in self._entries:
                raise ToolDefinitionError(
                    f"{spec.name} requires {name!r}, and no tool of that name is bound, so it could never be called. "
                    "Nothing was started. Bind it, or correct `requires`."
                )
        first, ahead = set[str](), list(spec.requires)
        while ahead:
            name = ahead.pop()
            if name not in first and name in self._entries:
                first.add(name)
                ahead += self._entries[name].executor.spec.requires
        if spec.name in first:
            raise ToolDefinitionError(
                f"{spec.name} requires {' and '.join(spec.requires)}, where it is itself required in turn, so neither "
                "could ever be called. Nothing was started. Correct `requires`."
            )

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def visible(self, names: Iterable[str] | None = None) -> tuple[VisibleTool, ...]:
        """The visible set of a step: the named tools, or every tool a model may call that is not deferred.

        Raises:
            ToolDefinitionError: a name that is not bound.
        """
        if names is None:
            chosen = [
                entry.executor
                for entry in self._entries.values()
                if entry.executor.spec.name not in self.deferred and "model" in entry.executor.spec.callable_from
            ]
        else:
            wanted = list(names)
            missing = [name for name in wanted if name not in self._entries]
            if missing:
                raise ToolDefinitionError(f"No tool named {missing[0]!r} is bound, so it can't be made visible.")
            chosen = [self._entries[name].executor for name in wanted]
        return tuple(VisibleTool(name=one.spec.name, version=one.version) for one in chosen)

    def views(self, visible: Iterable[VisibleTool]) -> tuple[ToolView, ...]:
        """What a model is shown of the visible tools that are still bound."""
        return tuple(self._entries[tool.name].view for tool in visible if tool.name in self._entries)

    def found(self, name: str) -> Found:
        """A bound tool as something that was found.

        Raises:
            KeyError: it is not bound.
        """
        entry = self._entries[name]
        tokens = self._tokens.get(name)
        if tokens is None:
            tokens = self._tokens[name] = -(-len(msgspec.json.encode(entry.view)) // BYTES_BY_TOKEN)
        return Found(name, entry.executor.version, tokens)

    def parts(self) -> Iterator[Part]:
        """Each tool's registration in three parts."""
        for entry in self._entries.values():
            yield from _parts(entry)


def parts_of(executor: Executor) -> list[Part]:
    """One tool's registration, whatever other tools it names.

    Raises:
        ToolDefinitionError: it can't be bound.
    """
    return list(_parts(_entry(executor)))


def _parts(entry: Entry) -> Iterator[Part]:
    spec = entry.executor.spec
    bad = next((example for example in spec.examples if entry.arguments.errors(example)), None)
    schema = "valid" if bad is None else f"its example {bad!r} is not valid by it"
    yield Part(tool=spec.name, part="schema", ok=bad is None, detail=schema)
    runs = (
        "answered by its client" if spec.client_owned else f"bound to {entry.executor.identity.removeprefix('python:')}"
    )
    callable_ = spec.client_owned or callable(getattr(entry.executor, "run", None))
    yield Part(tool=spec.name, part="executor", ok=callable_, detail=runs if callable_ else "nothing runs it")
    same = entry.executor.version == spec.version and entry.view.input_schema == spec.input_schema
    shown = f"version {entry.executor.version}" if same else "what models are shown is not what is bound"
    yield Part(tool=spec.name, part="handshake", ok=same, detail=shown)


def _entry(executor: Executor) -> Entry:
    spec = executor.spec
    wrong = declared.complaint(spec)
    if wrong is not None:
        tool = repr(spec.name) if wrong.field == "name" else spec.name
        raise ToolDefinitionError(
            f"{tool}: {wrong.said}. Nothing was started. Correct `{wrong.field}`."
        ) from ValueError(wrong.said)
    try:
        arguments = compile_schema(spec.input_schema)
        output = compile_schema(spec.output_schema) if spec.output_schema is not None else None
    except SchemaError as error:
        raise ToolDefinitionError(f"{spec.name}: {error}. Nothing was started. Correct the schema.") from error
    try:
        normalisers = read_normalisers(spec.normalise)
    except ValueError as error:
        raise ToolDefinitionError(f"{spec.name}: {error}. Nothing was started. Correct `normalise`.") from error
    if spec.versioned and not isinstance(executor, Versioned):
        unable = "what it changes has a version, as it declares, and its executor can't say which"
        raise ToolDefinitionError(
            f"{spec.name}: {unable}. Nothing was started. Give it a version function."
        ) from ValueError(unable)
    complaint = hedging.complaint(spec)
    if complaint is not None:
        raise ToolDefinitionError(
            f"{spec.name}: {complaint}. Nothing was started. Correct `hedge_after`."
        ) from ValueError(complaint)
    description = spec.description if not spec.when_not else f"{spec.description}\nDo not use it: {spec.when_not}"
    view = ToolView(name=spec.name, description=description.strip(), input_schema=spec.input_schema)
    return Entry(
        executor=executor,
        arguments=arguments,
        coercer=Coercer(spec.input_schema, arguments),
        normalisers=normalisers,
        output=output,
        view=view,
    )


def bindable(executors: Iterable[Executor]) -> tuple[tuple[Executor, ...], dict[str, str]]:
    """The tools of a foreign source that can be bound, and by its name why each of the others can't.

    What stands in code is its author's to mend, so a `Catalogue` refuses to start with it. A server's tools are not:
    one schema that is none, or that refers to something outside itself, refuses its own tool alone.
    """
    kept: list[Executor] = []
    refused: dict[str, str] = {}
    for executor in executors:
        try:
            _entry(executor)
        except ToolDefinitionError as error:
            refused[executor.spec.name] = f"{error.__cause__}. The other tools are bound."
        else:
            kept.append(executor)
    return tuple(kept), refused
