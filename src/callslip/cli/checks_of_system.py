"""What lies under Callslip: Python, SQLite, the kernel."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from importlib import metadata
from pathlib import Path

from callslip.cli.checks import Finding, bad, ok, warn
from callslip.workspace.openat2 import open_beneath

_PYTHON = (3, 11)
_SQLITE = (3, 35)


def check_system() -> list[Finding]:
    """Versions."""
    python = bad if sys.version_info < _PYTHON else ok
    sqlite = bad if sqlite3.sqlite_version_info < _SQLITE else ok
    return [
        ok("callslip", f"{metadata.version('callslip')} in {sys.prefix}"),
        python("python", f"{platform.python_version()} (3.11 or newer)"),
        sqlite("sqlite", f"{sqlite3.sqlite_version} (3.35 or newer)"),
    ]


def check_workspace(workspace: Path | None) -> list[Finding]:
    """The workspace, and whether the kernel can keep paths beneath it."""
    found = [_openat2(needed=workspace is not None)]
    if workspace is None:
        found.append(ok("workspace", "none: no built-in file tools"))
    elif not workspace.is_dir():
        found.append(bad("workspace", f"{workspace} is no folder; make it, or name another"))
    elif not os.access(workspace, os.R_OK | os.W_OK | os.X_OK):
        found.append(warn("workspace", f"{workspace} can't be read and written by you"))
    else:
        found.append(ok("workspace", str(workspace)))
    return found


def _openat2(*, needed: bool) -> Finding:
    directory = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_beneath(directory, ".", os.O_PATH))
    except OSError as error:
        level = bad if needed else warn
        why = os.strerror(error.errno or 0)
        return level("openat2", f"not available ({why}); the file tools need Linux 5.6 and a profile that allows it")
    finally:
        os.close(directory)
    return ok("openat2", "available: paths are kept beneath the workspace by the kernel")
