"""The answer inside an envelope while it comes, as a person may read it: unescaped, without the JSON around it.

Thoughts, calls and whatever looks odd are not shown. The reply itself is read once it is whole; of one that never
became whole, this is also what the history keeps.
"""

from __future__ import annotations

import json
import re
from typing import Literal

from callslip.core import canon
from callslip.providers.constrained_envelope import ANSWER, MEANT, NONE_FITS, REPLY, THOUGHT_BEGINS, THOUGHT_ENDS
from callslip.providers.loose import join_text

_OPENING = re.compile(rf'(?:```[a-zA-Z]*\s*)?\{{\s*(?:"{REPLY}"\s*:\s*\{{\s*)?"(?:{ANSWER}|{NONE_FITS})"\s*:\s*"')
_LONGEST_OPENING = 200
_UNDECIDED = re.compile(r"`{0,2}|```[a-zA-Z]*\s*|\[\s*|<|<t|<th|<thi|<thin|<think")
"""What may still become an envelope, or thoughts before one."""
_PIECE = re.compile(r'[^"\\]+|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|"')
_ESCAPE = len("\\u0000")


class AnswerText:
    """Add the text as it comes; what of it is the answer's comes back."""

    def __init__(self) -> None:
        self._state: Literal["opening", "thoughts", "answer", "plain", "over"] = "opening"
        self._held = ""

    def add(self, text: str) -> str:
        if self._state == "plain":
            return text
        if self._state == "over":
            return ""
        self._held += text
        if self._state == "opening":
            return self._open()
        return self._think() if self._state == "thoughts" else self._take()

    def _open(self) -> str:
        self._held = self._held.lstrip()
        if self._held.startswith(THOUGHT_BEGINS):
            self._state = "thoughts"
            return self._think()
        opening = _OPENING.match(self._held)
        if opening:
            self._state = "answer"
            self._held = self._held[opening.end() :]
            return self._take()
        too_long = len(self._held) > _LONGEST_OPENING
        if MEANT.match(self._held):
            self._state = "over" if too_long else "opening"
            return ""
        if _UNDECIDED.fullmatch(self._held) and not too_long:
            return ""
        self._state = "plain"
        return self._held

    def _think(self) -> str:
        end = self._held.find(THOUGHT_ENDS)
        if end < 0:
            self._held = self._held[1 - len(THOUGHT_ENDS) :]
            return ""
        self._held = self._held[end + len(THOUGHT_ENDS) :]
        self._state = "opening"
        return self._open()

    def _take(self) -> str:
        """All whole characters that are there; half an escape waits for its other half."""
        shown: list[str] = []
        place = 0
        while place < len(self._held):
            piece = _PIECE.match(self._held, place)
            if piece is None:
                if len(self._held) - place >= _ESCAPE:
                    self._state = "over"
                break
            if piece.group() == '"':
                self._state = "over"
                break
            if _is_half(piece.group()) and len(self._held) < piece.end() + _ESCAPE:
                break
            shown.append(json.loads(f'"{piece.group()}"', strict=False) if piece.group()[0] == "\\" else piece.group())
            place = piece.end()
        self._held = self._held[place:]
        return canon.scrub(join_text(shown))


def _is_half(piece: str) -> bool:
    """Whether a surrogate begins here whose other half comes with the next escape."""
    return re.match(r"\\u[dD][89abAB]", piece) is not None
