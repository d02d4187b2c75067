"""Make up whole sessions: replies of any provider in any order, everything that can happen to a call, and what comes of
it as the next request.

Each reply is asked for as a run would: the log is projected, translated for the provider of that step, checked by the
strict server's rules, answered in the provider's own form, read by the adapter and written into the log. So what is kept
of a reply (reasoning, signatures, ids) is what that provider gave out, and must come back as it demands.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.agent.step import raw_arguments
from callslip.build import Settings, build_parts
from callslip.core import canon
from callslip.core.asking import APPROVAL
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.session_forked import SessionForked
from callslip.core.message import Message, UserText
from callslip.core.payload import Payload, inline
from callslip.core.result import BlobRef, Effect, Status
from callslip.models import KINDS
from callslip.ports.model import Reply, Request, ToolView
from callslip.providers.options import Options
from callslip.sessions.project import project
from callslip.testing.contract.formats import ALL, BASE
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.violation import Violation
from callslip.testing.log_builder import LogBuilder

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7 " + bytes(20)
LONG = "mcp.some-server-with-a-long-name.module.submodule.create_or_update_the_issue"
_OPEN = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer", "minimum": 1}}}
TOOLS = (
    ToolView(name="read_file", description="Read a file.", input_schema=_OPEN | {"required": ["q"]}),
    ToolView(name="github.issues.create", description="", input_schema={"type": "object"}),
    ToolView(name="tool_search", description="Find tools.", input_schema=_OPEN),
    ToolView(name=LONG, description="Create it.", input_schema=_OPEN | {"additionalProperties": False}),
    ToolView(
        name="a_b",
        description="Either.",
        input_schema={"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, _OPEN]},
    ),
)
SENT = {
    "openai_chat": ("openai_chat", ("gpt-test",)),
    "openai_responses": ("openai_responses", ("gpt-test",)),
    "anthropic": ("anthropic", ("claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-8", "claude-opus-5-5")),
    "gemini": ("gemini", ("gemini-3-pro-preview", "gemini-2.5-flash")),
    "mistral": ("mistral", ("mistral-test",)),
    "compatible": ("openai_chat", ("local",)),
}
"""By the server's format: the adapter that speaks to it, and models, of which a session has one."""
_IDS = ("call_1", "call_1", "toolu_01", "abcDEF123", "null", "x" * 60, "a b", "", None, None, None)
_THINKING = {"openai_responses": "r", "anthropic": "t"}
_ARGUMENTS: tuple[dict[str, Any] | str, ...] = (
    {"q": "a"}, {}, {"q": "é\u2028", "n": 3}, {"n": 2**60}, {"deep": [{"a": [1, {"b": None}]}]},
)  # fmt: skip
_TEXTS = ("", "", "Well.", " spaced ", "line\nline", "trailing  ")
_RESULTS: tuple[Any, ...] = ("ok", "", "   ", {"a": 1}, [], None, 2**70, "\ud800 \0 odd".encode("utf-16", "surrogatepass").decode("utf-16", "replace"), "long " * 400)  # fmt: skip


class Broken(msgspec.Struct, frozen=True):
    """A request that the server of its format would refuse."""

    format: str
    violations: list[Violation]
    body: dict[str, Any]


