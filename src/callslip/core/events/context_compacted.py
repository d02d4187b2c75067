"""The conversation was summed up."""

from __future__ import annotations

import msgspec

from callslip.core.payload import Payload


class ContextCompacted(msgspec.Struct, frozen=True, kw_only=True, tag="context_compacted", tag_field="type"):
    """From here on the model is shown the summary in the place of what came before. The facts stay where they are: this
    is a view, and a reader may leave it out (STAT-06). Calls and their results are kept or left out together.
    """

    summary: Payload
    """A JSON string."""
    keep: int = 0
    """How many of the latest parts of the conversation (words of the user; replies with their calls and results) are
    still shown as they were."""
