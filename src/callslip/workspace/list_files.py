"""The tool ``list_files``: what is in the workspace, in order, bounded."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callslip.core.tool import Recovery, Risk
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool
from callslip.workspace.access import Workspace
from callslip.workspace.cancelled import stop_if_cancelled
from callslip.workspace.file_pattern import file_pattern
from callslip.workspace.walk import MAX_VISITED, Walk


def list_files_tool(workspace: Workspace) -> Tool:
    """Build the tool. Its result: ``path, entries`` (each ``path, type, size`` in bytes), ``truncated``, and where
    there is something to say ``skipped`` (counts by reason) and ``note``.
    """

    @tool(
        when_not="To find text inside files use search_text.",
        category="workspace",
        tags=("files",),
        risk=Risk.READ,
        recovery=Recovery.IDEMPOTENT,
        local_effect=True,
        claims=("read tree:{path}",),
    )
    def list_files(
        context: Context,
        *,
        path: str = ".",
        pattern: str = "**",
        limit: Annotated[int, Field(ge=1, le=5_000)] = 500,
    ) -> dict[str, Any]:
        """List files and directories beneath a directory of the workspace, sorted by path.

        Paths are relative to the workspace, ready for the other tools. Links are shown and not followed. What is in
        .git and what may not be read is left out.

        Args:
            context: What the runtime gives; no argument of the call.
            path: The directory to list, relative to the workspace.
            pattern: Which to list, relative to that directory: * and ? within a name, ** across directories, [ab]
                and {a,b}. Without / it matches names at any depth, so *.py finds every Python file;
                ./* is the directory itself without what is deeper.
            limit: How many entries to give at most.
        """
        wanted = file_pattern(pattern)
        entries: list[dict[str, Any]] = []
        truncated = False
        with workspace.directory(path) as start:
            walk = Walk(workspace, start)
            prefix = "" if start.path == "." else start.path + "/"
            for entry in walk:
                stop_if_cancelled(context)
                if not wanted(entry.path.removeprefix(prefix)):
                    continue
                if len(entries) == limit:
                    truncated = True
                    break
                entries.append({"path": entry.path, "type": entry.kind, "size": entry.size})
            result: dict[str, Any] = {"path": start.path, "entries": entries, "truncated": truncated or walk.cut}
        if walk.skipped:
            result["skipped"] = dict(walk.skipped)
        if truncated:
            result["note"] = f"Only the first {limit:,} are shown. Narrow path or pattern."
        elif walk.cut:
            result["note"] = f"Only {MAX_VISITED:,} entries were looked at. Narrow path."
        return result

    return list_files
