"""OpenAI's error bodies, which Chat Completions and Responses share.

OpenAI docs, "Error codes", and the bodies quoted in public issues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callslip.testing.contract.violation import Violation

_KINDS = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_RULE_CODES = {
    "encrypted_content": "invalid_encrypted_content",
    "previous_response_unknown": "previous_response_not_found",
}
_SAID_CODES = {
    "string too long": "string_above_max_length",
    "array too long": "array_above_max_length",
    "Missing required parameter": "missing_required_parameter",
    "Unknown parameter": "unknown_parameter",
    "Unsupported parameter": "unsupported_parameter",
    "Invalid value": "invalid_value",
    "Expected an ID": "invalid_value",
    "Invalid type": "invalid_type",
    "Invalid schema": "invalid_function_parameters",
}
"""Codes by the words that the vendor's messages of that code have."""
_STATUSES = {"not_persisted": 404}


def refusal(violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
    """The first violation, as the vendor names only one."""
    first = violations[0]
    said = next((code for words, code in _SAID_CODES.items() if words in first.message), None)
    return _STATUSES.get(first.rule, 400), {
        "error": {
            "message": first.message,
            "type": "invalid_request_error",
            "param": first.path or None,
            "code": _RULE_CODES.get(first.rule, said),
        }
    }


def error(status: int, message: str, *, kind: str = "") -> dict[str, Any]:
    return {
        "error": {
            "message": message,
            "type": kind or _KINDS.get(status, "server_error"),
            "param": None,
            "code": _CODES.get(status),
        }
    }
