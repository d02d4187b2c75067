"""What a project says in ``callslip.toml``, and where its state lives."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from callslip.audit.settings import AuditSettings
from callslip.core.breaker import BreakerRules
from callslip.core.budget import Budgets
from callslip.core.routing import Routing
from callslip.errors import ConfigError
from callslip.misread import explain
from callslip.notify.endpoint import Endpoint
from callslip.ports.authority import Capacity
from callslip.providers.address import is_address
from callslip.providers.options import Options, Provider
from callslip.runtime.parts import Data, Limits
from callslip.telemetry.settings import Telemetry

FILE = "callslip.toml"


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a project. A field that is not named here is refused."""

    app: str | None = None
    """``module:attribute`` or ``file.py:attribute`` of the Runtime."""
    model: str | None = None
    """``openai:NAME``, ``anthropic:NAME`` and so on, or ``recorded:FILE``."""
    base_url: str | None = None
    """The server of ``model`` instead of the provider's own; else the environment's ``OPENAI_BASE_URL`` or the like."""
    servers: dict[Provider, str] = {}
    """The same for models of other kinds: ``anthropic = "https://…"``."""
    model_options: Options = Options()
    """What every model is told besides the conversation."""
    system: str = ""
    state: str | None = None
    """The state folder; default: one for each project under the user's state folder."""
    workspace: str | None = None
    """A folder the built-in file tools may read and write, relative to the project."""
    forbidden: tuple[str, ...] = ()
    """Further paths in the workspace that no tool may touch."""
    stream: bool = False
    timezone: str = "UTC"
    """Where sessions are, by its IANA name."""
    policy: dict[str, str] = {}
    limits: Limits = Limits()
    budgets: Budgets = Budgets()
    """What turns, sessions and requesters may use."""
    routing: Routing = Routing()
    """Which tools models are shown, and which they find."""
    audit: AuditSettings = AuditSettings()
    """Where heads of the audit are kept, how often, and for how long it may fail."""
    notify: tuple[Endpoint, ...] = ()
    """Who is told of what needs them: webhooks, commands, logs."""
    data: Data = Data()
    """What protects the private part of sessions."""
    breakers: BreakerRules = BreakerRules()
    """When a tool that keeps failing is left alone, and for how long."""
    telemetry: Telemetry = Telemetry()
    """What is told to OpenTelemetry."""
    capacities: dict[str, Capacity] = {}
    """What limited services take, by the name that tools claim as ``slot:NAME``; ``tool.NAME`` limits a tool itself."""
    ask_user: bool = False
    """Whether the model may ask the user questions, where there is no application that says so."""

    def __post_init__(self) -> None:
        addresses = {f"[servers] {kind}": url for kind, url in self.servers.items()}
        addresses |= {} if self.base_url is None else {"base_url": self.base_url}
        for name, url in addresses.items():
            if not is_address(url):  # which is not shown: a key may stand in it
                raise ValueError(f"{name} is no full http or https address, such as http://127.0.0.1:8000/v1")


def find_project(start: Path | None = None) -> Path:
    """The nearest folder upwards with a callslip.toml; the starting folder when there is none."""
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder
    return here


def load_config(project: Path) -> Config:
    """The project's settings; defaults where it has no file.

    Raises:
        ConfigError: the file can't be read, or says something that means nothing.
    """
    path = project / FILE
    if not path.is_file():
        return Config()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error}. Nothing was started. Correct it.") from error
    return parse_config(text, path)


def parse_config(text: bytes, path: Path) -> Config:
    """The settings that these bytes of the file at ``path`` say.

    Raises:
        ConfigError: they can't be read, or say something that means nothing.
    """
    try:
        raw = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}. Nothing was started. Correct it.") from error
    return _convert(raw, path)


def _convert(raw: dict[str, Any], path: Path) -> Config:
    policy = raw.get("policy")
    if isinstance(policy, dict) and isinstance(policy.get("tool"), dict):  # tool.pay = "ask" without quotes
        tools = policy.pop("tool")
        raw = {**raw, "policy": {**policy, **{f"tool.{name}": said for name, said in tools.items()}}}
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Config)} Nothing was started. Correct it.") from error


def state_folder(project: Path, configured: str | None) -> Path:
    """Where the project's state lives: as configured, from ``CALLSLIP_STATE``, or one for each project folder.

    The default is ``$XDG_STATE_HOME/callslip/NAME-DIGEST`` (XDG Base Directory Specification), outside the project,
    because a tool that may write the project must not be able to write the log.
    """
    chosen = os.environ.get("CALLSLIP_STATE") or configured
    if chosen:
        return (project / Path(chosen).expanduser()).absolute()
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    real = os.path.realpath(project)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(real).name) or "project"
    return base / "callslip" / f"{name}-{hashlib.sha256(real.encode()).hexdigest()[:10]}"
