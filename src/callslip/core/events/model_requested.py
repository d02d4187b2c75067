"""A step began: the model was asked, and this is what it was shown."""

from __future__ import annotations

import msgspec


class VisibleTool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str


class ModelRequested(msgspec.Struct, frozen=True, kw_only=True, tag="model_requested", tag_field="type"):
    """Committed together with the reply, so that a request without an answer leaves no trace and is simply made
    again. A dispatcher's step has the model ``caller``.
    """

    step: str
    turn: int
    model: str
    visible: tuple[VisibleTool, ...] | None = None
    """The step's visible set, for ever; ``None``: the same as the step before."""
    consumed: tuple[int, ...] = ()
    """Positions of the user messages that this request was the first to show."""
    preselected: tuple[str, ...] = ()
    """Those of ``visible`` that were made so for this request because they fit what was said, best first."""