class Made:
    """One session in the making. ``options`` of the models are drawn too."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.parts = build_parts(Settings(executors=[], state=None))
        self.servers = {made.name: made for made in (one() for one in ALL)}
        self.options = Options(
            effort=self.random.choice(("", "", "low", "high")),
            parallel=self.random.choice((None, None, True, False)),
            strict=self.random.choice((None, None, True, False)),
        )
        self.names = {name: self.random.choice(SENT[name][1]) for name in SENT}
        self.models = {name: self.model(name) for name in self.servers}
        self.log = LogBuilder("s0")
        self.logs = {"s0": self.log}
        self.parts.ledger = self  # type: ignore[assignment]
        self.turn = self.step = self.made = 0
        self.broken: list[Broken] = []

    def model(self, name: str, model: str = "") -> Any:
        """The adapter for this server; of its usual model, unless another is named."""
        kind = SENT[name][0]
        own = name != "compatible"
        url = KINDS[kind].url if own else "http://127.0.0.1:1/v1"
        return KINDS[kind].made_by()(model or self.names[name], base_url=url, api_key="key", options=self.options)

    # The one thing of a ledger that a projection needs.

    async def read(self, session: str, *, limit: int | None = None, after: int = 0) -> list[Any]:
        return self.logs[session].records[after:limit]

    # What may happen

    async def play(self) -> None:
        """A session of some turns, each with some steps; at its end every provider is asked."""
        for _ in range(self.random.randint(1, 3)):
            self.log.user(self.random.choice(("Hello", "Do it", "  ", "é\U0001f600")))
            self.turn += 1
            self.step = 0
            for _ in range(self.random.randint(1, 3)):
                if not await self._step():
                    break
                self._between()
        self.log.user("And now?")
        for name in self.servers:
            await self.ask(name)

    async def ask(self, name: str) -> tuple[Any, dict[str, Any]]:
        """The next request as it would be sent to this server."""
        state = self.log.state()
        shown = tuple(UserText(text=message.text) for message in state.queued)
        messages = (*await project(self.parts, state), *shown)
        tools = tuple(self.random.sample(TOOLS, self.random.randint(1, len(TOOLS))))
        stream = self.random.random() < 0.5
        request = self.request(messages, tools=tools, stream=stream)
        model = self.models[name]
        exchange = model._wire.exchange(request)
        body = json.loads(json.dumps(exchange.body))
        server = self.servers[name]
        path = BASE[name] + exchange.path
        headers = {key.lower(): value for key, value in model._headers(stream=stream).items()}
        violations = server.check(body, headers, path)
        if violations:
            self.broken.append(Broken(name, violations, body))
        return exchange, body

    def request(self, messages: Sequence[Message] = (), *, tools: Sequence[ToolView] = TOOLS, stream: bool) -> Request:
        return Request(system="Be brief.", messages=tuple(messages), tools=tuple(tools), stream=stream)

    async def _step(self) -> bool:
        """One reply and its results; false when the turn is over."""
        name = self.random.choice(list(self.servers))
        exchange, body = await self.ask(name)
        if self.broken:
            return False
        said = self._said(name, exchange)
        cut = self.random.random() < 0.1
        if cut:  # before any call was whole, so that the server has given none out
            said = msgspec.structs.replace(said, calls=(), text=said.text if said.text.strip() else "I will")
        reply = self._read(name, exchange, said, body)
        if cut:
            reply = Reply(text=reply.text, proposals=(), finish="length")
        self.record(name, reply)
        for position in self._order(len(reply.proposals)):
            await self._settle(position)
        return bool(reply.proposals) or reply.finish == "length"

    async def say(self, name: str, said: Says) -> Reply:
        """One reply of this provider, written into the log; its calls are open then."""
        exchange, body = await self.ask(name)
        assert not self.broken, self.broken[0].violations
        reply = self._read(name, exchange, said, body)
        self.record(name, reply)
        return reply

    def _said(self, name: str, exchange: Any) -> Says:
        names = [*(tool.wire for tool in exchange.offered.tools), "nobody", "gone.tool"]
        calls = tuple(
            Call(self.random.choice(names), self.random.choice(_ARGUMENTS), self._id(name))
            for _ in range(self.random.choice((0, 1, 1, 2, 3)))
        )
        text = self.random.choice(_TEXTS)
        if not calls and not text.strip():
            text = "Done."
        thinking = "Let me think." if self.random.random() < 0.5 else ""
        return Says(text=text, calls=calls, thinking=thinking)

    def _id(self, name: str) -> str | None:
        """Often one that stands already. The servers that want their thoughts back know their calls by ids alone, and
        hold one that another model made for their own; so there they repeat among themselves.
        """
        given = self.random.choice(_IDS)
        return f"{_THINKING[name]}{given}" if given and name in _THINKING else given

    def _read(self, name: str, exchange: Any, said: Says, body: dict[str, Any]) -> Reply:
        server = self.servers[name]
        if self.random.random() < 0.5:
            reply = exchange.whole(server.plain(said, body))
            assert reply is not None
            return reply
        assembly = exchange.assembly()
        for event, data in server.events(said, body):
            if isinstance(data, dict):
                assembly.add(event or "message", data)
        whole: Reply = assembly.reply(broken=False)
        return whole

    def record(self, name: str, reply: Reply) -> None:
        self.step += 1
        step = f"{self.turn}.{self.step}"
        queued = tuple(message.seq for message in self.log.state().queued)
        visible = tuple(VisibleTool(name=tool.name, version="v") for tool in TOOLS)
        self.log.add(
            ModelRequested(
                step=step, turn=self.turn, model=f"{SENT[name][0]}:{self.names[name]}", visible=visible, consumed=queued
            )
        )
        kept: Payload | None = None
        if reply.kept:
            kept = inline(canon.canonical(canon.scrub(json.dumps(reply.kept, ensure_ascii=False))))
        text = canon.scrub(reply.text)
        self.log.add(ModelReplied(step=step, text=text, finish=reply.finish, calls=len(reply.proposals), kept=kept))
        for position, proposal in enumerate(reply.proposals):
            self.log.add(
                FunctionCall(
                    call_id=f"call_{self.log.session}_{step}_{position}",
                    step=step,
                    position=position,
                    tool=canon.scrub(proposal.tool),
                    arguments=inline(raw_arguments(proposal.arguments)),
                    provider_call_id=canon.scrub(proposal.provider_id),
                )
            )
        self.log._step = step
        self.log._dispatches = {}
        self.log.call_id = lambda position=0: f"call_{self.log.session}_{step}_{position}"  # type: ignore[method-assign]

    def _order(self, count: int) -> list[int]:
        """Calls finish in any order."""
        return self.random.sample(range(count), count)

    async def _settle(self, position: int) -> None:
        log, happens = self.log, self.random.randint(0, 9)
        if happens == 0:
            log.refuse(position)
            return
        if happens == 1:
            log.refuse(position, status=Status.TIMEOUT, code="approval_expired")
            return
        if happens == 2:
            asked = f"{APPROVAL}_{len(log.records)}"
            log.ask(position, approval=asked).decide("denied", position, approval=asked).refuse(position, code="denied")
            return
        if happens == 3:
            log.user("Wait!", steer=self.random.random() < 0.5)
        log.dispatch(position)
        if happens == 4:
            log.crash().park(position).resolve("happened", position)
            log.settle(position)
            return
        if happens == 5:
            log.crash()
            log.fail(position, effect="none").settle(
                position, status=Status.FATAL_ERROR, effect=Effect.NONE, error_code="boom", structured=None
            )
            return
        evidence = []
        if happens in {6, 7}:
            for data in self.random.sample((PNG, PDF), self.random.randint(1, 2)):
                address = await self.parts.of(log.session).blobs.put(data)
                media = "image/png" if data is PNG else "application/pdf"
                evidence.append(BlobRef(address=address, size=len(data), media_type=media, name="shot.png"))
        value = self.random.choice(_RESULTS)
        log.settle(position, structured=inline(canon.canonical(value)), evidence=tuple(evidence))

    def _between(self) -> None:
        happens = self.random.randint(0, 9)
        if happens == 0:
            self.log.crash()
        elif happens == 1:
            summary = inline(canon.canonical("They said hello."))
            self.log.add(ContextCompacted(summary=summary, keep=self.random.randint(0, 4)))
        elif happens == 2:
            self._fork()
        elif happens == 3:
            self.log.user("Also this.", steer=True)

    def _fork(self) -> None:
        """Go on in a child, in a turn of its own."""
        parent = self.log
        if any(True for _ in parent.state().open_calls()):
            return
        self.made += 1
        self.log = LogBuilder(f"s{self.made}")
        self.log.add(
            SessionForked(parent=parent.session, seq=len(parent.records), digest=parent.records[-1].digest.hex())
        )
        self.logs[self.log.session] = self.log
        self.log.user("From here, another way.")
        self.turn, self.step = 1, 0
