"""Chat completions, as the mistralai package knows them."""

from __future__ import annotations

import json
from typing import Any

from mistralai.client import Mistral, models
from mistralai.client.errors import HTTPValidationError, SDKError
from mistralai.client.models import ChatCompletionRequestTypedDict, ChatCompletionStreamRequestTypedDict

from .oracle import KEY, Parsed

REFUSED = (SDKError, HTTPValidationError)
LIMITED = SDKError
WRONG_KEY = SDKError
OVERLOADED = SDKError
_FINISH = {"tool_calls": "calls", "stop": "stop", "length": "length"}


def client(url: str) -> Mistral:
    # The SDK adds the version of the API itself, and takes its timeout in milliseconds.
    return Mistral(api_key=KEY, server_url=url.removesuffix("/v1"), timeout_ms=20_000)


def type_of(body: dict[str, Any]) -> Any:
    return ChatCompletionStreamRequestTypedDict if body.get("stream") else ChatCompletionRequestTypedDict


def send(client: Mistral, body: dict[str, Any], path: str) -> Any:
    """The reply; of a stream, its chunks."""
    said = {name: body[name] for name in body if name != "stream"}
    if not body.get("stream"):
        return [client.chat.complete(**said)]
    with client.chat.stream(**said) as events:
        return [event.data for event in events]


def parse(chunks: list[Any]) -> Parsed:
    messages = [_message(choice) for chunk in chunks for choice in chunk.choices]
    calls = [call for message in messages for call in message.tool_calls or ()]
    ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    usage = next(chunk.usage for chunk in reversed(chunks) if chunk.usage)
    return Parsed(
        text="".join(_text(message.content) for message in messages),
        calls=tuple((call.id, call.function.name, _object(call.function.arguments)) for call in calls),
        finish=_FINISH[ends[-1]],
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
    )


def _message(choice: Any) -> Any:
    return choice.delta if isinstance(choice, models.CompletionResponseStreamChoice) else choice.message


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    return "".join(chunk.text for chunk in content if chunk.type == "text")


def _object(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def goes_on(body: dict[str, Any], chunks: list[Any], result: str) -> dict[str, Any]:
    messages = [_message(choice) for chunk in chunks for choice in chunk.choices]
    calls = [
        {"id": call.id, "function": {"name": call.function.name, "arguments": call.function.arguments}}
        for message in messages
        for call in message.tool_calls or ()
    ]
    said = {"role": "assistant", "content": parse(chunks).text, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in calls]
    return {**body, "messages": [*body["messages"], said, *results]}


def retry_after(error: Any) -> str:
    return error.headers["retry-after"]


def unchanged(seen: dict[str, Any]) -> dict[str, Any]:
    """A body as it arrived, less what the SDK itself adds: defaults that mean the same as nothing."""
    messages = [_without(message, prefix=False) for message in seen["messages"]]
    for message in messages:
        if "tool_calls" in message:
            message["tool_calls"] = [_without(call, index=0) for call in message["tool_calls"]]
    return {**_without(seen, stream=False), "messages": messages}


def _without(given: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in defaults or value != defaults[name]}
