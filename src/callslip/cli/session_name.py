"""A session's name, as it is given to a command that makes one."""

from __future__ import annotations

from callslip.core.ids import check_session
from callslip.errors import UsageError


def check_name(session: str) -> None:
    """Whether a session may be called so, before anything is started.

    Raises:
        UsageError: it may not, or no command could name it.
    """
    if session.startswith("-"):
        raise UsageError(
            f"The session id {session!r} begins with a dash, so no command could name it. Nothing was started. "
            "Choose another."
        )
    check_session(session)
