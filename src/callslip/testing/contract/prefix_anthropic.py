"""What stands before a block of a Messages request: the thing that newer Claude models bind their thinking to.

Anthropic docs, "Preserved thinking > Prefix checks": the system prompt, the tools and every earlier message, and the
thinking blocks in an unbroken row. Where a cache breakpoint is, and whether a text is a string or a block, doesn't
count: as in prompt caching.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callslip.testing.contract.rules_anthropic_messages import THINKING, blocks_of
from callslip.testing.contract.signatures import digest

_NOT_COUNTED = ("cache_control", "caller", "citations")


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before a block."""

    prefix: str
    previous: str
    """Digest of the thinking before it; "" where there is none."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A thinking block with its place."""

    message: int
    path: str
    content: dict[str, Any]
    before: Before


def thinking_blocks(body: dict[str, Any]) -> Iterator[Block]:
    """Each thinking block of the messages, in order."""
    counted: list[Any] = [_system(body), _tools(body)]
    previous = ""
    for place, message in enumerate(_messages(body)):
        for number, block in enumerate(blocks_of(message)):
            if block.get("type") not in THINKING:
                counted.append([message.get("role"), _plain(block)])
                continue
            before = Before(prefix=digest(counted), previous=previous)
            yield Block(message=place, path=f"messages[{place}].content[{number}]", content=block, before=before)
            previous = digest(seal_of(block))


def before_reply(body: dict[str, Any]) -> Before:
    """What stands before the first block of the reply to this request."""
    counted: list[Any] = [_system(body), _tools(body)]
    previous = ""
    for message in _messages(body):
        for block in blocks_of(message):
            if block.get("type") in THINKING:
                previous = digest(seal_of(block))
            else:
                counted.append([message.get("role"), _plain(block)])
    return Before(prefix=digest(counted), previous=previous)


def seal_of(block: dict[str, Any]) -> str:
    """What proves a thinking block's origin: its signature, or all of a redacted one."""
    seal = block.get("signature") if block.get("type") == "thinking" else block.get("data")
    return seal if isinstance(seal, str) else ""


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []


def _system(body: dict[str, Any]) -> Any:
    return [_plain(block) for block in blocks_of({"content": body.get("system")})]


def _tools(body: dict[str, Any]) -> Any:
    tools = body.get("tools")
    return [_plain(tool) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in block.items() if name not in _NOT_COUNTED}
    if plain.get("type") == "tool_result":
        plain["content"] = [_plain(inner) for inner in blocks_of(block)]
        plain["is_error"] = plain.get("is_error", False)
    return plain
