"""The built-in tools of a workspace, put together (SAND-06)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from callslip.sources.functions import Tool
from callslip.workspace.access import open_workspace
from callslip.workspace.edit_file import edit_file_tool
from callslip.workspace.list_files import list_files_tool
from callslip.workspace.read_file import read_file_tool
from callslip.workspace.search_text import search_text_tool
from callslip.workspace.write_file import write_file_tool


def workspace_tools(root: Path | str, *, forbidden: Sequence[str] = (), state: Path | None = None) -> list[Tool]:
    """``read_file, list_files, search_text, write_file, edit_file`` over one directory.

    ``forbidden`` adds paths that may be neither read nor written to the built-in ones: relative, each part may hold
    ``*``, at any depth unless it begins with ``/``. ``state`` is the runtime's own folder, off limits if it lies in
    the root. The directory is held open as long as the tools live.

    Raises:
        WorkspaceError: the directory can't be opened, or this system can't keep paths beneath it.
        ConfigError: a forbidden path that can't be understood.
        StateRefused: the root lies inside the state folder.
    """
    workspace = open_workspace(root, forbidden=forbidden, state=state)
    return [
        read_file_tool(workspace),
        list_files_tool(workspace),
        search_text_tool(workspace),
        write_file_tool(workspace),
        edit_file_tool(workspace),
    ]
