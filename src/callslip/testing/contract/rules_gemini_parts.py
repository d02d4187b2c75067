"""Gemini's rules of single contents and parts: roles, exactly one thing a part, media of a kind that it reads."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.gemini_models import demands_signatures
from callslip.testing.contract.rules_gemini_tools import NAME

_FUNCTIONS = "ai.google.dev/gemini-api/docs/function-calling"
SOURCES = {
    "role": "github.com/lijunzh/koda/issues/312",
    "parts_empty": "github.com/vercel/ai/issues/3775",
    "part_empty": "github.com/router-for-me/CLIProxyAPI/issues/1292",
    "part_twice": "github.com/maximhq/bifrost/pull/1180: one thing a part",
    "text_empty": "github.com/zuisong/gemini-openai-proxy/issues/83",
    "part_role": _FUNCTIONS + ": calls by the model, responses by the user",
    "call_name": "github.com/kaitranntt/ccs/issues/219",
    "response_name": "github.com/router-for-me/CLIProxyAPI/pull/2103",
    "response_missing": "google-genai 3.6.1, FunctionResponse.response: required, an object",
    "response_parts_unsupported": "github.com/google-gemini/gemini-cli/issues/19436",
    "response_parts_type": "github.com/google-gemini/gemini-cli/issues/16995",
    "response_reference": "github.com/googleapis/python-genai/issues/2792",
    "media_beside_response": "github.com/google-gemini/gemini-cli/pull/16137; github.com/BerriAI/litellm/pull/29324",
    "media_type": "github.com/QuantumNous/new-api/pull/1139; ai.google.dev/gemini-api/docs/image-understanding",
    "media_data": "ai.google.dev/api/caching#Blob: data in base64",
    "system_not_text": "ai.google.dev/api/generate-content: systemInstruction, currently text only",
}
DATA = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
]
_ROLES = ("user", "model", "function")
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_FAMILIES = ("audio/", "video/", "text/")
_OTHERS = frozenset({"application/pdf", "application/json"})
_IN_RESPONSES = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})


def check_contents(body: dict[str, Any], model: str, found: Findings) -> None:
    """``body`` as the parser read it."""
    for place, content in enumerate(body.get("contents", [])):
        _check_content(content, f"contents[{place}]", model, found)
    system = body.get("systemInstruction")
    if system is None:
        return
    if not system.get("parts"):
        found.add(
            "parts_empty", "systemInstruction.parts", "* GenerateContentRequest.system_instruction.parts is empty"
        )
    for place, part in enumerate(system.get("parts", [])):
        path = f"systemInstruction.parts[{place}]"
        if "text" not in part or len(part) != 1:
            found.add("system_not_text", path, "Only text is supported in system_instruction")
        elif not part["text"]:
            found.add("text_empty", path, "Unable to submit request because it has an empty text parameter.")


def _check_content(content: dict[str, Any], path: str, model: str, found: Findings) -> None:
    role = content.get("role", "user")
    if role not in _ROLES:
        found.add("role", f"{path}.role", "Please use a valid role: user, model.")
        return
    parts = content.get("parts", [])
    if not parts:
        found.add(
            "parts_empty", f"{path}.parts", f"* GenerateContentRequest.{path}.parts: contents.parts must not be empty."
        )
    answers = any("functionResponse" in part for part in parts)
    for number, part in enumerate(parts):
        place = f"{path}.parts[{number}]"
        _check_part(part, place, role, model, found)
        if answers and ("inlineData" in part or "fileData" in part):
            found.add("media_beside_response", place, "media of a function response belongs into its own parts")


def _check_part(part: dict[str, Any], path: str, role: str, model: str, found: Findings) -> None:
    given = [name for name in DATA if name in part]
    if not given:
        found.add(
            "part_empty",
            f"{path}.data",
            f"* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field",
        )
    elif len(given) > 1:
        found.add("part_twice", path, f"Invalid value at '{path}' (oneof), oneof field 'data' is already set.")
    # The last part of a stream may be a signature with an empty text, to be sent back as it came.
    if part.get("text") == "" and "thoughtSignature" not in part:
        found.add("text_empty", path, "Unable to submit request because it has an empty text parameter.")
    if "functionCall" in part:
        if role != "model":
            found.add("part_role", path, f"a functionCall can't be said by '{role}'")
        if not NAME.fullmatch(part["functionCall"].get("name", "")):
            found.add("call_name", f"{path}.functionCall.name", "Invalid function name.")
    if "functionResponse" in part:
        if role == "model":
            found.add("part_role", path, "a functionResponse can't be said by 'model'")
        _check_response(part["functionResponse"], f"{path}.functionResponse", model, found)
    if "inlineData" in part:
        _check_blob(part["inlineData"], f"{path}.inlineData", found)


def _check_response(response: dict[str, Any], path: str, model: str, found: Findings) -> None:
    if not response.get("name"):
        found.add("response_name", f"{path}.name", f"* GenerateContentRequest.{path}.name: Name cannot be empty.")
    if "response" not in response:
        found.add("response_missing", f"{path}.response", f"* GenerateContentRequest.{path}.response: is required")
    elif set(response["response"]) == {"$ref"}:
        found.add("response_reference", f"{path}.response", "`$ref` does not match to a display_name")
    parts = response.get("parts", [])
    if parts and not demands_signatures(model):
        found.add(
            "response_parts_unsupported",
            f"{path}.parts",
            "Unable to submit request because `function_response.parts` is not supported for this model.",
        )
    for number, part in enumerate(parts):
        place = f"{path}.parts[{number}]"
        blob = part.get("inlineData")
        if blob is None and "fileData" not in part:
            found.add("part_empty", place, f"* GenerateContentRequest.{place}.data: required oneof field 'data'")
        kind = (blob or part.get("fileData") or {}).get("mimeType", "")
        if kind not in _IN_RESPONSES:
            found.add(
                "response_parts_type", place, f"the mime_type: {kind} is not supported in `function_response.parts`"
            )
        if blob is not None and not _is_data(blob):
            found.add("media_data", f"{place}.inlineData.data", f"Invalid value at '{place}' (TYPE_BYTES)")


def _check_blob(blob: dict[str, Any], path: str, found: Findings) -> None:
    kind = blob.get("mimeType", "")
    if kind not in _IMAGES and kind not in _OTHERS and not kind.startswith(_FAMILIES):
        found.add("media_type", f"{path}.mimeType", f"Unsupported MIME type: {kind}")
    if not _is_data(blob):
        found.add("media_data", f"{path}.data", f"Invalid value at '{path}.data' (TYPE_BYTES), Base64 decoding failed")


def _is_data(blob: dict[str, Any]) -> bool:
    data = blob.get("data", "")
    try:
        return bool(base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True))
    except (binascii.Error, ValueError):
        return False
