"""A request's bytes as the JSON object they must be."""

from __future__ import annotations

import json
from typing import Any

from callslip.testing.contract.violation import Violation

_SOURCE = "github.com/openai/openai-python/issues/257"


class NotAcceptable(Exception):
    """The body is no JSON object in UTF-8."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


def read_body(raw: bytes) -> dict[str, Any]:
    """The object.

    Raises:
        NotAcceptable: it is none: bytes that are no UTF-8, a word that JSON does not have, a key twice, no object.
    """
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError) as error:
        raise _refused(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(body, dict):
        raise _refused("The JSON body of your request is not an object.")
    return body


def _refused(message: str) -> NotAcceptable:
    return NotAcceptable(Violation(rule="not_json", message=message, path="", source=_SOURCE))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has a key twice")
    return made
