"""A rule of a vendor that a request breaks."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule, with the place and with who says that it is one."""

    rule: str
    """Short and stable, such as ``orphan_result``."""
    message: str
    """What the vendor would say, in other words."""
    path: str
    """The place in the body, such as ``messages[3].tool_call_id``; "" for the body as a whole."""
    source: str
    """The vendor's page, or the public issue, that states the rule."""
