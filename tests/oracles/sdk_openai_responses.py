"""Responses, as the openai package knows them."""

from __future__ import annotations

import json
from typing import Any

import openai
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

from .oracle import Parsed
from .sdk_openai_chat import LIMITED, OVERLOADED, REFUSED, WRONG_KEY, client, retry_after, unchanged

__all__ = ["LIMITED", "OVERLOADED", "REFUSED", "WRONG_KEY", "client", "retry_after", "unchanged"]


def type_of(body: dict[str, Any]) -> Any:
    return ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming


def as_typed(body: dict[str, Any]) -> dict[str, Any]:
    """With what the SDK's types demand of a model's message, and the API does not: an id, a status, and the annotations
    of each text (github.com/langchain-ai/langchain/pull/32557; github.com/openai/openai-java/issues/302).
    """
    return {**body, "input": [_as_output(item) for item in body["input"]]}


def _as_output(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("role") != "assistant" or not isinstance(item["content"], list):
        return item
    parts = [{"annotations": [], **part} if part["type"] == "output_text" else part for part in item["content"]]
    return {"id": "msg_0", "status": "completed", **item, "content": parts}


def send(client: openai.OpenAI, body: dict[str, Any], path: str) -> Any:
    if not body.get("stream"):
        return client.responses.create(**body)
    with client.responses.stream(**{name: body[name] for name in body if name != "stream"}) as stream:
        return stream.until_done().get_final_response()


def parse(reply: Any) -> Parsed:
    calls = [item for item in reply.output if item.type == "function_call"]
    said = [part for item in reply.output if item.type == "message" for part in item.content]
    return Parsed(
        text="".join(part.refusal if part.type == "refusal" else part.text for part in said),
        calls=tuple((call.call_id, call.name, json.loads(call.arguments)) for call in calls),
        finish="calls" if calls else "stop",
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
    )


def goes_on(body: dict[str, Any], reply: Any, result: str) -> dict[str, Any]:
    output = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output]
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": result}
        for item in reply.output
        if item.type == "function_call"
    ]
    return {**body, "input": [*body["input"], *output, *results]}
