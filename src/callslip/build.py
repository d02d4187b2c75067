"""The composition root: from settings to wired parts. The one file that knows ports and adapters alike."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callslip.audit.settings import AuditSettings
from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.on_demand import OnDemand
from callslip.authorities.resources import Resources
from callslip.blobs.erasures import ErasureFiles
from callslip.blobs.files import FileBlobs
from callslip.blobs.key_files import KeyFiles
from callslip.blobs.memory import MemoryBlobs
from callslip.blobs.sealed import SealedBlobs
from callslip.blobs.vault import KeyVault, MemoryKeys
from callslip.bound import Bound, bind
from callslip.breakers.last_good import FileLastGood, MemoryLastGood
from callslip.breakers.memory import MemoryBreakers
from callslip.breakers.shared import SharedBreakers
from callslip.clocks.system import SystemClock
from callslip.core.breaker import BreakerRules
from callslip.core.budget import Budgets
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.routing import Routing
from callslip.errors import ConfigError
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.owner_lock import OwnerLocks, SoleOwner
from callslip.ledgers.sealed import SealedLedger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ledgers.state_folder import installation_key, open_state
from callslip.policies.by_risk import RiskPolicy
from callslip.ports.audit import Audit
from callslip.ports.authority import Authority, Capacity
from callslip.ports.clock import Clock
from callslip.ports.executor import Executor
from callslip.ports.model import Model
from callslip.ports.policy import Policy
from callslip.ports.trust import Identity
from callslip.runtime.live import Observer, Watch, ignore, together
from callslip.runtime.parts import Data, Limits, Parts
from callslip.runtime.redact import Redactor
from callslip.schema.normalise import zone
from callslip.telemetry.settings import Telemetry
from callslip.trust.account import account
from callslip.trust.file import FileTrust
from callslip.trust.memory import MemoryTrust

if TYPE_CHECKING:
    from callslip.notify.endpoint import Endpoint
    from callslip.notify.notifier import Notifier

LEDGER_FILE = "ledger.db"
BREAKERS_FILE = "breakers.db"
LAST_GOOD_FILE = "last-good.db"
RESOURCES_FILE = "resources.db"
TOOLS_FILE = "tools.db"
AUDIT_FOLDER = "audit"
MEMORY = ":memory:"


class Settings(msgspec.Struct, kw_only=True):
    """What a runtime is built from."""

    executors: Sequence[Executor]
    state: Path | None
    """The state folder; ``None`` keeps everything in memory."""
    model: Model | None = None
    system: str = ""
    stream: bool = False
    workspace: Path | None = None
    policy: Policy | None = None
    decisions: dict[str, str] = {}
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    """What turns, sessions and requesters may use."""
    routing: Routing = Routing()
    """Which tools models are shown, and which they find."""
    data: Data = Data()
    breakers: BreakerRules = BreakerRules()
    """When a tool that keeps failing is left alone, and for how long."""
    timezone: str = "UTC"
    """Where sessions are, by the IANA name."""
    capacities: dict[str, Capacity] = {}
    """What limited services take, by the name in ``slot:NAME``; ``tool.NAME`` is a tool's own."""
    secrets: dict[str, str] = {}
    """What ``secret://name`` stands for; none of them gets into log, model or errors."""
    identity: Identity | None = None
    audit: AuditSettings = AuditSettings()
    notify: tuple[Endpoint, ...] = ()
    """Who is told of what needs them, by a worker."""
    base: Path = Path()
    """What a relative path in ``audit`` is relative to."""
    watch: Watch = ignore
    telemetry: Telemetry | Observer = Telemetry()
    """What also watches, for whoever operates this; or the settings by which it is made."""
    clock: Clock | None = None


def build_parts(settings: Settings) -> Parts:
    """Wire a runtime.

    Raises:
        StateRefused, LedgerUnavailable, LogBroken, ToolDefinitionError, ConfigError: nothing was started.
    """
    telemetry = _telemetry(settings.telemetry)
    parts = _wired(settings, together(settings.watch, ignore if telemetry is None else telemetry))
    if telemetry is not None:
        telemetry.of_breakers(parts.breakers)
    return parts


