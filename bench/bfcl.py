"""Every real call through every wire and back: names and arguments must come out as they went in.

    pip download --no-deps bfcl-eval==2026.3.23      # Berkeley Function-Calling Leaderboard; don't install it
    python bench/bfcl.py bfcl_eval-2026.3.23-py3-none-any.whl

For each format, plain and streamed: the tools are offered, the strict server checks the request and says the calls as a
model would that obeys the shaped schemas, the adapter reads them, the gate's own reader judges them by the canonical
schema, and the next request, with the calls and their results as history, is checked again.
"""

import argparse
import collections
import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema_rs import validator_for

from bfcl_data import Case, read_cases
from callslip import tool
from callslip.core import canon
from callslip.core.message import AssistantReply, CallMessage, Kept, ResultMessage, ToolResults, UserText
from callslip.gate.arguments import Arguments, read_arguments
from callslip.gate.catalogue import Catalogue
from callslip.models import KINDS
from callslip.ports.model import Proposal, Reply, Request, ToolView
from callslip.providers.aliases import ANTHROPIC, CHAT, GEMINI, RESPONSES, Aliases
from callslip.schema.normalise import Moment
from callslip.testing.contract.formats import ALL, BASE
from callslip.testing.contract.says import Call, Says

MODELS = {
    "openai_chat": "gpt-test",
    "openai_responses": "gpt-test",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-3-pro-preview",
    "mistral": "mistral-test",
}
MOMENT = Moment(at=0, zone=datetime.UTC)


def views(case: Case) -> tuple[ToolView, ...]:
    named = {one["name"]: one for one in case.functions}  # some stand twice in one request
    return tuple(
        ToolView(name=name, description=one["description"], input_schema=one["parameters"])
        for name, one in named.items()
    )


def judged(case: Case) -> Catalogue:
    """What the gate holds calls against."""

    def made(view: ToolView) -> Any:
        @tool(name=view.name, risk="write", input_schema=view.input_schema)
        def bound() -> None: ...

        return bound

    return Catalogue([made(view) for view in views(case)])


class Failed(Exception):
    """What became of a case, in a word that is counted and one that explains."""


class Wire:
    """One format: the adapter that speaks it, and the server that is strict about it."""

    def __init__(self, name: str) -> None:
        self.name = name
        kind = KINDS[name]
        self.model: Any = kind.made_by()(MODELS[name], base_url=kind.url, api_key="key")
        self.server = next(made for made in (one() for one in ALL) if made.name == name)

    def goes(self, case: Case, catalogue: Catalogue, *, stream: bool) -> None:
        """Raises Failed."""
        asked = UserText(text="Do it.")
        exchange, body = self._sent(Request(system="", messages=(asked,), tools=views(case), stream=stream))
        reply = self._reply(exchange, body, self._said(exchange, case, body), stream=stream)
        self._same(case, reply, catalogue)
        calls = tuple(
            CallMessage(call_id=f"call_{n}", provider_id=one.provider_id, tool=one.tool, arguments=one.arguments)
            for n, one in enumerate(reply.proposals)
        )
        results = tuple(
            ResultMessage(call_id=call.call_id, provider_id=call.provider_id, tool=call.tool, content="done")
            for call in calls
        )
        kept = self._kept(reply)
        answered = (asked, AssistantReply(text=reply.text, calls=calls, kept=kept), ToolResults(results=results))
        self._sent(Request(system="", messages=answered, tools=views(case), stream=stream))

    def _kept(self, reply: Reply) -> Kept | None:
        return Kept(model=self.model.name, items=tuple(reply.kept)) if reply.kept else None

    def _sent(self, request: Request) -> tuple[Any, dict[str, Any]]:
        exchange = self.model._wire.exchange(request)
        body = json.loads(json.dumps(exchange.body))
        headers = {key.lower(): value for key, value in self.model._headers(stream=request.stream).items()}
        broken = self.server.check(body, headers, BASE[self.name] + exchange.path)
        if broken:
            raise Failed("refused", f"{broken[0].rule} at {broken[0].path}: {broken[0].message}")
        return exchange, body

    def _said(self, exchange: Any, case: Case, body: dict[str, Any]) -> Says:
        """The calls as a model makes them that sees what was sent, and nothing else."""
        offered = {tool.name: one for tool, one in zip(views(case), exchange.offered.tools, strict=True)}
        said = []
        for call in case.calls:
            one = offered[call["name"]]
            arguments = one.shaped.redo(call["arguments"])
            if one.shaped.strict:
                arguments = filled(arguments, one.shaped.schema)
            if not validator_for(opened(one.shaped.schema)).is_valid(arguments):
                raise Failed("shaped too narrow", f"{arguments} against {one.shaped.schema}")
            said.append(Call(one.wire, arguments))
        return Says(calls=tuple(said), thinking="Let me see.")

    def _reply(self, exchange: Any, body: dict[str, Any], said: Says, *, stream: bool) -> Reply:
        if not stream:
            whole: Reply = exchange.whole(json.loads(json.dumps(self.server.plain(said, body))))
            return whole
        assembly = exchange.assembly()
        for event, data in self.server.events(said, body):
            if isinstance(data, dict):
                assembly.add(event or "message", json.loads(json.dumps(data)))
        streamed: Reply = assembly.reply(broken=False)
        return streamed

    def _same(self, case: Case, reply: Reply, catalogue: Catalogue) -> None:
        if len(reply.proposals) != len(case.calls):
            raise Failed("calls lost", f"{len(reply.proposals)} of {len(case.calls)}: {reply.finish}")
        for call, proposal in zip(case.calls, reply.proposals, strict=True):
            if proposal.tool != call["name"]:
                raise Failed("other name", f"{proposal.tool} for {call['name']}")
            if exact(_object(proposal)) != exact(call["arguments"]):
                raise Failed("other arguments", f"{proposal.arguments} for {call['arguments']}")
            read = read_arguments(proposal.arguments, catalogue[call["name"]], MOMENT)
            if not isinstance(read, Arguments) or read.changed:
                raise Failed("not valid", f"{read}")


