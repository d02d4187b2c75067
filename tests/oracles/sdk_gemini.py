"""generateContent, as the google-genai package knows it.

The SDK takes the request in other pieces than the API: ``contents`` as they are, and all the rest as one configuration.
Every piece goes through the SDK's own models, which refuse a field they do not know.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from google import genai
from google.genai import errors, types

from callslip.providers.gemini_parts import UNSIGNED

from .oracle import KEY, Parsed

REFUSED = errors.ClientError
LIMITED = errors.ClientError
WRONG_KEY = errors.ClientError
OVERLOADED = errors.ServerError
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filtered"}


def client(url: str) -> genai.Client:
    # The SDK adds the version of the API itself, and takes its timeout in milliseconds.
    return genai.Client(
        api_key=KEY, http_options=types.HttpOptions(base_url=url.removesuffix("/v1beta"), timeout=20_000)
    )


def pieces_of(body: dict[str, Any]) -> tuple[list[types.Content], types.GenerateContentConfig]:
    """The request as the SDK's models.

    Raises:
        pydantic.ValidationError: one of them does not take it.
    """
    rest = {name: body[name] for name in body if name not in {"contents", "generationConfig"}}
    config = {**rest, **body.get("generationConfig", {}), "automaticFunctionCalling": {"disable": True}}
    return (
        [types.Content.model_validate(content) for content in body["contents"]],
        types.GenerateContentConfig.model_validate(config),
    )


def send(client: genai.Client, body: dict[str, Any], path: str) -> Any:
    contents, config = pieces_of(body)
    model = unquote(path.partition("/models/")[2].partition(":")[0])
    if ":streamGenerateContent" in path:
        return list(client.models.generate_content_stream(model=model, contents=contents, config=config))
    return [client.models.generate_content(model=model, contents=contents, config=config)]


def _parts(chunks: list[Any]) -> list[types.Part]:
    """The parts of the whole reply, those of a stream as they came."""
    return [
        part
        for chunk in chunks
        for candidate in chunk.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    ]


def parse(chunks: list[Any]) -> Parsed:
    calls = [part.function_call for part in _parts(chunks) if part.function_call]
    ends = [one.finish_reason for chunk in chunks for one in chunk.candidates or () if one.finish_reason]
    usage = chunks[-1].usage_metadata
    return Parsed(
        text="".join(part.text or "" for part in _parts(chunks) if not part.thought),
        calls=tuple((call.id or "", call.name, call.args or {}) for call in calls),
        finish="calls" if calls else _FINISH[ends[-1].value] if ends else "filtered",
        input_tokens=usage.prompt_token_count,
        output_tokens=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
    )


def goes_on(body: dict[str, Any], chunks: list[Any], result: str) -> dict[str, Any]:
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in _parts(chunks)]
    results = [
        {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"result": result}}}
        for call in (part["functionCall"] for part in parts if "functionCall" in part)
    ]
    more = [{"role": "model", "parts": parts}, {"role": "user", "parts": results}]
    return {**body, "contents": [*body["contents"], *more]}


def retry_after(error: Any) -> str:
    return error.response.headers["retry-after"]


def unchanged(seen: Any) -> Any:
    """A body as it arrived, less what the SDK itself does: some names in snake case, the other base64, an empty
    configuration. The API takes each of them as it takes ours.
    """
    if isinstance(seen, list):
        return [unchanged(inner) for inner in seen]
    if not isinstance(seen, dict):
        return seen
    made = {_SPELT.get(name, name): inner if name in _OURS else unchanged(inner) for name, inner in seen.items()}
    if isinstance(made.get("thoughtSignature"), str) and made["thoughtSignature"] != UNSIGNED:
        made["thoughtSignature"] = made["thoughtSignature"].replace("-", "+").replace("_", "/")
    return {name: inner for name, inner in made.items() if (name, inner) != ("generationConfig", {})}


_SPELT = {
    "parameters_json_schema": "parametersJsonSchema",
    "thinking_level": "thinkingLevel",
    "thinking_budget": "thinkingBudget",
    "include_thoughts": "includeThoughts",
    "inline_data": "inlineData",
    "mime_type": "mimeType",
}
_OURS = frozenset({"args", "response", "parameters_json_schema"})
"""Whose names are the tool's, not the API's."""
