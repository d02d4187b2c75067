"""How a model fares with five hundred tools that it has to find: whole sessions, judged by what the log says they did.

    python bench/found.py                                      what preselection alone offers; no model is asked
    python bench/found.py --base-url http://127.0.0.1:18080/v1 --model NAME [--kind constrained] [--out FILE]

The server is any OpenAI-compatible one. ``--kind constrained`` is for models that make no calls by themselves.
A task is finished when each of its needs was met by a call of a right tool with the right result. With ``--out`` what
is done is kept in a file, a task a line, and a run that was broken off goes on where it ended. Prints JSON.
"""

import argparse
import asyncio
import importlib
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from callslip import Runtime
from callslip.core.activation import BYTES_BY_TOKEN
from callslip.core.counting import SEARCH
from callslip.core.event import Event
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.result import Status
from callslip.core.routing import Routing
from callslip.errors import CallslipError
from callslip.models import KINDS
from callslip.ports.executor import Executor
from callslip.ports.model import Model
from callslip.providers.options import Options
from callslip.providers.scripted import Scripted
from callslip.runtime import payloads
from callslip.runtime.parts import Limits

HERE = Path(__file__).parent
TASKS = HERE / "found_tasks.json"
SYSTEM = "You help a person by calling tools. Never work out yourself what a tool can."
LONGEST_REPLY = 300
"""Tokens."""
MOST_STEPS = 6
TIMEOUT = 1800
"""Seconds for a reply: a small machine that does other things besides may take minutes."""
Need = list[dict[str, Any]]
"""Calls that meet it, each with its tool and its result."""


def library() -> list[Executor]:
    """The five hundred tools."""
    sys.path.insert(0, str(HERE.parent / "examples" / "five_hundred_tools"))
    return list(importlib.import_module("library").TOOLS)


def same(got: Any, wanted: Any) -> bool:
    """Whether a result is the right one; numbers may be off in the ninth digit."""
    if type(got) in {int, float} and type(wanted) in {int, float}:
        return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in wanted)
    return type(got) is type(wanted) and bool(got == wanted)


class Called(msgspec.Struct, frozen=True):
    """A call and what came of it."""

    tool: str
    status: str
    result: Any


def judge(events: Sequence[Event], results: dict[str, Any], needs: Sequence[Need]) -> dict[str, Any]:
    """What the log says of one task. ``results``: of the calls that succeeded."""
    requested = [event for event in events if isinstance(event, ModelRequested)]
    replied = [event for event in events if isinstance(event, ModelReplied)]
    answers = {event.call_id: event for event in events if isinstance(event, FunctionResponse)}
    proposed = [event for event in events if isinstance(event, FunctionCall)]
    calls = [
        Called(call.tool, answers[call.call_id].status if call.call_id in answers else "", results.get(call.call_id))
        for call in proposed
    ]
    visible: set[str] = set()
    for one in requested:
        visible |= {tool.name for tool in one.visible or ()}
    preselected = {name for one in requested[:1] for name in one.preselected}
    return {
        **marks(calls, needs),
        "preselected": bool(needs) and all(any(one["tool"] in preselected for one in need) for need in needs),
        "visible": bool(needs) and all(any(one["tool"] in visible for one in need) for need in needs),
        "offered": sorted(preselected),
        "searches": sum(call.tool == SEARCH for call in calls),
        "calls": [msgspec.to_builtins(call) for call in calls],
        "not_shown": sum(
            answers[call.call_id].error_code == "not_shown" for call in proposed if call.call_id in answers
        ),
        "requests": len(requested),
        "input_tokens": [reply.usage.input_tokens for reply in replied],
        "ms": sum(reply.duration_ms or 0 for reply in replied),
        "text": replied[-1].text if replied else "",
    }


def marks(calls: Sequence[Called], needs: Sequence[Need]) -> dict[str, Any]:
    """How well the calls of a task did."""
    right = {one["tool"] for need in needs for one in need}
    made = [call for call in calls if call.tool != SEARCH]
    return {
        "answerable": bool(needs),
        "finished": bool(needs) and all(any(_meets(call, need) for call in made) for need in needs),
        "right_tool_called": bool(needs) and all(any(_is_of(call, need) for call in made) for need in needs),
        "false_calls": sum(call.tool not in right for call in made),
    }


def _meets(call: Called, need: Need) -> bool:
    return any(
        call.status == Status.SUCCESS and call.tool == one["tool"] and same(call.result, one["result"]) for one in need
    )


def _is_of(call: Called, need: Need) -> bool:
    return any(call.tool == one["tool"] for one in need)


