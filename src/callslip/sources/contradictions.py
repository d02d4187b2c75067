"""Where a declaration contradicts itself: said when the tool is made, not when it is called (SPEC-01)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callslip.core import hedging
from callslip.core.declared import complaint as declared_complaint
from callslip.core.tool import Recovery, Risk, ToolSpec
from callslip.sources import declaring, versions


def check(spec: ToolSpec, own: Mapping[str, Any]) -> None:
    """Refuse what can't be meant. ``own``: what was declared besides the spec, by name.

    Raises:
        ToolDefinitionError: what contradicts what, in a sentence.
    """
    wrong = declared_complaint(spec)
    complaint = None if wrong is None else wrong.said
    if complaint is None and spec.recovery is Recovery.PROBE and not own.get("probe") and not spec.client_owned:
        complaint = "recovery='probe' needs a probe function"
    if complaint is None and spec.recovery is Recovery.EVIDENCE and not (own.get("prepare") and own.get("digest")):
        complaint = "recovery='evidence' needs a prepare and a digest function"
    if complaint is None:
        complaint = _job_complaint(spec, own)
    if complaint is None and own.get("compensate_with") and spec.compensation is None:
        complaint = "compensate_with needs a compensation"
    if complaint is None and spec.cached_fallback_ms is not None:
        complaint = _cache_complaint(spec)
    if complaint is None:
        complaint = hedging.complaint(spec)
    if complaint is None and spec.asks_user and not spec.client_owned:
        complaint = "asks_user needs client_owned: the user answers, and nothing runs here"
    if complaint is None and (spec.versioned or spec.expects):
        complaint = versions.complaint(own.get("version"), spec)
    if complaint:
        misnamed = wrong is not None and wrong.field == "name"
        raise declaring.refused(repr(spec.name) if misnamed else spec.name, complaint)


def _cache_complaint(spec: ToolSpec) -> str | None:
    if spec.risk is not Risk.READ or spec.client_owned or spec.background:
        return "cached_fallback is for tools that only read, and run here"
    return None if (spec.cached_fallback_ms or 0) > 0 else "cached_fallback must be positive"


def _job_complaint(spec: ToolSpec, own: Mapping[str, Any]) -> str | None:
    limit = spec.background_timeout_ms
    if not spec.background:
        declared = own.get("cancel") is not None or limit is not None
        return "cancel and background_timeout are for jobs, so they need a poll function" if declared else None
    if spec.client_owned or spec.recovery is Recovery.EVIDENCE:
        return "a job is started here, and evidence can't tell whether it was"
    if spec.poll_after_ms <= 0 or (limit is not None and limit <= 0):
        return "poll_after and background_timeout must be positive"
    return None
