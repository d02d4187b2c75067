"""What a write changed, as a unified diff that stays small."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_DIFF_CHARACTERS = 4_000
_MAX_COMPARED_LINES = 1_000
_CONTEXT = 3
_MAX_LINE = 300
_NO_LINE_FEED = "\n\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Lines added and removed, and the hunks of a unified diff without file names."""

    added: int
    removed: int
    text: str


def difference(old: str, new: str) -> Difference:
    """Compare by lines. Common heads and tails are set aside first; if more than 1,000 lines a side remain, they
    count as replaced as a whole, so that the time stays bounded. The text is cut in the middle when long.
    """
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    start = max(0, head - _CONTEXT)
    stop = max(0, tail - _CONTEXT)
    before, after = before[start : len(before) - stop], after[start : len(after) - stop]
    changes, added, removed = _changes(before, after, head - start, tail - stop)
    lines: list[str] = []
    for group in changes:
        lines += _hunk(group, before, after, start)
    return Difference(added=added, removed=removed, text=_bounded("\n".join(lines)))


def _lines(text: str) -> list[str]:
    """The lines; one that no line feed ends says so, as diff does, so that the line feed itself is a difference."""
    # Not splitlines(): lines are counted as read_file counts them.
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += _NO_LINE_FEED
    else:
        lines.pop()
    return lines


_Change = tuple[str, int, int, int, int]
"""What, and from where to where in the old and in the new lines."""


def _changes(before: list[str], after: list[str], head: int, tail: int) -> tuple[list[list[_Change]], int, int]:
    if max(len(before), len(after)) <= _MAX_COMPARED_LINES:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        groups = [list(group) for group in matcher.get_grouped_opcodes(_CONTEXT)] if codes else []
        return (
            groups,
            sum(code[4] - code[3] for code in codes),
            sum(code[2] - code[1] for code in codes),
        )
    ends = (len(before) - tail, len(after) - tail)
    return (
        [
            [
                ("equal", 0, head, 0, head),
                ("replace", head, ends[0], head, ends[1]),
                ("equal", ends[0], len(before), ends[1], len(after)),
            ]
        ],
        ends[1] - head,
        ends[0] - head,
    )


def _hunk(group: list[_Change], before: list[str], after: list[str], shift: int) -> list[str]:
    first, last = group[0], group[-1]
    lines = [f"@@ -{first[1] + shift + 1},{last[2] - first[1]} +{first[3] + shift + 1},{last[4] - first[3]} @@"]
    for kind, old_start, old_end, new_start, new_end in group:
        if kind == "equal":
            lines += [" " + _short(line) for line in before[old_start:old_end]]
            continue
        lines += ["-" + _short(line) for line in before[old_start:old_end]]
        lines += ["+" + _short(line) for line in after[new_start:new_end]]
    return lines


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _short(line: str) -> str:
    text, marker, _ = line.partition(_NO_LINE_FEED)
    if len(text) > _MAX_LINE:
        text = f"{text[:_MAX_LINE]}… ({len(text):,} characters)"
    return text + marker


def _bounded(text: str) -> str:
    if len(text) <= MAX_DIFF_CHARACTERS:
        return text
    half = MAX_DIFF_CHARACTERS // 2
    head, tail = text[:half].rpartition("\n")[0], text[-half:].partition("\n")[2]
    shown = len(head) + len(tail)
    return f"{head}\n… {shown:,} of {len(text):,} characters of the diff are shown …\n{tail}"
