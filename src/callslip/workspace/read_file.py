"""The tool ``read_file``: a text file of any size, in pages."""

from __future__ import annotations

import codecs
from typing import Annotated, Any

from pydantic import Field

from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool
from callslip.workspace.access import Workspace
from callslip.workspace.cancelled import stop_if_cancelled
from callslip.workspace.os_fault import os_fault
from callslip.workspace.page import PAGE_BYTES, Page, read_page
from callslip.workspace.path_argument import shown
from callslip.workspace.search_text import MAX_FILE_BYTES

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_file_tool(workspace: Workspace) -> Tool:
    """Build the tool. Its result: ``path, text, encoding, line_ends, first_line`` (from 1), ``lines, lines_total,
    size`` (bytes), ``sha256, truncated`` and, if truncated, ``next_offset`` and perhaps ``note``.
    """

    @tool(
        when_not="To find something in many files use search_text; to see what files there are use list_files.",
        category="workspace",
        tags=("files",),
        risk=Risk.READ,
        recovery=Recovery.IDEMPOTENT,
        local_effect=True,
        claims=("read file:{path}",),
    )
    def read_file(
        context: Context,
        *,
        path: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=10_000)] = 2_000,
    ) -> dict[str, Any]:
        """Read a text file of the workspace, by pages of lines.

        Lines come as they are, without numbers; where all lines end in CRLF they are shown with a plain line end,
        and line_ends says so. A page has at most 256 KB. To go on, call again with offset = next_offset.

        Args:
            context: What the runtime gives; no argument of the call.
            path: The file, relative to the workspace, such as src/main.py.
            offset: How many lines to skip.
            limit: How many lines to give at most.
        """
        with workspace.file(path) as opened:
            try:
                page = read_page(opened, offset, limit, path, lambda: stop_if_cancelled(context))
            except OSError as error:
                raise os_fault(error, path) from error
            return _result(opened.path, opened.status.st_size, page, offset, path)

    return read_file


def _result(real: str, size: int, page: Page, offset: int, path: str) -> dict[str, Any]:
    if page.data.startswith(_UTF16) and offset == 0:
        raise ToolFailed(
            f"{shown(path)} is UTF-16 text, and only UTF-8 can be read. Nothing was changed. Ask the user to convert"
            " it.",
            code="not_text",
        )
    if b"\0" in page.data:
        raise ToolFailed(
            f"{shown(path)} is binary: NUL bytes after line {offset + 1:,} ({size:,} bytes in all). Nothing was"
            " changed. Only text can be read.",
            code="not_text",
        )
    text, encoding = _decode(page.data, first=offset == 0)
    text, line_ends = _line_ends(text)
    following = offset + page.lines
    truncated = page.line_cut or page.lines_total is None or following < page.lines_total
    result: dict[str, Any] = {
        "path": real,
        "text": text,
        "encoding": encoding,
        "line_ends": line_ends,
        "first_line": offset + 1,
        "lines": page.lines,
        "lines_total": page.lines_total,
        "size": size,
        "sha256": page.sha256,
        "truncated": truncated,
    }
    if truncated and following != page.lines_total:
        result["next_offset"] = following
    if page.line_cut:
        result["note"] = f"Line {offset + 1:,} is longer than {PAGE_BYTES:,} bytes; its beginning is shown." + (
            " search_text shows the part around a match." if size <= MAX_FILE_BYTES else ""
        )
    return result


def _decode(data: bytes, *, first: bool) -> tuple[str, str]:
    marked = first and data.startswith(codecs.BOM_UTF8)
    body = data.removeprefix(codecs.BOM_UTF8) if marked else data
    text = body.decode(errors="replace")
    replaced = text.count("\ufffd") - body.count("\ufffd".encode())
    if replaced:
        return text, f"not utf-8, {replaced} invalid {'sequence' if replaced == 1 else 'sequences'} replaced by \ufffd"
    return text, "utf-8 with byte order mark" if marked else "utf-8"


def _line_ends(text: str) -> tuple[str, str]:
    windows = text.count("\r\n")
    if not windows:
        return text, "lf"
    if windows == text.count("\n"):
        return text.replace("\r\n", "\n"), "crlf"
    return text, "mixed"
