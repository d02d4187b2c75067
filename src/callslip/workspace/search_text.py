"""The tool ``search_text``: lines that match a regular expression, in linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import re2  # type: ignore[import-untyped]  # it ships no types
from pydantic import Field

from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool
from callslip.workspace.access import Workspace
from callslip.workspace.cancelled import stop_if_cancelled
from callslip.workspace.content import read_whole
from callslip.workspace.file_pattern import file_pattern
from callslip.workspace.opened import Opened
from callslip.workspace.walk import Walk

MAX_FILE_BYTES = 5 * 1024 * 1024
"""Larger files are skipped, and counted as such."""
MAX_TOTAL_BYTES = 256 * 1024 * 1024
"""How much one call reads."""
MAX_EXPRESSION = 1_000
SPARE_SECONDS = 1.0
"""It stops this long before the deadline, so that what was found is still given."""
_SHOWN_LINE = 300
_BINARY_SAMPLE = 8_192


def search_text_tool(workspace: Workspace) -> Tool:
    """Build the tool. Its result: ``matches`` (each ``path, line`` from 1, ``text``), ``files_searched, truncated``,
    and where there is something to say ``skipped`` (counts by reason) and ``note``.
    """

    @tool(
        when_not="To read a file you know use read_file; to find files by name use list_files.",
        category="workspace",
        tags=("files",),
        risk=Risk.READ,
        recovery=Recovery.IDEMPOTENT,
        local_effect=True,
        claims=("read tree:{path}",),
    )
    def search_text(
        context: Context,
        *,
        pattern: str,
        path: str = ".",
        glob: str = "**",
        ignore_case: bool = False,
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
    ) -> dict[str, Any]:
        r"""Find lines that match a regular expression, in one file or in all files beneath a directory.

        RE2 syntax: no look-around and no back-references. A match never spans lines. Binary files, files larger
        than 5 MB, links, .git and what may not be read are skipped and counted.

        Args:
            context: What the runtime gives; no argument of the call.
            pattern: The regular expression, such as def \w+_tool. To find special characters themselves escape
                them with a backslash.
            path: The file or directory to search, relative to the workspace.
            glob: Which files, such as *.py or src/**/*.ts, relative to the directory.
            ignore_case: Whether upper and lower case letters are alike.
            limit: How many lines to give at most.
        """
        search = _Search(workspace, _compile(pattern, ignore_case=ignore_case), limit, context)
        wanted = file_pattern(glob)
        start = _directory_or_none(workspace, path)
        if start is None:
            with workspace.file(path) as opened:
                search.look_into(opened)
            return search.result()
        with start:
            walk = Walk(workspace, start)
            prefix = "" if start.path == "." else start.path + "/"
            for entry in walk:
                if search.must_stop():
                    break
                if entry.kind == "file" and wanted(entry.path.removeprefix(prefix)):
                    search.open_and_look(entry.path)
        if walk.cut and not search.note:
            search.note = "The directory holds too many files to look at them all. Narrow path."
        search.skipped.update(walk.skipped)
        return search.result()

    return search_text


class _Search:
    """One search under way: what was found, what was left out, and why it ended early."""

    def __init__(self, workspace: Workspace, expression: Any, limit: int, context: Context) -> None:
        self.skipped: Counter[str] = Counter()
        self.note = ""
        self._workspace = workspace
        self._expression = expression
        self._limit = limit
        self._context = context
        self._matches: list[dict[str, Any]] = []
        self._searched = 0
        self._bytes = 0

    def must_stop(self) -> bool:
        """Whether a bound was reached; ``note`` then says which."""
        stop_if_cancelled(self._context)
        if self.note:
            return True
        if self._bytes >= MAX_TOTAL_BYTES:
            self.note = f"Stopped after reading {self._bytes:,} bytes. Narrow path or glob."
        elif self._context.remaining() < SPARE_SECONDS:
            self.note = "Stopped because the time was used up. Narrow path or glob."
        return bool(self.note)

    def open_and_look(self, path: str) -> None:
        try:
            with self._workspace.file(path, symlinks=False) as opened:
                self.look_into(opened)
        except ToolFailed:
            # Removed, closed or swapped since its directory was read. Cancelling is told apart in must_stop.
            self.skipped["unreadable"] += 1

    def look_into(self, opened: Opened) -> None:
        if opened.status.st_size > MAX_FILE_BYTES:
            self.skipped["too_large"] += 1
            return
        try:
            data = read_whole(opened, MAX_FILE_BYTES, opened.path)
        except OSError:
            self.skipped["unreadable"] += 1
            return
        self._bytes += len(data)
        if b"\0" in data[:_BINARY_SAMPLE]:
            self.skipped["binary"] += 1
            return
        self._searched += 1
        for line, start, end, at in _matching_lines(self._expression, data):
            if len(self._matches) == self._limit:
                self.note = f"Only the first {self._limit:,} lines are shown. Narrow pattern, path or glob."
                return
            text = _excerpt(data, start, end, at)
            self._matches.append({"path": opened.path, "line": line, "text": text})

    def result(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "matches": self._matches,
            "files_searched": self._searched,
            "truncated": bool(self.note),
        }
        if self.skipped:
            result["skipped"] = dict(self.skipped)
        if self.note:
            result["note"] = self.note
        return result


def _compile(pattern: str, *, ignore_case: bool) -> Any:
    if not pattern or len(pattern) > MAX_EXPRESSION:
        raise ToolFailed(f"A pattern has 1 to {MAX_EXPRESSION:,} characters. Nothing was searched.", code="bad_pattern")
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(f"(?m){pattern}", options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if isinstance(error, re2.error) else "half a surrogate pair"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ToolFailed(
            f"The pattern can't be used: {reason}. Nothing was searched. RE2 knows no look-around and no"
            " back-references; escape special characters with a backslash.",
            code="bad_pattern",
        ) from error


def _matching_lines(expression: Any, data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """For each line that matches: its number from 1, where it starts and ends, and where its first match is."""
    position, number, counted = 0, 1, 0
    while position < len(data) and (match := expression.search(data, position)) is not None:
        at = match.start()
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if start >= len(data):  # an empty match after the last line end: there is no line
            return
        number += data.count(b"\n", counted, start)
        counted = start
        yield number, start, end, at
        position = end + 1


def _excerpt(data: bytes, start: int, end: int, at: int) -> str:
    """The line, or the part around the match if it is long."""
    if end - start <= _SHOWN_LINE:
        return data[start:end].decode(errors="replace").rstrip("\r")
    first = max(start, min(at - _SHOWN_LINE // 3, end - _SHOWN_LINE))
    piece = data[first : first + _SHOWN_LINE].decode(errors="ignore")
    return f"{'…' if first > start else ''}{piece}{'…' if first + _SHOWN_LINE < end else ''}"


def _directory_or_none(workspace: Workspace, path: str) -> Opened | None:
    try:
        return workspace.directory(path)
    except ToolFailed as error:
        if error.tool_code == "not_a_directory":
            return None
        raise
