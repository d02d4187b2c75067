"""Messages, as the anthropic package knows them."""

from __future__ import annotations

from typing import Any

import anthropic
from anthropic.types.beta import message_create_params as beta
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

from callslip.testing.contract.rules_anthropic_thinking import BINDING_BETA

from .oracle import KEY, Parsed

REFUSED = anthropic.BadRequestError
LIMITED = anthropic.RateLimitError
WRONG_KEY = anthropic.AuthenticationError
OVERLOADED = anthropic.APIStatusError
"""The SDK's class for 529 is not public; its status is."""
_FINISH = {"tool_use": "calls", "end_turn": "stop", "max_tokens": "length", "refusal": "filtered"}


def client(url: str) -> anthropic.Anthropic:
    # The SDK adds the version of the API itself.
    return anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=KEY, max_retries=0, timeout=20)


def _is_beta(body: dict[str, Any]) -> bool:
    """Whether it is sent with a beta header, and so stands in the SDK's beta types."""
    return "block_binding" in (body.get("thinking") or {})


def _headers(body: dict[str, Any]) -> dict[str, str]:
    return {"anthropic-beta": BINDING_BETA} if _is_beta(body) else {}


def type_of(body: dict[str, Any]) -> Any:
    if _is_beta(body):
        return beta.MessageCreateParamsStreaming if body.get("stream") else beta.MessageCreateParamsNonStreaming
    return MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming


def send(client: anthropic.Anthropic, body: dict[str, Any], path: str) -> Any:
    if not body.get("stream"):
        return client.messages.create(**body, extra_headers=_headers(body))
    with client.messages.stream(
        **{name: body[name] for name in body if name != "stream"}, extra_headers=_headers(body)
    ) as stream:
        return stream.get_final_message()


def parse(reply: Any) -> Parsed:
    usage, refused = reply.usage, reply.stop_details
    return Parsed(
        text="".join(block.text for block in reply.content if block.type == "text")
        + (refused.explanation if refused else ""),
        calls=tuple((block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"),
        finish=_FINISH[reply.stop_reason],
        input_tokens=usage.input_tokens
        + (usage.cache_creation_input_tokens or 0)
        + (usage.cache_read_input_tokens or 0),
        output_tokens=usage.output_tokens,
    )


def goes_on(body: dict[str, Any], reply: Any, result: str) -> dict[str, Any]:
    content = [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in reply.content]
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": result}
        for block in reply.content
        if block.type == "tool_use"
    ]
    said = {"role": "assistant", "content": content}
    return {**body, "messages": [*body["messages"], said, {"role": "user", "content": results}]}


def retry_after(error: Any) -> str:
    return error.response.headers["retry-after"]


def unchanged(seen: dict[str, Any]) -> dict[str, Any]:
    """A body as it arrived, less what the SDK itself adds: nothing."""
    return seen
