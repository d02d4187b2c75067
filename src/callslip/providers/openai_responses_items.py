"""The conversation as input items of the Responses API.

Invariants: each function_call is answered by exactly one function_call_output of the same ``call_id`` (CALL-03,
CALL-05, CALL-06); what the same model said goes back item for item in its own order, with the calls as they stand in
the history (WIRE-05); a reasoning item stands before an item that followed it, or not at all ("was provided without
its required following item", github.com/vercel/ai/issues/7099); no item id stands twice (github.com/vercel/ai/issues/
7883). To another model the same turn is text and calls without ids, since it could not read the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.core.message import Message
from callslip.providers.attached import data_url
from callslip.providers.call_ids import IdRule
from callslip.providers.history import Answered, ModelTurn, UserTurn, turns
from callslip.providers.loose import as_list, as_object, as_text, id_in
from callslip.providers.native_search import beside
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_search import SEARCH_CALL, call_of, is_mark, is_ours, marks_all, output_of

IDS = IdRule(pattern=r"[!-~]{1,64}")
"""Of ``call_id``: longer ones are refused ("Expected a string with maximum length 64", github.com/openai/codex/issues/
14355).
"""
_LONGEST_ITEM_ID = 64
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
"""What the ids of items begin with, or they are refused (github.com/openai/codex/issues/33176)."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Who is spoken to."""

    sender: str
    """The model's whole name, by which what it said before is known."""
    own: bool
    """Whether it is OpenAI that reads."""
    images: bool = True


def input_of(messages: Sequence[Message], side: Side, offered: Offered) -> list[dict[str, Any]]:
    """All items, in legal order: outputs right after their calls, whatever came in between.

    Raises:
        StillWaiting: a call of the history has no result yet.
        UsageError: a result without its call, or a second one for the same call.
    """
    items: list[dict[str, Any]] = []
    returning = _Returning(side, offered)
    for turn in turns(messages, IDS):
        if isinstance(turn, UserTurn):
            items.append(_message("user", turn.text))
            continue
        said = returning.items(turn)
        items += said
        callers = {item["call_id"]: item["caller"] for item in said if "call_id" in item and item.get("caller")}
        searched = {item["call_id"] for item in said if item["type"] == SEARCH_CALL and "call_id" in item}
        items += [
            output_of(one, offered) if one.id in searched else _output(one, callers.get(one.id), side)
            for one in turn.calls
        ]
        # A search's output has no room for words, such as why nothing was found.
        items += [_message("user", beside(one.call.tool, one.content)) for one in turn.calls if one.id in searched]
    return items


def _message(role: str, text: str) -> dict[str, Any]:
    # As plain text: a model's message of parts needs an id, a status and annotations (OpenAI API reference, "Create a
    # model response" > input > Output message), and vLLM and others take those only as they gave them themselves
    # (github.com/openai/codex/issues/12669).
    return {"type": "message", "role": role, "content": text}


def _call(one: Answered, offered: Offered) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": one.id,
        "name": offered.wire(one.call.tool),
        "arguments": offered.argument_text(one.call),
    }


def _output(one: Answered, caller: Any, side: Side) -> dict[str, Any]:
    """The result, with its images and files as parts of it (OpenAI API reference, "Create a model response" > input >
    Function tool call output). Files only to OpenAI, as others don't know the part; the text names what is left out.
    """
    parts: list[dict[str, Any]] = []
    for attached in one.result.attachments if side.images else ():
        if attached.is_image:
            parts.append({"type": "input_image", "image_url": data_url(attached), "detail": "auto"})
        elif side.own:
            name = attached.name or "file"
            parts.append({"type": "input_file", "filename": name, "file_data": data_url(attached)})
    output: Any = [{"type": "input_text", "text": one.content}, *parts] if parts else one.content
    item = {"type": "function_call_output", "call_id": one.id, "output": output}
    # A call that a hosted program made is answered to that program (github.com/vercel/ai/pull/17790).
    return item | {"caller": caller} if caller else item


