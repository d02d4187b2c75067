"""A root with its forbidden paths: every tool opens files and directories through here, and asks twice (GATE-03)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from callslip.errors import ToolFailed
from callslip.workspace.forbidden import Access, Forbidden, forbidden_for
from callslip.workspace.opened import Opened
from callslip.workspace.path_argument import check_path
from callslip.workspace.root import Root


class Workspace:
    """What the tools of one workspace share.

    Attributes:
        root: resolves paths.
        forbidden: decides which of them are off limits.
    """

    def __init__(self, root: Root, forbidden: Forbidden) -> None:
        self.root = root
        self.forbidden = forbidden

    def file(self, path: str, access: Access = "read", *, symlinks: bool = True) -> Opened:
        """Open a regular file for reading; ``access`` says under which rules it is looked at.

        Raises:
            ToolFailed: it is forbidden, isn't there, isn't a regular file or may not be opened. Effect none.
        """
        self.forbidden.check(check_path(self.root.advise(path)), access, asked=path)
        return self._still_allowed(self.root.open_file(path, symlinks=symlinks), access, path)

    def directory(self, path: str, access: Access = "read", *, symlinks: bool = True) -> Opened:
        """Open a directory for listing.

        Raises:
            ToolFailed: it is forbidden, isn't there, isn't a directory or may not be opened. Effect none.
        """
        self.forbidden.check(check_path(self.root.advise(path)), access, asked=path)
        return self._still_allowed(self.root.open_directory(path, symlinks=symlinks), access, path)

    def _still_allowed(self, opened: Opened, access: Access, path: str) -> Opened:
        try:
            self.forbidden.check(opened.path, access, asked=path)
        except ToolFailed:
            opened.close()
            raise
        return opened


def open_workspace(root: Path | str, *, forbidden: Sequence[str] = (), state: Path | None = None) -> Workspace:
    """Open the directory and put the rules together. See :func:`callslip.workspace.forbidden.forbidden_for`.

    Raises:
        WorkspaceError: the directory can't be opened safely.
        ConfigError: a forbidden path that can't be understood.
        StateRefused: the root lies inside the state folder.
    """
    opened = Root(root)
    return Workspace(opened, forbidden_for(opened.host_path(), extra=forbidden, state=state))
