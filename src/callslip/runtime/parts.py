"""What a wired runtime is made of. ``build`` puts it together; everything in ``runtime`` and ``agent`` is given it."""

from __future__ import annotations

import msgspec

from callslip.gate.catalogue import Catalogue
from callslip.ports.blobs import Blobs
from callslip.ports.clock import Clock
from callslip.ports.context import Context
from callslip.ports.ledger import Ledger
from callslip.ports.owners import Owners
from callslip.ports.policy import Policy
from callslip.runtime.claims import Claims
from callslip.runtime.live import Watch, ignore
from callslip.runtime.redact import Redactor


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Figures a project may set in ``[limits]`` of callslip.toml. Durations are in seconds."""

    steps_per_turn: int = 50
    result_bytes: int = 32_000
    """How much of a result the model is shown; the rest can be read back by its address."""
    grace: float = 5.0
    """How long a call that was told to stop, or an old owner's child process, is waited for."""
    patience: float = 20.0
    """How long a run waits by itself for an old attempt's quiet period; a longer one becomes a wait."""
    in_run_attempts: int = 3
    """Attempts of an idempotent call within one run."""
    poll: float = 0.1
    """How often a run looks for what outsiders appended."""

    def __post_init__(self) -> None:
        if min(self.steps_per_turn, self.result_bytes, self.in_run_attempts) < 1:
            raise ValueError("steps_per_turn, result_bytes and in_run_attempts are at least 1")
        if min(self.grace, self.patience) < 0 or self.poll <= 0:
            raise ValueError("grace and patience are not negative, and poll is more than 0")


class Parts(msgspec.Struct, kw_only=True):
    """The ports, wired."""

    ledger: Ledger
    blobs: Blobs
    owners: Owners
    clock: Clock
    catalogue: Catalogue
    policy: Policy
    key: bytes
    """The installation's key."""
    claims: Claims = msgspec.field(default_factory=Claims)
    redactor: Redactor = msgspec.field(default_factory=Redactor)
    limits: Limits = Limits()
    watch: Watch = ignore
    left_behind: list[Context] = []
    """Attempts of this process of which something went on after nobody awaited it any more."""
