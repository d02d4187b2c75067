"""The tool ``edit_file``: one passage replaced by another, exactly, with evidence for recovery (SAND-06)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool
from callslip.workspace.access import Workspace
from callslip.workspace.cancelled import stop_if_cancelled
from callslip.workspace.content import WholeText, decode_whole, digest_bytes, encode_text, read_whole
from callslip.workspace.difference import difference
from callslip.workspace.evidence import digest_target
from callslip.workspace.exact_replace import Passage, exact_replace
from callslip.workspace.os_fault import os_fault
from callslip.workspace.path_argument import shown
from callslip.workspace.place import Place, changed_meanwhile, find_place
from callslip.workspace.put import put
from callslip.workspace.seen import Seen

MAX_EDITED_BYTES = 10 * 1024 * 1024


def edit_file_tool(workspace: Workspace) -> Tool:
    """Build the tool. Its result: ``path, replaced`` (places), ``lines_added, lines_removed, diff, size`` (bytes),
    ``sha256``.
    """
    seen = Seen()

    def prepare(path: str, old: str, new: str, count: int = 1, replace_all: bool = False) -> Evidence:
        with find_place(workspace, path) as place:
            edit = _edit(place, Passage(old=old, new=new, count=count, replace_all=replace_all), path)
        seen.remember((path, old, new, count, replace_all), edit.before)
        return Evidence(target=path, before=edit.before, after=digest_bytes(edit.data))

    @tool(
        when_not="To create a file or replace all of it use write_file.",
        category="workspace",
        tags=("files",),
        risk=Risk.WRITE,
        recovery=Recovery.EVIDENCE,
        local_effect=True,
        claims=("file:{path}",),
        identity_arguments=("path",),
        prepare=prepare,
        digest=lambda target: digest_target(workspace, target),
    )
    def edit_file(
        context: Context,
        *,
        path: str,
        old: str,
        new: str,
        count: Annotated[int, Field(ge=1)] = 1,
        replace_all: bool = False,
    ) -> dict[str, Any]:
        """Replace a passage of a text file by another, exactly as given.

        The passage must occur as often as count says, else nothing is changed and the answer says where it occurs.
        Line ends (CRLF too) and a byte order mark are kept; up to 10 MB.

        Args:
            context: What the runtime gives; no argument of the call.
            path: The file, relative to the workspace, such as src/main.py.
            old: The passage to replace, copied from the file with its spaces and line breaks; take enough lines
                that it occurs only once.
            new: What stands there afterwards; empty to delete the passage.
            count: How often old occurs; all of these places are replaced.
            replace_all: Replace it wherever it occurs, however often.
        """
        passage = Passage(old=old, new=new, count=count, replace_all=replace_all)
        with find_place(workspace, path) as place:
            edit = _edit(place, passage, path)
            if seen.differs((path, old, new, count, replace_all), edit.before):
                raise changed_meanwhile(path)
            result = _result(place, edit)
            put(place, edit.data, before=edit.before, path=path, stop=lambda: stop_if_cancelled(context))
            return result

    return edit_file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """A replacement in memory."""

    before: str
    """The digest of the bytes it was computed from."""
    data: bytes
    """The file's new bytes."""
    old: str
    new: str
    replaced: int


def _edit(place: Place, passage: Passage, path: str) -> _Edit:
    if place.current is None:
        raise ToolFailed(
            f"{shown(path)} doesn't exist. Nothing was changed. Use write_file to create it.",
            code="not_found",
            not_found=True,
        )
    encode_text(passage.old, "'old'")
    encode_text(passage.new, "'new'")
    try:
        data = read_whole(place.current, MAX_EDITED_BYTES, path)
    except OSError as error:
        raise os_fault(error, path) from error
    whole = decode_whole(data, path)
    text, replaced = exact_replace(whole.text, passage, path)
    edited = WholeText(text=text, has_mark=whole.has_mark).encode()
    if len(edited) > MAX_EDITED_BYTES:
        raise ToolFailed(
            f"{shown(path)} would be {len(edited):,} bytes, and {MAX_EDITED_BYTES:,} is the most. Nothing was changed.",
            code="too_large",
        )
    return _Edit(before=digest_bytes(data), data=edited, old=whole.text, new=text, replaced=replaced)


def _result(place: Place, edit: _Edit) -> dict[str, Any]:
    compared = difference(edit.old, edit.new)
    return {
        "path": place.path,
        "replaced": edit.replaced,
        "lines_added": compared.added,
        "lines_removed": compared.removed,
        "diff": compared.text,
        "size": len(edit.data),
        "sha256": digest_bytes(edit.data),
    }
