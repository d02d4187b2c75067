"""What a path may look like, before anything is opened. Says nothing about where it leads."""

from __future__ import annotations

from callslip.errors import ToolFailed

MAX_PATH_BYTES = 4_000
"""Less than Linux's PATH_MAX of 4,096, so that the kernel's limit is never the one that is met."""
MAX_NAME_BYTES = 255
_SHOWN = 160


def check_path(path: str) -> str:
    """Give the path back if it is a relative path that a file system can hold.

    Raises:
        ToolFailed: ``bad_path``: empty, absolute, too long, or with characters no path can have.
    """
    complaint = _complaint(path)
    if complaint:
        # An absolute path is not said back: messages never hold a place of this machine.
        subject = "An absolute path" if path.startswith("/") else shown(path)
        raise ToolFailed(
            f"{subject} can't be used: {complaint} Nothing was touched. Give a path relative to the workspace, such"
            " as src/main.py.",
            code="bad_path",
        )
    return path


def _complaint(path: str) -> str | None:
    if not path.strip():
        return "it is empty."
    if "\0" in path:
        return "it holds a NUL character."
    if path.startswith("/"):
        return "it begins at the root of the machine; paths here begin in the workspace."
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "it holds half a surrogate pair, which no UTF-8 name can hold."
    if len(encoded) > MAX_PATH_BYTES:
        return f"it is {len(encoded):,} bytes long and {MAX_PATH_BYTES:,} is the most."
    longest = max(len(part) for part in encoded.split(b"/"))
    if longest > MAX_NAME_BYTES:
        return f"one of its parts is {longest:,} bytes long and {MAX_NAME_BYTES} is the most."
    return None


def shown(path: str) -> str:
    """The path as it stands in a message: quoted, on one line, cut in the middle if long."""
    if len(path) > _SHOWN:
        path = f"{path[: _SHOWN // 2]}…{path[-_SHOWN // 2 :]}"
    return repr(path)
