"""T2: the one answer a call gets."""

from __future__ import annotations

import msgspec

from callslip.core.events.model_requested import VisibleTool
from callslip.core.hedging import Hedged
from callslip.core.instead import Fallback
from callslip.core.payload import Payload
from callslip.core.principal import Proof
from callslip.core.result import BlobRef, Effect, FieldError, Lane, Status


class FunctionResponse(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="function_response", tag_field="type"
):
    """A refused response answers a call that was never dispatched; a settled one names the dispatch it belongs to
    (``attempt``, ``nonce``) or the verdict it rests on (``resolved``, the position of a call_resolved).
    """

    call_id: str
    lane: Lane
    status: Status
    effect: Effect
    error_code: str | None = None
    error_message: str | None = None
    field_errors: tuple[FieldError, ...] = ()
    rules: tuple[str, ...] = ()
    """Of a refused call: which policy rules refused it."""
    retryable: bool = False
    summary: str = ""
    structured: Payload | None = None
    """The whole result as JSON, normalised."""
    shown: Payload | None = None
    """With ``truncated``: the text the model is shown instead, head and tail of the whole."""
    evidence: tuple[BlobRef, ...] = ()
    truncated: bool = False
    attempt: int | None = None
    nonce: str | None = None
    resolved: int | None = None
    duration_ms: int | None = None
    notes: tuple[str, ...] = ()
    """What was changed to give the result a JSON form, and how it departs from its schema; what a search lacks."""
    internal: str = ""
    """The full error, for the log only."""
    layer: str = ""
    """Where it failed, if ``error_code`` alone does not tell (``core/layers``): ``network``."""
    fallback: Fallback | None = None
    """Not the tool that was called has answered, or not now. A refused call may be answered so, too."""
    hedged: Hedged | None = None
    """The attempt was executed twice at once."""
    repeated: int = 0
    """How often the same call has given the same result in its turn, where that is worth saying."""
    same_as: str = ""
    """Of a call that is not made once more: the one that came to the same end last."""
    activated: tuple[VisibleTool, ...] = ()
    """Of a tool search: what it found and made visible from the next step of the turn on, best first."""
    from_user: bool = False
    """The result is the user's own words: their answer to a question."""
    proof: Proof | None = None
    """Of an answer from outside: whose it is."""
