"""How often a model without tool calls of its own calls rightly when it is constrained, through the real adapter.

    python bench/constrained.py --base-url http://127.0.0.1:18080/v1 --model any [--cases FILE] [--show]

The server is any OpenAI-compatible one with ``response_format: json_schema``. Each request stands alone: one user
message, all tools, temperature 0. Prints JSON.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callslip.core.message import UserText
from callslip.ports.model import Reply, Request, ToolView
from callslip.providers.constrained import Constrained
from callslip.providers.constrained_envelope import read
from callslip.providers.openai_chat_reply import text_of
from callslip.providers.options import Options

CASES = Path(__file__).with_name("constrained_cases.json")
SYSTEM = "You help a person by calling tools."
COUNTED = (
    "requests", "valid_envelopes", "answerable", "right_tools", "right_arguments", "declined_though_answerable",
    "unanswerable", "declined_rightly", "by_no_tool_fits", "false_calls",
)  # fmt: skip
LONGEST_REPLY = 400
"""Tokens. A reply that is longer counts as no envelope."""


def fits(got: Any, wanted: Any) -> bool:
    """Whether a value is right; letter case is not looked at."""
    if isinstance(wanted, dict) and wanted.keys() == {"one_of"}:
        return any(fits(got, one) for one in wanted["one_of"])
    if isinstance(wanted, str):
        return isinstance(got, str) and got.strip().casefold() == wanted.casefold()
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(fits, got, wanted))
    return type(got) in ({int, float} if type(wanted) is not bool else {bool}) and got == wanted


def right_arguments(got: dict[str, Any], call: dict[str, Any]) -> bool:
    """``optional`` names what may be there besides; ``null`` for its values: anything."""
    more = call.get("optional", {})
    return all(name in got and fits(got[name], value) for name, value in call["arguments"].items()) and all(
        name in call["arguments"]
        or (name in more and (more[name] is None or any(fits(value, one) for one in more[name])))
        for name, value in got.items()
    )


def judge(reply: Reply, wanted: list[dict[str, Any]]) -> dict[str, bool]:
    """Tools and arguments of a request, each all right or not."""
    left = [(one.tool, one.arguments) for one in reply.proposals]
    tools = sorted(tool for tool, _ in left) == sorted(call["tool"] for call in wanted)
    for call in wanted:
        same = [(tool, got) for tool, got in left if tool == call["tool"] and isinstance(got, dict)]
        match = next((one for one in same if right_arguments(one[1], call)), None)
        if match is None:
            return {"tools": tools, "arguments": False}
        left.remove(match)
    return {"tools": tools, "arguments": tools}


async def ask_all(given: argparse.Namespace) -> dict[str, Any]:
    cases = json.loads(given.cases.read_text(encoding="utf-8"))
    tools = tuple(ToolView(**tool) for tool in cases["tools"])
    raw: list[dict[str, Any]] = []
    options = Options(temperature=0, max_output_tokens=LONGEST_REPLY)
    model = Constrained(
        given.model, base_url=given.base_url, api_key=None, timeout=600, options=options, on_raw=raw.append
    )
    counts = dict.fromkeys(COUNTED, 0)
    began = time.monotonic()
    for case in cases["requests"]:
        reply = await model.reply(Request(system=SYSTEM, messages=(UserText(text=case["says"]),), tools=tools))
        written = text_of(raw[-1]["body"]["choices"][0]["message"])
        judged = judge(reply, case["calls"])
        counts["requests"] += 1
        counts["valid_envelopes"] += read(written) is not None and reply.finish in {"calls", "stop"}
        if case["calls"]:
            counts["answerable"] += 1
            counts["right_tools"] += judged["tools"]
            counts["right_arguments"] += judged["arguments"]
            counts["declined_though_answerable"] += reply.finish == "stop"
        else:
            counts["unanswerable"] += 1
            counts["declined_rightly"] += reply.finish == "stop"
            counts["by_no_tool_fits"] += reply.finish == "stop" and '"no_tool_fits"' in written
            counts["false_calls"] += bool(reply.proposals)
        if given.show:
            print(json.dumps({"says": case["says"], "wrote": written, **judged}, ensure_ascii=False), file=sys.stderr)
    return {"model": given.model, **counts, "seconds": round(time.monotonic() - began, 1)}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", default="any")
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--show", action="store_true", help="print each request and what was written, to stderr")
    return parser.parse_args(given)


def main() -> None:
    print(json.dumps(asyncio.run(ask_all(arguments())), indent=1))


if __name__ == "__main__":
    main()