def _object(proposal: Proposal) -> Any:
    given = proposal.arguments
    return json.loads(given) if isinstance(given, str) else given


def exact(value: Any) -> bytes:
    """What is hashed, stored and executed. 1.0 is 1 there, as in JSON Schema: Gemini's numbers are all doubles."""
    return canon.canonical(value)


def opened(schema: Any) -> Any:
    """With room for what no property declares. Strict closes every object, as it must; some calls of the data say more
    than their tool declares, and no model under the schema would. They are sent all the same.
    """
    if isinstance(schema, list):
        return [opened(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = schema.get("additionalProperties") is False
    return {name: opened(one) for name, one in schema.items() if not (closed and name == "additionalProperties")}


def filled(value: Any, schema: dict[str, Any]) -> Any:
    """With a null for everything that a strict schema demands and that was left out, as a model under it must say."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [filled(one, schema["items"]) for one in value]
    shapes = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(shapes, dict):
        return value
    required = set(schema.get("required", ()))
    return {
        name: filled(value[name], shape) if name in value else None
        for name, shape in shapes.items()
        if name in value or name in required
    } | {name: one for name, one in value.items() if name not in shapes}


def names(cases: Sequence[Case]) -> dict[str, Any]:
    """How many names a wire refuses, and whether each goes out and comes back as one, all in one request."""
    every = sorted({one["name"] for case in cases for one in case.functions})
    rules = {"openai_chat": CHAT, "openai_responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
    wires = {wire: Aliases(every, rule) for wire, rule in rules.items()}
    back = all(aliases.tool(aliases.wire(name)) == name for aliases in wires.values() for name in every)
    legal = all(rules[wire].allows(aliases.wire(name)) for wire, aliases in wires.items() for name in every)
    return {
        "names": len(every),
        "refused_somewhere": sum(any(not rule.allows(name) for rule in rules.values()) for name in every),
        "legal_and_back_without_collision": back and legal,
    }


def document(cases: Sequence[Case], formats: Sequence[str]) -> dict[str, Any]:
    faults: collections.Counter[str] = collections.Counter()
    first: dict[str, str] = {}
    identical = dict.fromkeys(formats, 0)
    wires = [Wire(name) for name in formats]
    whole = 0
    for case in cases:
        catalogue = judged(case)
        right = 0
        for wire in wires:
            try:
                wire.goes(case, catalogue, stream=False)
                wire.goes(case, catalogue, stream=True)
            except Failed as failed:
                kind = f"{wire.name}: {failed.args[0]}"
                faults[kind] += 1
                first.setdefault(kind, f"{case.id}: {failed.args[1]}")
                continue
            identical[wire.name] += 1
            right += 1
        whole += right == len(wires)
    return {
        "cases": len(cases),
        "calls": sum(len(case.calls) for case in cases),
        "identical": identical,
        "identical_through_all": {"value": whole, "of": len(cases), "met": whole == len(cases)},
        "names": names(cases),
        "faults": {kind: {"cases": count, "first": first[kind][:400]} for kind, count in faults.most_common()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Send real calls through every provider's wire and back.")
    parser.add_argument("cases", type=Path, help="the wheel, or lines of JSON with a case each: id, functions, calls")
    parser.add_argument("--format", action="append", choices=sorted(MODELS), help="only this one; may be repeated")
    parser.add_argument("--first", type=int, default=None, help="so many cases only")
    args = parser.parse_args()
    cases = list(read_cases(args.cases))[: args.first]
    print(json.dumps(document(cases, args.format or list(MODELS)), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
