"""Looks at a write's target again, after a crash (RECO: recovery by evidence)."""

from __future__ import annotations

from callslip.errors import ToolFailed
from callslip.workspace.access import Workspace
from callslip.workspace.content import ABSENT, digest_file
from callslip.workspace.os_fault import os_fault


def digest_target(workspace: Workspace, target: str) -> str:
    """The SHA-256 in hex of the file's content now, or ``absent``. Reads only.

    Raises:
        ToolFailed: something stands there that can't be read. Effect none.
    """
    try:
        with workspace.file(target, "write") as opened:
            return digest_file(opened)
    except OSError as error:
        raise os_fault(error, target) from error
    except ToolFailed as error:
        if error.not_found:
            return ABSENT
        raise
