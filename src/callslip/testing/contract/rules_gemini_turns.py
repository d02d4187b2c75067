"""Gemini's rules of turns: where calls and responses may stand, and that each call has its response.

Consecutive contents of one role are legal (github.com/zuisong/gemini-openai-proxy/issues/83).
"""

from __future__ import annotations

import base64
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.gemini_models import demands_signatures
from callslip.testing.contract.signatures import digest, verify

_SIGNATURES = "ai.google.dev/gemini-api/docs/thought-signatures"
SOURCES = {
    "contents_empty": "github.com/Calcium-Ion/new-api-horizon/issues/24",
    "call_turn_place": "github.com/google-gemini/gemini-cli/issues/11814; github.com/lobehub/lobehub/issues/10049",
    "response_turn_place": "github.com/langchain-ai/langchain/issues/27799",
    "response_count": "github.com/google-gemini/gemini-cli/issues/3814; github.com/microsoft/vscode/issues/299295",
    "response_id": "github.com/router-for-me/CLIProxyAPI/issues/5199; ai.google.dev/gemini-api/docs/function-calling",
    "response_name_differs": "google-genai 3.6.1, FunctionResponse.name: matches FunctionCall.name",
    "last_role": "github.com/songquanpeng/one-api/issues/836; github.com/crewAIInc/crewAI/pull/6973",
    "signature_missing": _SIGNATURES + "; github.com/langgenius/dify/issues/29187",
    "signature_corrupted": "github.com/google-gemini/gemini-cli/issues/13467",
    "signature_elsewhere": _SIGNATURES + ": return it in the exact part it came in",
}
DUMMIES = ("context_engineering_is_the_way_to_go", "skip_thought_signature_validator")
"""What the vendor takes in place of a signature that there is none of, as for calls of another model."""


def check_turns(body: dict[str, Any], model: str, found: Findings) -> None:
    """``body`` as the parser read it."""
    contents = body.get("contents", [])
    if not contents:
        found.add("contents_empty", "contents", "* GenerateContentRequest.contents: contents is not specified")
        return
    asked: list[dict[str, Any]] = []
    for place, content in enumerate(contents):
        path = f"contents[{place}]"
        responses = [part["functionResponse"] for part in content.get("parts", []) if "functionResponse" in part]
        if responses and not asked:
            found.add(
                "response_turn_place",
                path,
                "Please ensure that function response turn comes immediately after a function call turn.",
            )
        elif len(responses) != len(asked):
            found.add(
                "response_count",
                path,
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn.",
            )
        else:
            _check_pairs(asked, responses, path, found)
        asked = [part["functionCall"] for part in content.get("parts", []) if "functionCall" in part]
        if asked and (place == 0 or contents[place - 1].get("role") == "model"):
            found.add(
                "call_turn_place",
                path,
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn.",
            )
    if contents[-1].get("role") == "model":
        found.add(
            "last_role",
            f"contents[{len(contents) - 1}]",
            "Please ensure that multiturn requests ends with a user role or a function response.",
        )
    _check_signatures(contents, model, found)


def _check_pairs(asked: list[dict[str, Any]], responses: list[dict[str, Any]], path: str, found: Findings) -> None:
    """Calls with ids are told apart by them, calls without by their order."""
    by_id = {call["id"]: call for call in asked if call.get("id")}
    for place, response in enumerate(responses):
        call = asked[place]
        if by_id:
            call = by_id.pop(response.get("id", ""), {})
            if not call and asked[place].get("id"):
                found.add(
                    "response_id",
                    f"{path}.parts[{place}].functionResponse.id",
                    f"functionResponse.id {response.get('id')!r} does not match functionCall.id {asked[place]['id']!r}",
                )
                continue
            call = call or asked[place]
        if response.get("name") and response["name"] != call.get("name"):
            found.add(
                "response_name_differs",
                f"{path}.parts[{place}].functionResponse.name",
                f"functionResponse.name {response['name']!r} does not match functionCall.name {call.get('name')!r}",
            )


def part_digest(part: dict[str, Any]) -> str:
    """What a signature vouches for: the call it came with, or that it came with text."""
    call = part.get("functionCall")
    return digest(["call", call.get("name"), _doubles(call.get("args", {}))] if call else ["text"])


def _doubles(value: Any) -> Any:
    """Numbers as protobuf's Struct holds them, so that 5 and 5.0 are one."""
    if isinstance(value, dict):
        return {name: _doubles(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_doubles(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return "Infinity"
    return value


def _check_signatures(contents: list[dict[str, Any]], model: str, found: Findings) -> None:
    start = max((place for place, content in enumerate(contents) if _begins_turn(content)), default=0)
    for place, content in enumerate(contents):
        parts = content.get("parts", [])
        for number, part in enumerate(parts):
            _check_signature(part, f"contents[{place}].parts[{number}]", found)
        calls = [number for number, part in enumerate(parts) if "functionCall" in part]
        if calls and place > start and demands_signatures(model) and not parts[calls[0]].get("thoughtSignature"):
            name = parts[calls[0]]["functionCall"].get("name")
            found.add(
                "signature_missing",
                f"contents[{place}].parts[{calls[0]}].thoughtSignature",
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}`, position {place + 1}.",
            )


def _begins_turn(content: dict[str, Any]) -> bool:
    """Whether the user says something of their own in it."""
    parts = content.get("parts", [])
    return content.get("role", "user") == "user" and any("functionResponse" not in part for part in parts)


def _check_signature(part: dict[str, Any], path: str, found: Findings) -> None:
    signature = part.get("thoughtSignature")
    if not signature or _is_dummy(signature):
        return
    signed = verify(signature.replace("-", "+").replace("_", "/"))
    if signed is None:
        found.add("signature_corrupted", f"{path}.thoughtSignature", "Corrupted thought signature.")
    elif signed.content != part_digest(part):
        found.add("signature_elsewhere", f"{path}.thoughtSignature", "Thought signature is not valid.")


def _is_dummy(signature: str) -> bool:
    """The word itself, or in base64, as the SDK sends what is given to it as bytes."""
    encoded = {base64.b64encode(word.encode()).decode() for word in DUMMIES}
    return signature in DUMMIES or signature in encoded
