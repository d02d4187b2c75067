"""A request to the model got no reply, and is made again."""

from __future__ import annotations

import msgspec


class ModelFailed(msgspec.Struct, frozen=True, kw_only=True, tag="model_failed", tag_field="type"):
    """Nothing came of the request: what was shown of a reply that streamed is void. The last of several failures is
    no such event: it ends the run.
    """

    step: str
    """The step it would have been."""
    attempt: int
    """How often the model was asked for it."""
    model: str
    code: str
    message: str
    retry_at: int
    """Before when it is not asked again, in milliseconds since 1970."""
