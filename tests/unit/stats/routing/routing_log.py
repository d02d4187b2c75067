"""Logs of turns that had tools to find, written by hand. A call is a tool's name, or a search with its results."""

from __future__ import annotations

import msgspec

from callslip.core import canon
from callslip.core.counting import SEARCH
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.instead import CACHE, Fallback
from callslip.core.payload import inline
from callslip.core.result import Status
from callslip.stats.routing.fold import Turns
from callslip.testing.log_builder import LogBuilder


class Log(LogBuilder):
    """``step`` takes a whole step: request, reply, and every call with its answer. What was found stays visible until the
    next turn.
    """

    pinned = ("now", SEARCH)

    def __init__(self, session="s", carried=()):
        super().__init__(session)
        self.turn, self.steps, self.active, self._carries = 0, 0, list(carried), bool(carried)
        if carried:
            tools = tuple(VisibleTool(name=name, version="v1") for name in carried)
            self.add(SessionForked(parent="p", seq=3, digest="00", activated=tools))

    def say(self, text):
        """The user begins a turn."""
        self.user(text)
        self.turn, self.steps = self.turn + 1, 0
        if not self._carries:
            self.active = []
        self._carries = False
        return self

    def step(self, *calls, preselected=(), text="", model="m", fails=()):
        self.steps += 1
        self._step, self._dispatches = f"{self.turn}.{self.steps}", {}
        self.active += [name for name in preselected if name not in self.active]
        shown = dict.fromkeys((*self.pinned, *self.active))
        self.add(
            ModelRequested(
                step=self._step, turn=self.turn, model=model, preselected=tuple(preselected),
                visible=tuple(VisibleTool(name=name, version="v1") for name in shown),
                consumed=tuple(message.seq for message in self.state().queued),
            )
        )  # fmt: skip
        self.add(ModelReplied(step=self._step, text=text, finish="calls" if calls else "stop", calls=len(calls)))
        for place, call in enumerate(calls):
            name = call if isinstance(call, str) else SEARCH
            self.add(
                FunctionCall(
                    call_id=self.call_id(place), step=self._step, position=place, tool=name, arguments=inline(b"{}")
                )
            )
        found = []
        for place, call in enumerate(calls):
            if isinstance(call, dict):
                found += self._searched(place, call)
            elif call == "denied":
                self.refuse(place)
            elif call.split("(")[0] in shown:
                self.dispatch(place, tool=call.split("(")[0])
                self.settle(place, **({"status": Status.FATAL_ERROR, "structured": None} if call in fails else {}))
            elif call == "nonsense":
                self.refuse(place, status=Status.NOT_FOUND, code="unknown_tool")
            else:
                self.refuse(place, status=Status.NOT_FOUND, code="not_shown")
        self.active += [name for name in found if name not in self.active]
        return self

    def _searched(self, place, results):
        answer = {"results": [one_result(query, gave) for query, gave in results.items()]}
        names = [name for one in answer["results"] for name in one["tools"]]
        fresh = [name for name in dict.fromkeys(names) if name not in {*self.pinned, *self.active, "huge"}]
        if "huge" in names:
            answer["not_shown"] = [{"tools": ["huge"], "why": "no room"}]
        arguments = inline(canon.canonical({"queries": list(results)}))
        self.dispatch(place, tool=SEARCH, arguments=arguments, risk="read")
        self.settle(
            place,
            structured=inline(canon.canonical(answer)),
            activated=tuple(VisibleTool(name=name, version="v1") for name in fresh),
        )
        return fresh


def one_result(query, gave):
    """``gave``: the tools, or after "nothing" what was near. A tool called "huge" finds no room."""
    echo = query if len(query) <= 200 else query[:200] + "…"
    if gave[:1] == ["nothing"]:
        return {"query": echo, "tools": [], "nothing_fits": "No.", "nearest": gave[1:]}
    return {"query": echo, "tools": gave}


def payload_text(payload):
    return None if payload is None or payload.blob else bytes(payload.text)


def turns_of(*logs, instead=()):
    """``instead``: tools for which what was kept of an earlier call answers."""
    found = []
    for log in logs:
        turns = Turns(log.session)
        answered = {
            stored.record.event.call_id
            for stored in log.records
            if isinstance(stored.record.event, ToolDispatch) and stored.record.event.tool in instead
        }
        for stored in log.records:
            event = stored.record.event
            if isinstance(event, FunctionResponse) and event.call_id in answered:
                kept = msgspec.structs.replace(event, fallback=Fallback(source=CACHE, of="t", why="timeout"))
                stored = msgspec.structs.replace(stored, record=msgspec.structs.replace(stored.record, event=kept))  # noqa: PLW2901
            turns.add(stored, payload_text(turns.wants(stored.record.event)))
        found += turns.found
    return found
