"""Results as messages for a provider, for those who drive the loop themselves and hold the conversation. Pure.

Ids are the ones the calls came with. Sources: each provider's API reference, as in ``docs/reference/providers``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callslip.core.message import Attachment, ResultMessage
from callslip.errors import UsageError

_EMPTY = "(empty result)"


def given_back(provider: str, results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    """The results of one step, to be appended to the conversation.

    Raises:
        UsageError: no such format.
    """
    form = FORMS.get(provider)
    if form is None:
        raise UsageError(f"{provider!r} is not known. Formats: {', '.join(FORMS)}.")
    return form(results)


def _openai_chat(results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": _id(one), "content": _text(one)} for one in results
    ]
    # Tool messages hold text alone, and nothing may stand between them.
    images = [part for one in results for part in _image_urls(one)]
    return [*messages, {"role": "user", "content": images}] if images else messages


def _mistral(results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": _id(one), "name": one.tool, "content": _text(one)} for one in results]


def _openai_responses(results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for one in results:
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": _text(one)}]
        for attached in one.attachments:
            if attached.is_image:
                parts.append({"type": "input_image", "image_url": _data_url(attached)})
            else:
                name = attached.name or "file"
                parts.append({"type": "input_file", "filename": name, "file_data": _data_url(attached)})
        output: Any = parts if one.attachments else _text(one)
        items.append({"type": "function_call_output", "call_id": _id(one), "output": output})
    return items


def _anthropic(results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for one in results:
        content: Any = _text(one)
        shown = [_anthropic_block(attached) for attached in one.attachments]
        if one.is_error:  # which holds text alone; the rest stands behind all results, as nothing may come between
            beside += shown
        elif shown:
            content = [{"type": "text", "text": content}, *shown]
        block = {"type": "tool_result", "tool_use_id": _id(one), "content": content, "is_error": one.is_error}
        blocks.append(block)
    return [{"role": "user", "content": [*blocks, *beside]}]


def _anthropic_block(attached: Attachment) -> dict[str, Any]:
    source = {"type": "base64", "media_type": attached.media_type, "data": _base64(attached)}
    return {"type": "image" if attached.is_image else "document", "source": source}


def _gemini(results: Sequence[ResultMessage]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for one in results:
        response = {"name": one.tool, "response": {"error" if one.is_error else "result": _text(one)}}
        parts.append({"functionResponse": ({"id": one.provider_id} if one.provider_id else {}) | response})
    # In a content of their own, which every model takes: newer ones refuse them beside the responses, and older ones
    # within them.
    media = [
        part
        for one in results
        for attached in one.attachments
        for part in (
            {"text": f"From {one.tool}:"},
            {"inlineData": {"mimeType": attached.media_type, "data": _base64(attached)}},
        )
    ]
    return [{"role": "user", "parts": parts}, *([{"role": "user", "parts": media}] if media else [])]


FORMS: Mapping[str, Callable[[Sequence[ResultMessage]], list[dict[str, Any]]]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _mistral,
}


def _id(result: ResultMessage) -> str:
    return result.provider_id or result.call_id


def _text(result: ResultMessage) -> str:
    return result.content if result.content.strip() else _EMPTY


def _image_urls(result: ResultMessage) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": _data_url(one)}} for one in result.attachments if one.is_image]


def _base64(attached: Attachment) -> str:
    return base64.b64encode(attached.data).decode("ascii")


def _data_url(attached: Attachment) -> str:
    return f"data:{attached.media_type};base64,{_base64(attached)}"
