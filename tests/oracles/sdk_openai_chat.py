"""Chat Completions, as the openai package knows them."""

from __future__ import annotations

import json
from typing import Any

import openai
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from .oracle import KEY, Parsed

REFUSED = openai.BadRequestError
LIMITED = openai.RateLimitError
WRONG_KEY = openai.AuthenticationError
OVERLOADED = openai.InternalServerError
_FINISH = {"tool_calls": "calls", "stop": "stop", "length": "length", "content_filter": "filtered"}


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=20)


def type_of(body: dict[str, Any]) -> Any:
    """The type that the SDK gives such a request."""
    return CompletionCreateParamsStreaming if body.get("stream") else CompletionCreateParamsNonStreaming


def send(client: openai.OpenAI, body: dict[str, Any], path: str) -> Any:
    """The reply, as the SDK puts it together."""
    if not body.get("stream"):
        return client.chat.completions.create(**body)
    with client.chat.completions.stream(**{name: body[name] for name in body if name != "stream"}) as stream:
        return stream.until_done().get_final_completion()


def parse(reply: Any) -> Parsed:
    (choice,) = reply.choices
    message, usage = choice.message, reply.usage
    return Parsed(
        text=message.content or message.refusal or "",
        calls=tuple(
            (call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()
        ),
        finish=_FINISH[choice.finish_reason],
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
    )


def goes_on(body: dict[str, Any], reply: Any, result: str) -> dict[str, Any]:
    """The next request of a client that knows nothing of Callslip: the reply as it came, and results."""
    message = reply.choices[0].message.model_dump(exclude_none=True, exclude={"tool_calls": {"__all__": {"index"}}})
    results = [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in message["tool_calls"]]
    return {**body, "messages": [*body["messages"], message, *results]}


def retry_after(error: Any) -> str:
    return error.response.headers["retry-after"]


def unchanged(seen: dict[str, Any]) -> dict[str, Any]:
    """A body as it arrived, less what the SDK itself adds: nothing."""
    return seen
