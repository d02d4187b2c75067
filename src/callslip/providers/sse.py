"""Server-sent events, read from bytes as they come.

The format is the WHATWG HTML standard's, section "Server-sent events": lines end with CR, LF or CRLF, a blank
line ends an event, ``data`` lines are joined with LF, a line that starts with a colon is a comment. One liberty: an
event that lacks its blank line when the stream ends is given, marked ``unfinished``, because several servers leave
out the last one. Time is linear in the bytes, however they are cut into pieces.
"""

from __future__ import annotations

import msgspec

_BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event. ``name`` is "message" unless the server gave another."""

    data: str
    name: str = "message"
    unfinished: bool = False
    """The stream ended inside this event: its data may have been cut anywhere."""


class EventReader:
    """Feed it bytes; it gives back the events that are whole."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[str] = []
        self._name = ""
        self._started = False
        self._after_return = False

    def feed(self, piece: bytes) -> list[Event]:
        """The events completed by this piece."""
        if self._after_return and piece:
            # The line break was a CRLF cut in two: the LF belongs to the line that the CR already ended.
            self._after_return = False
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r") or (self._after_return and not piece)
        *ended, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[Event] = []
        for line in ended:
            self._line.append(line)
            whole = b"".join(self._line)
            self._line.clear()
            event = self._take(whole)
            if event is not None:
                events.append(event)
        if rest:
            self._line.append(rest)
        return events

    def end(self) -> Event | None:
        """What was left of an event when the stream ended."""
        last = b"".join(self._line)
        self._line.clear()
        if last:
            self._take(last)
        return self._dispatch(unfinished=True)

    def _take(self, line: bytes) -> Event | None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch(unfinished=False)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value.decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _dispatch(self, *, unfinished: bool) -> Event | None:
        data, name = self._data, self._name or "message"
        self._data, self._name = [], ""
        return Event(data="\n".join(data), name=name, unfinished=unfinished) if data else None