class _Returning:
    """What a model said, given back. Remembers the item ids of the request."""

    def __init__(self, side: Side, offered: Offered) -> None:
        self._side = side
        self._offered = offered
        self._ids: set[str] = set()

    def items(self, turn: ModelTurn) -> list[dict[str, Any]]:
        kept = turn.kept.items if turn.kept is not None and turn.kept.model == self._side.sender else ()
        if marks_all(kept, len(turn.calls)):
            said = _with_followers(self._kept(kept, turn))
            if said:
                return said
        plain = [_call(one, self._offered) for one in turn.calls]
        return [_message("assistant", turn.text), *plain] if turn.text.strip() else plain

    def _kept(self, kept: Sequence[Any], turn: ModelTurn) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        # Set when reasoning can't go back: what followed it would be refused under its own id ("was provided without
        # its required 'reasoning' item", github.com/mastra-ai/mastra/issues/8738), and is taken without.
        torn = False
        for one in kept:
            if is_mark(one):
                made.append(self._kept_call(as_object(one.get("item")), turn.calls[one["call"]], torn=torn))
                continue
            item = _without_nulls(as_object(one))
            kind = as_text(item.get("type"))
            if kind == "message":
                made += self._kept_message(item, torn=torn)
            elif kind == "reasoning" and not _is_readable(item, own=self._side.own):
                torn = True
            elif self._take(item, kind):
                made.append(item)
            else:
                torn = torn or kind == "reasoning"
        return made

    def _kept_call(self, item: dict[str, Any], one: Answered, *, torn: bool) -> dict[str, Any]:
        if not is_ours(item):
            return self._identified(_without_nulls(item), torn=torn) | _call(one, self._offered)
        if self._offered.loading is not None:
            return call_of(self._identified(item, torn=torn), one, self._offered)
        return _call(one, self._offered)  # what else the search's item had is none of a function call's

    def _kept_message(self, item: dict[str, Any], *, torn: bool) -> list[dict[str, Any]]:
        parts = as_list(item.get("content"))
        made = self._identified(item, torn=torn) if parts else {}
        if parts and ("id" in made or self._side.own):
            return [made]
        # A text instead of parts, which others send; or parts that only stand beside an id.
        said = (as_text(part.get("text")) + as_text(part.get("refusal")) for part in map(as_object, parts))
        text = as_text(item.get("content")) or "".join(said)
        return [_message("assistant", text)] if text.strip() else []

    def _identified(self, item: dict[str, Any], *, torn: bool) -> dict[str, Any]:
        """With its id, or without where that can't be sent."""
        kind = as_text(item.get("type")) or "function_call"
        if not torn and self._take(item, kind):
            return item
        return {name: value for name, value in item.items() if name != "id"}

    def _take(self, item: dict[str, Any], kind: str) -> bool:
        """Whether the item may stand under its id, which then is used up. An item of another kind may have none."""
        item_id = id_in(item)
        if not item_id:
            return kind not in _PREFIXES
        if item_id in self._ids or len(item_id) > _LONGEST_ITEM_ID or not item_id.startswith(_PREFIXES.get(kind, "")):
            return False
        self._ids.add(item_id)
        return True


def _without_nulls(item: dict[str, Any]) -> dict[str, Any]:
    """An item of a known kind as it is taken back: some servers give nulls out and refuse them (github.com/Wei-Shaw/
    sub2api/pull/5733 for xAI), or want the summary that they left out (github.com/ggml-org/llama.cpp/issues/29159).
    What a null means in an item of another kind, only its provider knows.
    """
    kind = as_text(item.get("type"))
    if kind not in _PREFIXES:
        return item
    made = {name: value for name, value in item.items() if value is not None}
    return {"summary": [], **made} if kind == "reasoning" and "summary" not in made else made


def _is_readable(item: dict[str, Any], *, own: bool) -> bool:
    """Whether reasoning says anything to a server that has stored nothing: encrypted, or plain as open models' servers
    give it, which OpenAI refuses (github.com/microsoft/agent-framework-go/pull/784).
    """
    return bool(as_text(item.get("encrypted_content")).strip() or (not own and as_list(item.get("content"))))


def _with_followers(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without reasoning at the end, which nothing follows."""
    while items and items[-1].get("type") == "reasoning":
        items = items[:-1]
    return items
