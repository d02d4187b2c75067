"""What a wired runtime is made of. ``build`` puts it together; everything in ``runtime`` and ``agent`` is given it."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping

import msgspec

from callslip.core.budget import Budgets
from callslip.core.claim import Claim
from callslip.core.hedging import Allowance
from callslip.core.retry import Retry
from callslip.core.routing import Routing
from callslip.core.spent import Counts
from callslip.gate.catalogue import Catalogue
from callslip.ports.audit import Audit
from callslip.ports.authority import Authority, Capacity
from callslip.ports.blobs import Blobs, OfSession
from callslip.ports.breakers import Breakers
from callslip.ports.clock import Clock
from callslip.ports.context import Context
from callslip.ports.erasures import Erasures
from callslip.ports.finder import Finder
from callslip.ports.last_good import LastGood
from callslip.ports.ledger import Ledger
from callslip.ports.owners import Owners
from callslip.ports.policy import Policy
from callslip.ports.trust import Trust
from callslip.ports.vault import Keyring, Vault
from callslip.runtime.live import Watch, ignore
from callslip.runtime.redact import Redactor

_LONGEST_ASKED = 100 * 365.25 * 86_400


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures a project may set in ``[limits]`` of callslip.toml. Durations are in seconds."""

    steps_per_turn: int = 50
    turn_seconds: float | None = None
    """How long a turn may take, from its first model request on; unless this is set, as long as it likes."""
    result_bytes: int = 32_000
    """How much of a result the model is shown; the rest can be read back by its address."""
    grace: float = 5.0
    """How long a call that was told to stop, or an old owner's child process, is waited for."""
    patience: float = 20.0
    """How long a run waits by itself, for an old attempt's quiet period or before another attempt; a longer pause
    becomes a wait."""
    retry: Retry = Retry()
    """How often, and after which pauses, what failed is tried again."""
    poll: float = 0.1
    """How often a run looks for what outsiders appended."""
    approval_expires: float | None = None
    """After how long a question to a person expires; never, unless this is set."""
    same_failures: int = 3
    """After so many steps of a turn in which the same call failed in the same way, it is not made again; 0: it always
    is."""
    same_results: int = 16
    """The same for a call of a tool that reads and gives the same result. After half as many, the model is told."""

    def __post_init__(self) -> None:
        if min(self.steps_per_turn, self.result_bytes) < 1:
            raise ValueError("steps_per_turn and result_bytes are at least 1")
        if self.turn_seconds is not None and not 0 < self.turn_seconds <= _LONGEST_ASKED:
            raise ValueError("turn_seconds is more than 0, and at most a hundred years")
        if self.approval_expires is not None and not 0 < self.approval_expires <= _LONGEST_ASKED:
            raise ValueError("approval_expires is more than 0, and at most a hundred years")
        if min(self.same_failures, self.same_results) < 0:
            raise ValueError("same_failures and same_results are at least 1, or 0 for never")
        if min(self.grace, self.patience) < 0 or self.poll <= 0:
            raise ValueError("grace and patience are not negative, and poll is more than 0")


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project may set in ``[data]`` of callslip.toml (LEDG-08)."""

    encrypt: bool = False
    """Whether what users, models and tools say is encrypted, for each session under a key of its own."""
    keep_days: int | None = None
    """After how many days without any change a session's payloads are erased; ``None``: never."""

    def __post_init__(self) -> None:
        if self.keep_days is not None and self.keep_days < 1:
            raise ValueError("keep_days is at least 1")


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
    trust: Trust
    """Who may answer, and what was granted."""
    zone: datetime.tzinfo = datetime.UTC
    """Where sessions are: what day it is for them."""
    secrets: Mapping[str, str] = {}
    """What ``secret://name`` stands for."""
    authority: Authority
    """Who may use what at this moment."""
    claim: Callable[[str], Claim]
    """Makes a claim comparable, as things are now."""
    capacities: Mapping[str, Capacity] = {}
    """What limited services take."""
    routing: Routing = Routing()
    """Which tools a model has to find."""
    finder: Finder | None = None
    """What finds them; ``None``: every tool is shown."""
    told: set[str] = msgspec.field(default_factory=set)
    """What is told in the process's log once and no more."""
    inventory: str = ""
    """What can be found, for the system prompt."""
    redactor: Redactor = msgspec.field(default_factory=Redactor)
    limits: Limits = Limits()
    budgets: Budgets | None = None
    """What turns, sessions and requesters may use; ``None``: as much as they like."""
    used_today: dict[str, tuple[int, str, Counts]] = {}
    """By session, as far as it was read to tell what its requester has used: the head's seq, the requester, and what
    was counted."""
    draw: Callable[[], float] = random.random
    """From 0 to 1, at random: what pauses are drawn by."""
    data: Data = Data()
    vault: Vault | None = None
    """Encrypts what is private; ``None``: nothing is encrypted."""
    keyring: Keyring | None = None
    """The keys it does that by."""
    erasures: Erasures | None = None
    """Those that have begun and are not done; ``None``: a crash leaves nothing behind anyway."""
    breakers: Breakers | None = None
    """Which tools are left alone for a while; ``None``: none is."""
    last_good: LastGood | None = None
    """Where earlier answers stand that may serve once more; ``None``: nowhere."""
    audit: Audit | None = None
    """What is told of everything, afterwards; ``None``: nothing is."""
    audit_patience: float = 60.0
    """Seconds for which it may fail before nothing is dispatched any more."""
    hedging: dict[str, Allowance] = {}
    """By tool: how many of its calls may still be executed a second time."""
    watch: Watch = ignore
    left_behind: list[Context] = []
    """Attempts of this process of which something went on after nobody awaited it any more."""

    def of(self, session: str) -> Parts:
        """These parts, with the payload store as that session uses it: whoever puts a payload has it from here."""
        if not isinstance(self.blobs, OfSession):
            return self
        return msgspec.structs.replace(self, blobs=self.blobs.of(session))