def _wired(settings: Settings, watch: Watch) -> Parts:
    index = None if settings.state is None else settings.state / TOOLS_FILE
    clock = settings.clock or SystemClock()
    bound = bind(settings.executors, settings.routing, index, clock.monotonic)
    policy = settings.policy or RiskPolicy(settings.decisions)
    where = _zone(settings.timezone)
    redactor = Redactor([*settings.secrets.values(), *_held_keys(), *_held_by(settings.notify)])
    claim = Resources(settings.workspace).claim
    budgets = _budgets(settings, bound)
    if settings.state is None:
        vault = KeyVault(MemoryKeys(), encrypts=settings.data.encrypt)
        return Parts(
            ledger=SealedLedger(MemoryLedger(), vault), blobs=SealedBlobs(MemoryBlobs(), vault),
            data=settings.data, vault=vault, keyring=vault, owners=SoleOwner(), clock=clock,
            catalogue=bound.catalogue, finder=bound.finder, inventory=bound.inventory, routing=settings.routing,
            policy=policy, key=os.urandom(32), trust=MemoryTrust(clock=clock), secrets=settings.secrets,
            redactor=redactor, limits=settings.limits, budgets=budgets, watch=watch, zone=where,
            breakers=MemoryBreakers(settings.breakers, clock.monotonic) if settings.breakers.on else None,
            last_good=MemoryLastGood(), authority=MemoryAuthority(settings.capacities), claim=claim,
            capacities=settings.capacities,
        )  # fmt: skip
    roots = [settings.workspace] if settings.workspace is not None else []
    folder = open_state(settings.state, writable_roots=roots)
    vault = KeyVault(KeyFiles(folder / "keys"), encrypts=settings.data.encrypt)
    ledger = SealedLedger(SqliteLedger(folder / LEDGER_FILE), vault)
    owners = OwnerLocks(folder / "owners")
    rules = settings.breakers
    parts = Parts(
        ledger=ledger,
        blobs=SealedBlobs(FileBlobs(folder / "blobs"), vault),
        data=settings.data,
        vault=vault,
        keyring=vault,
        erasures=ErasureFiles(folder / "erasures"),
        owners=owners,
        clock=clock,
        catalogue=bound.catalogue,
        finder=bound.finder,
        inventory=bound.inventory,
        routing=settings.routing,
        policy=policy,
        key=installation_key(folder),
        trust=FileTrust(folder, clock=clock),
        secrets=settings.secrets,
        redactor=redactor,
        limits=settings.limits,
        budgets=budgets,
        watch=watch,
        zone=where,
        breakers=SharedBreakers(folder / BREAKERS_FILE, owners, rules, clock.monotonic) if rules.on else None,
        last_good=FileLastGood(folder / LAST_GOOD_FILE),
        authority=OnDemand(lambda: _shared_authority(folder, owners, settings.capacities)),
        claim=claim,
        capacities=settings.capacities,
    )
    parts.audit = _audit(settings, parts, ledger, folder)
    parts.audit_patience = settings.audit.patience
    return parts


def _budgets(settings: Settings, bound: Bound) -> Budgets | None:
    """As set; where tools are searched for, a turn may do so only so often (DEFR-05)."""
    budgets = settings.budgets
    if bound.finder is not None and budgets.turn.searches is None:
        turn = msgspec.structs.replace(budgets.turn, searches=settings.routing.searches)
        budgets = msgspec.structs.replace(budgets, turn=turn)
    return budgets if budgets != Budgets() else None


def _telemetry(asked: Telemetry | Observer) -> Observer | None:
    if not isinstance(asked, Telemetry):
        return asked
    if not asked.otel:
        return None
    try:
        from callslip.telemetry.opentelemetry import OpenTelemetry  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError(
            f"The setting otel in [telemetry] needs OpenTelemetry, which is not installed ({error}). Nothing was "
            "started. Install callslip[otel], or leave the setting out."
        ) from error
    return OpenTelemetry(content=asked.content)


def _shared_authority(folder: Path, owners: OwnerLocks, capacities: dict[str, Capacity]) -> Authority:
    from callslip.authorities.shared import SharedAuthority  # noqa: PLC0415 - most runtimes never need it

    return SharedAuthority(folder / RESOURCES_FILE, owners, capacities)


def _zone(name: str) -> datetime.tzinfo:
    try:
        return zone(name)
    except ValueError as error:
        raise ConfigError(f"The setting timezone: {error}. Nothing was started.") from error


def _audit(settings: Settings, parts: Parts, ledger: SealedLedger, folder: Path) -> Audit:
    # Only where there is a state folder: a start without one need not pay for it.
    from callslip.audit.anchors import Anchors, place  # noqa: PLC0415
    from callslip.audit.book import Book  # noqa: PLC0415
    from callslip.audit.follow import Follower  # noqa: PLC0415

    book = Book(folder / AUDIT_FOLDER)
    at = place(settings.audit.anchor, settings.base, folder)
    anchors = None if at is None else Anchors(book, at, parts.clock, every=settings.audit.every)
    return Follower(ledger, parts.blobs, book, parts.redactor, parts.clock, anchors=anchors)


def build_notifier(settings: Settings, parts: Parts, tell: Callable[[str], None]) -> Notifier | None:
    """What tells people of what needs them; ``None`` where nobody is to be told.

    Raises:
        ConfigError, StateRefused: an endpoint can't work.
    """
    if not settings.notify:
        return None
    from callslip.notify.notifier import Notifier  # noqa: PLC0415 - only a worker tells, and it brings TLS along

    return Notifier(
        parts.ledger, settings.notify, clock=parts.clock, folder=settings.state, clean=parts.redactor.clean, tell=tell
    )


def workspace_identity(folder: Path | None) -> WorkspaceIdentity | None:
    """The folder by true identity.

    Raises:
        ConfigError: there is no such folder.
    """
    if folder is None:
        return None
    try:
        info = folder.stat()
    except OSError as error:
        raise ConfigError(f"The workspace {folder} can't be used: {error.strerror}. Nothing was started.") from error
    return WorkspaceIdentity(path=str(folder), device=info.st_dev, inode=info.st_ino)


def requester() -> Identity:
    """Who acts where no key is used: the operating system's account."""
    return account()


def _held_by(endpoints: tuple[Endpoint, ...]) -> list[str]:
    """Secrets by which what people are told is signed."""
    if not endpoints:
        return []
    from callslip.notify.secret import held  # noqa: PLC0415 - only where somebody is told

    return held(endpoints)


def _held_keys() -> list[str]:
    """Secrets the runtime itself holds: they must not come back out of a tool."""
    return [value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))]
