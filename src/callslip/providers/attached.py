"""Images and documents of results, as most providers take them: base64, with their media type."""

from __future__ import annotations

import base64

from callslip.core.message import Attachment


def base64_of(attachment: Attachment) -> str:
    return base64.b64encode(attachment.data).decode("ascii")


def data_url(attachment: Attachment) -> str:
    """RFC 2397."""
    return f"data:{attachment.media_type};base64,{base64_of(attachment)}"


def introduced(attachment: Attachment, tool: str) -> str:
    """The line before an attachment that can't stand in its result: whose it is, and that no user sent it."""
    name = f" {attachment.name}" if attachment.name else ""
    return f"[From the result of {tool}, not from the user:{name} ({attachment.media_type})]"
