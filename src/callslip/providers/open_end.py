"""The last word before a reply is the user's or a tool's, never the model's own.

Mistral refuses a conversation that ends with the assistant ("Expected last role User or Tool", github.com/
0xPlaygrounds/rig/pull/1130), and servers with chat templates take such an end for the beginning of the reply, to be
gone on with (llama.cpp, tools/server/README.md; vLLM, ``continue_final_message``).
"""

from __future__ import annotations

from typing import Any

from callslip.providers.history import NOTICE

GO_ON = f"{NOTICE}\nGo on."


def closed(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, with a notice at the end where the model itself, or nobody, spoke last."""
    if messages and messages[-1]["role"] in {"user", "tool"}:
        return messages
    return [*messages, {"role": "user", "content": GO_ON}]
