"""Images and documents among results: which of them the model is shown, and what it is told of the others (RSLT-04).

The newest come first, since providers limit the size of a request; what is left out is named in its result's text.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callslip.core.events.function_response import FunctionResponse
from callslip.core.media import BYTES, IMAGES, PDF, media_type_of
from callslip.core.message import Attachment, Message, ResultMessage, ToolResults
from callslip.core.shown import visible
from callslip.errors import LogBroken, NotFound
from callslip.ports.blobs import Blobs

LARGEST = 3_750_000
"""Bytes of one: 5 MB as base64, Anthropic's limit of an image (Anthropic docs, Vision > Evaluate image size)."""
MOST_BYTES = 14_000_000
"""Of all of one request: Gemini's inline data may make 20 MB with everything else (Gemini API docs, Image
understanding)."""
MOST = 50
"""Of one request."""
_SHOWN = IMAGES | {PDF}
_LONGEST_NAME = 200
_BRACKETS = str.maketrans("[]", "()")


async def attachments(blobs: Blobs, response: FunctionResponse) -> tuple[tuple[Attachment, ...], list[str]]:
    """What came of a call beside text, and a line of text about each; ``fit`` decides later which there is room for."""
    found: list[Attachment] = []
    lines: list[str] = []
    for reference in response.evidence:
        if reference.media_type not in _SHOWN:
            continue
        name = _named(reference.name)
        if reference.size > LARGEST:
            lines.append(_line(name, reference.media_type, reference.size, "too large to be shown"))
            continue
        try:
            data = await blobs.get(reference.address)
        except (NotFound, LogBroken):  # erased, or gone: the rest of the result is still true
            lines.append(_line(name, reference.media_type, reference.size, "no longer there"))
            continue
        media_type = media_type_of(data)
        if media_type == BYTES:
            lines.append(_line(name, reference.media_type, len(data), "not shown: it is none"))
            continue
        found.append(Attachment(name=name, media_type=media_type, data=data))
        lines.append(_line(name, media_type, len(data), ""))
    return tuple(found), lines


def fit(messages: Sequence[Message]) -> list[Message]:
    """The messages with no more attachments than a request may hold, the newest ones; what is left out is said."""
    room, count = MOST_BYTES, MOST
    made: list[Message] = []
    for message in reversed(messages):
        if isinstance(message, ToolResults) and any(one.attachments for one in message.results):
            results: list[ResultMessage] = []
            for result in reversed(message.results):
                kept: list[Attachment] = []
                for one in reversed(result.attachments):
                    if count and len(one.data) <= room:
                        room, count = room - len(one.data), count - 1
                        kept.append(one)
                results.append(_with(result, tuple(reversed(kept))))
            made.append(ToolResults(results=tuple(reversed(results))))
        else:
            made.append(message)
    made.reverse()
    return made


def _with(result: ResultMessage, kept: tuple[Attachment, ...]) -> ResultMessage:
    left_out = len(result.attachments) - len(kept)
    if not left_out:
        return result
    told = f"[{left_out} of these {len(result.attachments)} are not shown any more: there is no room]"
    return msgspec.structs.replace(result, content=f"{result.content}\n{told}", attachments=kept)


def _named(name: str) -> str:
    """The tool's name for it, on one line and within the brackets it is told in: some providers are sent that line as
    the user's.
    """
    return visible(name[:_LONGEST_NAME]).translate(_BRACKETS)


def _line(name: str, media_type: str, size: int, what: str) -> str:
    said = f"{name or 'attachment'} ({media_type}, {size:,} bytes)"
    return f"[{said}{': ' + what if what else ''}]"
