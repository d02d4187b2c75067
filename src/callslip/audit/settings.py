"""What a project says of its audit, in ``[audit]`` of callslip.toml."""

from __future__ import annotations

import msgspec


class AuditSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where heads of the audit are kept, how often, and for how long it may fail."""

    anchor: str | tuple[str, ...] = ""
    """A file outside the state folder, relative to the project unless absolute; or a command and its arguments, which
    is given one line of JSON. Empty: nowhere."""
    every: int = 100
    """Entries from one anchor to the next."""
    patience: float = 60.0
    """Seconds for which the audit may fail before nothing is dispatched any more."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError("every is at least 1")
        if self.patience < 0:
            raise ValueError("patience is not negative")
        if not isinstance(self.anchor, str) and not (self.anchor and all(self.anchor)):
            raise ValueError("anchor is a file, or a command of at least one word")
