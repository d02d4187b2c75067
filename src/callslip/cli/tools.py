"""``callslip tools``: what the model may call, how it is described, and what to improve."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.reading import Reader
from callslip.cli.safe_text import one_line, visible_json
from callslip.cli.tools_sent import tools_sent
from callslip.core.advice import OFTEN, Faults, advice
from callslip.core.counting import SEARCH
from callslip.core.routing import Routing
from callslip.core.shown import visible
from callslip.core.tool import ToolSpec
from callslip.errors import LogBroken, NotFound, UsageError
from callslip.gate.catalogue import Catalogue, Entry
from callslip.gate.room import never_shown, told
from callslip.schema.lint import LintInput, LintWarning, lint

_PAGE = 2_000
_RISKS = {"read": "green", "write": "yellow", "dangerous": "red"}


@command
@click.argument("name", required=False)
@click.option("--lint", "advice", is_flag=True, help="Say what makes models choose or fill the tools wrongly.")
@click.option("--model", metavar="MODEL", help="As this one is told of them: anthropic:NAME, openai:NAME, ….")
async def tools(given: Given, name: str | None, advice: bool, model: str | None) -> None:
    """List the bound tools; with NAME, show one as it is declared and as the model sees it.

    Names that a provider refuses go by an alias, and schemas by the form it takes. --model shows both.
    """
    if advice and (name is not None or model is not None):
        raise UsageError("Give --lint alone, without a NAME or --model.")
    runtime = runtime_for(given, "tools")
    catalogue = runtime.catalogue
    if name is not None and name not in catalogue:
        raise NotFound(f"No tool {name!r} is bound. Bound are: {', '.join(catalogue) or 'none'}.")
    if model is not None:
        tools_sent(given, catalogue, model, name)
    elif name is not None:
        _show(given, catalogue[name], catalogue, runtime.settings.routing)
    elif advice:
        _advise(given, catalogue, await _learned(runtime))
    else:
        list_tools(given, catalogue, runtime.settings.routing)


def visibility(spec: ToolSpec, catalogue: Catalogue) -> str:
    """How the model comes to know of the tool."""
    if "model" not in spec.callable_from:
        return "hidden"
    return "deferred" if spec.name in catalogue.deferred else "shown"


def list_tools(given: Given, catalogue: Catalogue, routing: Routing) -> None:
    """Each bound tool on a line, and below them those that models can find and are never shown."""
    bound = [entry.executor for entry in catalogue.values()]
    never = never_shown(catalogue, routing)
    if given.as_json:
        listed = [
            {
                "name": one.spec.name,
                "risk": one.spec.risk,
                "recovery": one.spec.recovery,
                "version": one.version,
                "visibility": visibility(one.spec, catalogue),
                "client_owned": one.spec.client_owned,
            }
            for one in bound
        ]
        print_document({"tools": listed, "never_shown": [{"name": one.name, "tokens": one.tokens} for one in never]})
        return
    if not bound:
        look.say("No tools are bound. Give them to Runtime(tools=[…]), or name a workspace in callslip.toml.")
        return
    rows = [
        (
            one.spec.name,
            look.Cell(one.spec.risk.value, _RISKS[one.spec.risk.value]),
            one.spec.recovery.value,
            one.version,
            visibility(one.spec, catalogue),
            next(iter(one.spec.description.splitlines()), ""),
        )
        for one in bound
    ]
    look.table(("tool", "risk", "recovery", "version", "model", "what it does"), rows)
    if never:
        look.say()
    for tool in never:
        look.hang(f"{look.mark('warn')} ", f"{one_line(tool.name)} {told(tool, routing)}.")


def _show(given: Given, entry: Entry, catalogue: Catalogue, routing: Routing) -> None:
    spec, view = entry.executor.spec, entry.view
    model = {"name": view.name, "description": view.description, "input_schema": view.input_schema}
    if given.as_json:
        declared = json.loads(msgspec.json.encode(spec))
        print_document({"tool": declared, "version": entry.executor.version, "model_sees": model})
        return
    facts = {
        "risk": spec.risk.value,
        "recovery": spec.recovery.value,
        "version": entry.executor.version,
        "model": visibility(spec, catalogue),
        "run by": "its client" if spec.client_owned else type(entry.executor).__name__,
        "timeout": f"{spec.timeout_ms / 1000:g} s, quiet {spec.quiet_ms / 1000:g} s",
        "callable from": ", ".join(spec.callable_from),
        "requires": ", ".join(spec.requires),
        "claims": ", ".join(spec.claims),
        "version seen": _compared(spec),
        "shown": f"about {catalogue.found(spec.name).tokens:,} tokens of a request",
    }
    look.say(visible(spec.name), bold=True)
    for label, text in facts.items():
        if text:
            look.say(f"  {look.paint(look.pad(label, 14), dim=True)}{one_line(text)}")
    for one in never_shown(catalogue, routing):
        if one.name == spec.name:
            look.hang(f"  {look.mark('warn')} ", f"It {told(one, routing)}.")
    _block("The model reads", visible(view.description or "(no description)", lines=True))
    _block("It fills in", _pretty(view.input_schema))
    if spec.output_schema is not None:
        _block("Its results follow", _pretty(spec.output_schema))


def _compared(spec: ToolSpec) -> str:
    if not spec.versioned:
        return ""
    return f"compared with {spec.expects}" if spec.expects else "compared with the one a person was asked about"


def _block(title: str, text: str) -> None:
    look.say(f"\n{title}:", dim=True)
    look.say("\n".join("  " + line for line in text.splitlines()))


def _pretty(schema: dict[str, Any]) -> str:
    return visible_json(json.dumps(schema, ensure_ascii=False, indent=2))


async def _learned(runtime: Runtime) -> list[LintWarning]:
    """What models often got wrong of the bound tools, in the sessions there are; the most frequent first."""
    if runtime.settings.state is None:
        return []
    bound, faults = runtime.catalogue, Faults()
    async with Reader(runtime.settings) as reader:
        ledger = reader.parts.ledger
        for head in await ledger.heads():
            faults.begin()
            with contextlib.suppress(LogBroken):  # `callslip verify` is for that
                for after in range(0, head.seq, _PAGE):
                    faults.take(await ledger.read(head.session, after=after, limit=_PAGE))
    found = [(count, fault) for fault, count in faults.counts.items() if count >= OFTEN and fault.tool in bound]
    found.sort(key=lambda one: (-one[0], one[1]))
    return [LintWarning(code="often_wrong", tool=one.tool, message=advice(one, count)) for count, one in found]


def _advise(given: Given, catalogue: Catalogue, learned: Sequence[LintWarning]) -> None:
    own = (entry for name, entry in catalogue.items() if name != SEARCH)
    views = [entry.view for entry in own if visibility(entry.executor.spec, catalogue) != "hidden"]
    inputs = [
        LintInput(
            name=view.name,
            description=view.description,
            input_schema=view.input_schema,
            deferred=view.name in catalogue.deferred,
        )
        for view in views
    ]
    warnings: Sequence[LintWarning] = [*lint(inputs), *learned]
    if given.as_json:
        print_document({"warnings": [msgspec.structs.asdict(warning) for warning in warnings]})
        return
    for warning in warnings:
        about = look.paint(one_line(warning.tool), bold=True) + ": " if warning.tool else ""
        look.say(f"{look.mark('warn')} {about}{one_line(warning.message)} {look.paint(f'({warning.code})', dim=True)}")
    if not warnings:
        look.say(f"{look.mark('ok')} Nothing to say against {len(views)} tool{'s' if len(views) != 1 else ''}.")
