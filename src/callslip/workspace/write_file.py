"""The tool ``write_file``: a whole file, in one step, with evidence for recovery (SAND-06)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool
from callslip.workspace.access import Workspace
from callslip.workspace.cancelled import stop_if_cancelled
from callslip.workspace.content import ABSENT, digest_bytes, encode_text, read_whole
from callslip.workspace.difference import difference
from callslip.workspace.evidence import digest_target
from callslip.workspace.os_fault import os_fault
from callslip.workspace.path_argument import shown
from callslip.workspace.place import Place, changed_meanwhile, find_place, remove_folders
from callslip.workspace.put import put
from callslip.workspace.seen import Seen

MAX_WRITTEN_BYTES = 10 * 1024 * 1024
_COMPARED_BYTES = 256 * 1024


def write_file_tool(workspace: Workspace) -> Tool:
    """Build the tool. Its result: ``path, created, changed, size`` (bytes), ``sha256``, and for text up to 256 KB
    ``lines_added, lines_removed, diff``.
    """
    seen = Seen()

    def prepare(path: str, text: str, create_only: bool = False, expected_sha256: str | None = None) -> Evidence:
        after = digest_bytes(_encoded(text))
        with find_place(workspace, path) as place:
            before = _digest(place, path)
            _refuse_unexpected(before, path, create_only=create_only, expected_sha256=expected_sha256)
        seen.remember((path, text, create_only, expected_sha256), before)
        return Evidence(target=path, before=before, after=after)

    @tool(
        when_not="To change a part of a file use edit_file: it can't lose the rest.",
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
    def write_file(
        context: Context,
        *,
        path: str,
        text: str,
        create_only: bool = False,
        expected_sha256: str | None = None,
    ) -> dict[str, Any]:
        """Write a whole text file of the workspace: create it, or replace all that is in it.

        The file is replaced in one step and keeps its permissions. Missing directories are made. The text is
        written as UTF-8 exactly as given.

        Args:
            context: What the runtime gives; no argument of the call.
            path: The file, relative to the workspace, such as src/main.py.
            text: All that the file will hold, up to 10 MB.
            create_only: Refuse if the file exists.
            expected_sha256: Refuse unless the file's content now has this SHA-256, as read_file gave it.
        """
        data = _encoded(text)
        with find_place(workspace, path, make_folders=True) as place:
            with _folders_taken_back(workspace, place):
                before = _digest(place, path)
                _refuse_unexpected(before, path, create_only=create_only, expected_sha256=expected_sha256)
                if seen.differs((path, text, create_only, expected_sha256), before):
                    raise changed_meanwhile(path)
                result = _describe(place, data, before, path)
                if result["changed"]:
                    put(place, data, before=before, path=path, stop=lambda: stop_if_cancelled(context))
            return result

    return write_file


@contextlib.contextmanager
def _folders_taken_back(workspace: Workspace, place: Place) -> Iterator[None]:
    try:
        yield
    except ToolFailed as error:
        if error.effect == "none":
            remove_folders(workspace, place.made)
        raise


def _encoded(text: str) -> bytes:
    data = encode_text(text, "'text'")
    if len(data) > MAX_WRITTEN_BYTES:
        raise ToolFailed(
            f"The text is {len(data):,} bytes and {MAX_WRITTEN_BYTES:,} is the most. Nothing was written. Split it"
            " into several files.",
            code="too_large",
        )
    return data


def _digest(place: Place, path: str) -> str:
    try:
        return place.digest()
    except OSError as error:
        raise os_fault(error, path) from error


def _refuse_unexpected(before: str, path: str, *, create_only: bool, expected_sha256: str | None) -> None:
    if create_only and before != ABSENT:
        raise ToolFailed(
            f"{shown(path)} exists, and create_only was set. Nothing was written. Choose another name, or read it"
            " and write without create_only.",
            code="exists",
        )
    if expected_sha256 is not None and expected_sha256.removeprefix("sha256:").lower() != before:
        raise changed_meanwhile(path)


def _describe(place: Place, data: bytes, before: str, path: str) -> dict[str, Any]:
    after = digest_bytes(data)
    result: dict[str, Any] = {
        "path": place.path,
        "created": before == ABSENT,
        "changed": before != after,
        "size": len(data),
        "sha256": after,
    }
    old = b""
    if place.current is not None:
        if max(place.current.status.st_size, len(data)) > _COMPARED_BYTES:
            return result
        try:
            old = read_whole(place.current, _COMPARED_BYTES, path)
        except OSError as error:
            raise os_fault(error, path) from error
    if b"\0" in old or len(data) > _COMPARED_BYTES:
        return result
    compared = difference(old.decode(errors="replace"), data.decode())
    result |= {"lines_added": compared.added, "lines_removed": compared.removed}
    # A new file's diff would only say again what the model has just written.
    return result | ({"diff": compared.text} if place.current is not None and compared.text else {})
