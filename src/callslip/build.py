"""The composition root: from settings to wired parts. The one file that knows ports and adapters alike."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from callslip.blobs.files import FileBlobs
from callslip.blobs.memory import MemoryBlobs
from callslip.clocks.system import SystemClock
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.errors import ConfigError
from callslip.gate.catalogue import Catalogue
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.owner_lock import OwnerLocks, SoleOwner
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ledgers.state_folder import installation_key, open_state
from callslip.policies.by_risk import RiskPolicy
from callslip.ports.clock import Clock
from callslip.ports.executor import Executor
from callslip.ports.model import Model
from callslip.ports.policy import Policy
from callslip.providers.recorded import Recorded
from callslip.runtime.live import Watch, guarded, ignore
from callslip.runtime.parts import Limits, Parts
from callslip.runtime.redact import Redactor

OPENAI_URL = "https://api.openai.com/v1"
LEDGER_FILE = "ledger.db"
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
    secrets: Iterable[str] = ()
    watch: Watch = ignore
    clock: Clock | None = None


def build_parts(settings: Settings) -> Parts:
    """Wire a runtime.

    Raises:
        StateRefused, LedgerUnavailable, LogBroken, ToolDefinitionError, ConfigError: nothing was started.
    """
    catalogue = Catalogue(settings.executors)
    policy = settings.policy or RiskPolicy(settings.decisions)
    clock = settings.clock or SystemClock()
    watch = settings.watch if settings.watch is ignore else guarded(settings.watch)
    redactor = Redactor([*settings.secrets, *_held_keys()])
    if settings.state is None:
        return Parts(
            ledger=MemoryLedger(), blobs=MemoryBlobs(), owners=SoleOwner(), clock=clock, catalogue=catalogue,
            policy=policy, key=os.urandom(32), redactor=redactor, limits=settings.limits, watch=watch,
        )  # fmt: skip
    roots = [settings.workspace] if settings.workspace is not None else []
    folder = open_state(settings.state, writable_roots=roots)
    return Parts(
        ledger=SqliteLedger(folder / LEDGER_FILE),
        blobs=FileBlobs(folder / "blobs"),
        owners=OwnerLocks(folder / "owners"),
        clock=clock,
        catalogue=catalogue,
        policy=policy,
        key=installation_key(folder),
        redactor=redactor,
        limits=settings.limits,
        watch=watch,
    )


def build_model(name: str, *, base_url: str | None = None) -> Model:
    """A model by name: ``openai:NAME`` (any compatible server, with ``base_url``) or ``recorded:FILE``.

    Raises:
        ConfigError: an unknown kind.
    """
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest:
        from callslip.providers.openai_chat import OpenAIChat  # noqa: PLC0415 - its HTTP client costs a start 40 ms

        url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        return OpenAIChat(rest, base_url=url, api_key=os.environ.get("OPENAI_API_KEY"))
    if kind == "recorded" and rest:
        return Recorded(Path(rest))
    raise ConfigError(
        f"The model {name!r} can't be built. Nothing was started. "
        "Name it openai:NAME (with OPENAI_BASE_URL for another server) or recorded:FILE."
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


def requester() -> str:
    """Who starts sessions: the operating system's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _held_keys() -> list[str]:
    """Secrets the runtime itself holds: they must not come back out of a tool."""
    return [value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))]
