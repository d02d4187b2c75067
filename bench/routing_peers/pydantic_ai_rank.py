"""pydantic-ai's keyword search over the tools of standard input; run by bench/routing.py in its own environment."""

import json
import sys
import time
from typing import Any

from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found]
from pydantic_ai.toolsets._tool_search import keywords_search_fn  # type: ignore[import-not-found]

asked = json.load(sys.stdin)
tools, ids = [], {}
for at, tool in enumerate(asked["tools"]):
    name = tool["name"] if tool["name"] not in ids else f"{tool['name']}_{at}"
    ids[name] = tool["id"]
    tools.append(ToolDefinition(name=name, description=tool.get("description") or ""))
context: Any = None
ranked, spent = [], []
for text in asked["queries"]:
    began = time.process_time()
    found = keywords_search_fn(context, [text], tools)[:5]
    spent.append(1e3 * (time.process_time() - began))
    ranked.append([ids[name] for name in found])
print(json.dumps({"ranked": ranked, "cpu_ms": spent}))
