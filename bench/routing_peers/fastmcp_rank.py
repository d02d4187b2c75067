"""FastMCP's BM25 search transform over the tools of standard input; run by bench/routing.py in its own environment."""

import asyncio
import json
import sys
import time

from fastmcp.server.transforms.search.bm25 import BM25SearchTransform  # type: ignore[import-not-found]
from fastmcp.tools.base import Tool  # type: ignore[import-not-found]


async def main() -> None:
    asked = json.load(sys.stdin)
    tools, ids = [], {}
    for at, tool in enumerate(asked["tools"]):
        said = {str(name): {"type": "string", "description": str(text)} for name, text in tool.get("params") or ()}
        name = tool["name"] if tool["name"] not in ids else f"{tool['name']}_{at}"
        ids[name] = tool["id"]
        schema = {"type": "object", "properties": said}
        tools.append(Tool(name=name, description=tool.get("description") or "", parameters=schema))
    transform = BM25SearchTransform(max_results=5)
    ranked, spent = [], []
    for text in asked["queries"]:
        began = time.process_time()
        found = await transform._search(tools, text)
        spent.append(1e3 * (time.process_time() - began))
        ranked.append([ids[tool.name] for tool in found])
    print(json.dumps({"ranked": ranked, "cpu_ms": spent}))


asyncio.run(main())