async def one_task(runtime: Runtime, task: dict[str, Any], session: str) -> dict[str, Any]:
    """Have it done in a session of its own."""
    ended = ""
    try:
        ended = (await runtime.run(task["says"], session=session)).status
    except CallslipError as error:
        ended = f"{type(error).__name__}: {error}"
    events = [stored.record.event for stored in await runtime.parts.ledger.read(session)]
    results = {
        event.call_id: await payloads.load(runtime.parts.blobs, event.structured)
        for event in events
        if isinstance(event, FunctionResponse) and event.structured is not None
    }
    return {"says": task["says"], "ended": ended, **judge(events, results, task["needs"])}


def summary(done: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All tasks together."""
    answerable = [one for one in done if one["answerable"]]
    others = [one for one in done if not one["answerable"]]
    tokens = [count for one in done for count in one["input_tokens"]]
    return {
        "tasks": len(done),
        "answerable": len(answerable),
        "finished": sum(one["finished"] for one in answerable),
        "right_tool_called": sum(one["right_tool_called"] for one in answerable),
        "preselected_at_first": sum(one["preselected"] for one in answerable),
        "visible_at_some_step": sum(one["visible"] for one in answerable),
        "finished_of_those_visible": sum(one["finished"] for one in answerable if one["visible"]),
        "searched": sum(one["searches"] > 0 for one in done),
        "searches_by_task": round(sum(one["searches"] for one in done) / max(1, len(done)), 2),
        "wrong_tools_called": sum(one["false_calls"] for one in answerable),
        "unanswerable": len(others),
        "offered_though_unanswerable": sum(bool(one["offered"]) for one in others),
        "called_though_unanswerable": sum(one["false_calls"] > 0 for one in others),
        "refused_as_not_shown": sum(one["not_shown"] for one in done),
        "ended_otherwise": sum(one["ended"] != "finished" for one in done),
        "requests": sum(one["requests"] for one in done),
        "input_tokens_by_request": round(sum(tokens) / max(1, len(tokens))),
        "model_seconds": round(sum(one["ms"] for one in done) / 1000),
    }


def kept(file: Path | None, tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What earlier runs did, judged anew."""
    if file is None or not file.exists():
        return []
    done = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    needs = {task["says"]: task["needs"] for task in tasks}
    return [
        one | marks(msgspec.convert(one["calls"], list[Called]), needs[one["says"]])
        for one in done
        if one["says"] in needs
    ]


def schema_tokens(tools: Sequence[Executor]) -> int:
    """What all schemas would take in each request."""
    from callslip.bound import bind

    catalogue = bind(tools, Routing(defer="none")).catalogue
    return sum(len(msgspec.json.encode(entry.view)) for entry in catalogue.values()) // BYTES_BY_TOKEN


def model_of(given: argparse.Namespace) -> Model:
    if given.base_url is None:
        return Scripted(["Done."] * 1000)
    options = Options(temperature=0, max_output_tokens=LONGEST_REPLY)
    kind = KINDS[given.kind]
    return kind.made_by()(given.model, base_url=given.base_url, api_key=kind.key(), timeout=TIMEOUT, options=options)


async def run(given: argparse.Namespace) -> dict[str, Any]:
    tasks = json.loads(given.tasks.read_text(encoding="utf-8"))["tasks"][: given.first]
    done = kept(given.out, tasks)
    tools, began = library(), time.monotonic()
    routing = Routing(defer="auto", preselect="off" if given.no_preselection else "auto")
    limits = Limits(steps_per_turn=MOST_STEPS)
    model = model_of(given)
    async with Runtime(tools=tools, model=model, routing=routing, limits=limits, system=SYSTEM) as runtime:
        for number, task in enumerate(tasks):
            if any(one["says"] == task["says"] for one in done):
                continue
            done.append(await one_task(runtime, task, f"task-{number}"))
            if given.out is not None:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[-1], ensure_ascii=False) + "\n")
    asked = given.model if given.base_url is not None else "none: preselection alone"
    return {
        "model": asked,
        "tools": len(tools),
        **summary(done),
        "all_schemas_tokens": schema_tokens(tools),
        "seconds": round(time.monotonic() - began, 1),
    }


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="any")
    parser.add_argument("--kind", default="openai", help="what stands before the colon of a model's name")
    parser.add_argument("--tasks", type=Path, default=TASKS)
    parser.add_argument("--first", type=int, help="only so many tasks")
    parser.add_argument("--out", type=Path, help="keep what each task did in this file, and go on from it")
    parser.add_argument("--no-preselection", action="store_true")
    return parser.parse_args(given)


def main() -> None:
    print(json.dumps(asyncio.run(run(arguments())), indent=1))


if __name__ == "__main__":
    main()
