"""What a request costs in tokens, with every tool shown and with tools that are found.

python tokens.py [WORDS]
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from library import TOOLS

from callslip import Runtime
from callslip.core.activation import BYTES_BY_TOKEN
from callslip.core.routing import Routing
from callslip.ports.model import Request
from callslip.providers.scripted import Scripted

WORDS = "What day of the week was 20 July 1969?"
WAYS = {
    "all of them shown": Routing(defer="none"),
    "found by search": Routing(defer="auto", preselect="off"),
    "found, and preselected": Routing(defer="auto"),
}


async def first_request(routing: Routing, words: str) -> Request:
    """What a model is sent first; none is asked."""
    model = Scripted(["Done."])
    async with Runtime(tools=TOOLS, model=model, routing=routing) as rt:
        await rt.run(words, session="s")
    return model.requests[0]


def counted(request: Request) -> tuple[int, int]:
    """Tokens of the tools' schemas, and of the list of names in the system prompt, four bytes each."""
    tools = sum(len(msgspec.json.encode(tool)) for tool in request.tools)
    return tools // BYTES_BY_TOKEN, len(request.system.encode()) // BYTES_BY_TOKEN


def main() -> None:
    words = " ".join(sys.argv[1:]) or WORDS
    print(f"{'':24}{'tools':>6}{'schemas':>10}{'names':>8}{'tokens':>9}")
    for way, routing in WAYS.items():
        request = asyncio.run(first_request(routing, words))
        schemas, names = counted(request)
        print(f"{way:24}{len(request.tools):>6}{schemas:>10,}{names:>8,}{schemas + names:>9,}")
    print("preselected:", ", ".join(tool.name for tool in request.tools if tool.name != "tool_search"))


if __name__ == "__main__":
    main()
