"""Sentences of others, put before our own. Pure."""

from __future__ import annotations

_ENDS = (".", "!", "?", "…", ":", ";", "。", "！", "？")
_AFTER = "\"'”’»)]*`"
"""What may stand after the end of a sentence."""


def sentence(text: str) -> str:
    """The text with an end, so that another one can follow."""
    text = text.rstrip()
    return text if not text or text.rstrip(_AFTER).endswith(_ENDS) else f"{text}."
