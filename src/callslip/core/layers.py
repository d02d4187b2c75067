"""Where an error comes from (OBSV-03): one of seven layers, by its code. Pure.

=============  =====================================================================================================
``model``      the model asked for what there is not
``protocol``   what came is not in the form that was agreed: a call's text, a reply that was cut
``validation`` the form is right, and what it says can't be done
``policy``     it may not be: rules, people, keys
``runtime``    Callslip itself: a stop, a crash, a limit of its own
``tool``       the tool's own code, and all codes that tools make up themselves
``network``    between us and a service
=============  =====================================================================================================

Where the same code may come from two places (``unavailable``), the event says which, and :func:`of_response` and
:func:`of_attempt` go by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.result import Status
from callslip.errors import CallslipError, Layer

LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)

CODES: Final[Mapping[Layer, tuple[str, ...]]] = {
    "model": ("unknown_tool", "not_shown", "loop"),
    "protocol": (
        "truncated", "concatenated", "trailing_text", "duplicate_key", "key_collision", "not_finite",
        "number_overflow", "integer_too_long", "leading_zero", "invalid_escape", "control_character", "not_object",
        "too_deep", "not_json", "syntax",
    ),
    "validation": ("invalid_arguments", "business_rule", "call_first", "unknown_secret"),
    "policy": (
        "not_callable_from", "policy_denied", "policy_error", "revert_unproven", "requester_refused",
        "approval_denied", "approval_expired", "approval_void", "verdict_refused",
    ),
    "runtime": (
        "tool_gone", "breaker_open", "cancelled", "turn_timeout", "interrupted", "abandoned", "unknown_outcome",
        "still_running", "no_marker", "did_not_happen", "budget_spent",
    ),
    "tool": (
        "rule_failed", "prepare_failed", "version_failed", "version_conflict",
        "timeout", "tool_exception", "unavailable", "tool_failed",
        "attempts_exhausted", "client_failed", "result_unusable", "handle_unusable", "probe_failed",
        "evidence_differs", "job_overdue", "process_died", "process_failed", "result_too_large",
        # the workspace's tools
        "not_found", "bad_path", "outside_root", "forbidden_path", "link_refused", "hard_link", "not_a_file",
        "not_a_directory", "not_text", "not_permitted", "read_only", "no_space", "too_large", "no_such_line",
        "no_match", "ambiguous_match", "bad_edit", "bad_text", "bad_pattern", "exists", "changed_meanwhile",
        "not_durable", "workspace",
    ),
    "network": (),
}  # fmt: skip
"""Every code of docs/reference/codes.md that says why something failed. ``network`` is said by events alone."""

_BY_CODE: Final[dict[str, Layer]] = {code: layer for layer, codes in CODES.items() for code in codes}


def of_code(code: str) -> Layer:
    """The layer of a call's code. A code that is not ours was made up by a tool."""
    return _BY_CODE.get(code, "tool")


def of_response(response: FunctionResponse) -> Layer | None:
    """Where it was decided that the call fails; ``None``: it did not fail."""
    if response.status is Status.SUCCESS:
        return None
    return _said(response.layer) or of_code(response.error_code or "")


def of_attempt(failed: AttemptFailed) -> Layer:
    """Where the attempt failed."""
    if _said(failed.layer) == "network":
        return "network"
    return of_code(failed.code)


def of_error(code: str) -> Layer:
    """The layer of an error of the library, which has codes of its own."""
    known: list[type[CallslipError]] = [CallslipError]
    for one in known:
        known += one.__subclasses__()
    return next((one.layer for one in known if one.code == code), "runtime")


def _said(layer: str) -> Layer | None:
    return next((one for one in LAYERS if one == layer), None)
