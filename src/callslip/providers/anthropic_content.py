"""The conversation as messages of the Messages API.

Invariants: it begins and ends with the user, and roles alternate; each call is answered in the very next message, all
results of a step stand in that one message and before anything else in it (CALL-05, CALL-06; Anthropic docs, "Tool use
> Handle tool calls"); no text is blank. What was thought goes back to the letter, in its place, to the model that
thought it, and to no other (WIRE-05; Anthropic docs, "Extended thinking > Preserving thinking blocks").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.message import Attachment
from callslip.providers.anthropic_media import block_of, shown
from callslip.providers.anthropic_reply import CALL, is_blank, text_of
from callslip.providers.anthropic_search import reference
from callslip.providers.anthropic_thinking import THINKING
from callslip.providers.attached import introduced
from callslip.providers.call_ids import IdRule
from callslip.providers.history import NOTICE, Answered, ModelTurn, Turn, UserTurn
from callslip.providers.loose import as_object
from callslip.providers.native_search import beside as said_beside
from callslip.providers.offered import Offered

IDS = IdRule(pattern=r"[a-zA-Z0-9_-]{1,64}", prefix="toolu_", refused=frozenset({"null"}))
"""Of its own refusal: "String should match pattern '^[a-zA-Z0-9_-]+$'", and "`tool_use` ids must be unique"
(github.com/anomalyco/opencode/issues/1279). The length is Bedrock's."""
GO_ON = f"{NOTICE}\nGo on."
"""Stands where the API wants words of the user and the history has none: before a reply that nothing came before,
between two of them, and after the last, which newer models otherwise refuse as a prefilled answer."""

Block = dict[str, Any]


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation is sent with."""

    sender: str
    """The model's whole name, by which what it said before is known."""
    thinking: bool
    """Whether what it thought goes back."""
    media: bool
    """Whether images and documents are shown."""


def messages_of(conversation: Sequence[Turn], offered: Offered, sent: Sent) -> list[dict[str, Any]]:
    """The messages, each with a list of blocks."""
    messages: list[dict[str, Any]] = []
    taken = shown(conversation) if sent.media else frozenset()
    for place, turn in enumerate(conversation):
        if isinstance(turn, UserTurn):
            _add(messages, "user", [_text(turn.text)])
            continue
        if not messages or messages[-1]["role"] == "assistant":
            _add(messages, "user", [_text(GO_ON)])
        _add(messages, "assistant", _said(turn, offered, sent))
        if turn.calls:
            _add(messages, "user", _answers(turn, [key[1:] for key in taken if key[0] == place], offered))
    if not messages or messages[-1]["role"] == "assistant":
        _add(messages, "user", [_text(GO_ON)])
    return messages


def _add(messages: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _said(turn: ModelTurn, offered: Offered, sent: Sent) -> list[Block]:
    calls = [_call(one, offered) for one in turn.calls]
    text = turn.text.rstrip()
    plain = [*([_text(text)] if text else []), *calls]
    if turn.kept is None or turn.kept.model != sent.sender:
        return plain
    kept = [item for item in map(as_object, turn.kept.items) if item.get("type") not in THINKING or sent.thinking]
    marked = [item.get("call") for item in kept if item.get("type") == CALL]
    if marked == list(range(len(calls))) and canon.scrub(text_of(kept)).strip() == turn.text.strip():
        blocks = [calls[item["call"]] if item.get("type") == CALL else item for item in kept if not is_blank(item)]
    else:
        # The history was changed since. What was thought still belongs to these calls, and stands before them.
        blocks = [*(item for item in kept if item.get("type") in THINKING), *plain]
    while blocks and blocks[-1].get("type") in THINKING:
        blocks.pop()  # "The final block in an assistant message cannot be `thinking`"
    return blocks or plain


def _call(one: Answered, offered: Offered) -> Block:
    return {
        "type": CALL,
        "id": one.id,
        "name": offered.wire(one.call.tool),
        "input": offered.argument_object(one.call),
    }


def _answers(turn: ModelTurn, taken: Sequence[tuple[int, ...]], offered: Offered) -> list[Block]:
    results: list[Block] = []
    beside: list[Block] = []
    for number, call in enumerate(turn.calls):
        attached = [one for place, one in enumerate(call.result.attachments) if (number, place) in taken]
        if call.result.is_error:
            # Of an error the API takes text only (github.com/vellum-ai/vellum-assistant/pull/18387).
            beside += _beside(attached, call.call.tool)
            attached = []
        loads = offered.loads(call.call.call_id)
        if loads:
            # References and other content are not mixed in one result: clients that did had it refused (Strands docs,
            # "ToolReferenceBlock"). The words follow all results, which has a use of its own: a request that ends with
            # a definition makes some models stop.
            beside += [_text(said_beside(call.call.tool, call.content)), *_beside(attached, call.call.tool)]
            results.append(_loading(call, [offered.wire(name) for name in loads]))
            continue
        results.append(_result(call, attached))
    return [*results, *beside]


def _result(call: Answered, attached: Sequence[Attachment]) -> Block:
    content: Any = [_text(call.content), *map(block_of, attached)] if attached else call.content
    result: Block = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return {**result, "is_error": True} if call.result.is_error else result


def _loading(call: Answered, wires: Sequence[str]) -> Block:
    return {"type": "tool_result", "tool_use_id": call.id, "content": [reference(wire) for wire in wires]}


def _beside(attached: Sequence[Attachment], tool: str) -> list[Block]:
    return [block for one in attached for block in (_text(introduced(one, tool)), block_of(one))]
