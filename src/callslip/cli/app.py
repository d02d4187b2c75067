"""Find the Runtime that a command works with: the project's application, or one made from callslip.toml.

What the command line says goes before what the application says, and that before callslip.toml. Of the project only
what was accepted acts, and the workspace, which tools write, is never importable.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from callslip.application import Runtime
from callslip.build import LEDGER_FILE
from callslip.cli.options import Given
from callslip.cli.project import Project, find, say_held, trust_at
from callslip.cli.reading import Reader
from callslip.config import FILE, Config
from callslip.core.breaker import BreakerRules
from callslip.core.budget import Budgets
from callslip.core.routing import Routing
from callslip.errors import CallslipError, ConfigError, NotAccepted, TrustBroken
from callslip.ledgers.state_folder import is_one
from callslip.models import build_model, keyless, split
from callslip.ports.model import Model
from callslip.project import files
from callslip.project.imports import Guard, guard, spec_of
from callslip.runtime.parts import Data, Limits
from callslip.sources.ask_user import ask_user
from callslip.telemetry.settings import Telemetry
from callslip.workspace.tools import workspace_tools

Purpose = Literal["look", "say", "answer", "tools", "drive"]
"""``look``, ``say`` and ``answer`` need no application, and the first two load none when the state folder is named.
``look`` writes nothing, so it works where nothing can be written. ``tools`` and
``drive`` take the workspace's tools where there is no application; only ``drive`` makes a state folder and needs a
model."""
LOOKING = frozenset({"look", "say"})
"""Purposes for which nothing of the project has to act."""


def runtime_for(given: Given, purpose: Purpose, **changes: Any) -> Runtime:
    """The project's Runtime, configured and not opened yet. ``changes`` are settings the command itself decides.

    Raises:
        ConfigError: what is missing or wrong, and what to do about it.
    """
    project = find(given)
    if purpose not in LOOKING:
        project.acting()
    elif project.held is not None and (given.state is None or isinstance(project.held, TrustBroken)):
        say_held(project)
    runtime = application(given, project, purpose)
    if runtime is None:
        runtime = bare(project, purpose, model=changes.get("model") or project.config.model)
    configure(runtime, given, project, purpose, changes)
    if purpose == "drive" and runtime.settings.model is None:
        raise ConfigError(
            "No model is named. Nothing was started. Give one with --model openai:NAME, as `model` in callslip.toml, "
            "or to Runtime(model=…)."
        )
    return Reader(runtime.settings) if purpose == "look" else runtime


def application(given: Given, project: Project, purpose: Purpose) -> Runtime | None:
    """The application the command line or callslip.toml names; ``None`` when neither does, or it isn't needed.

    Raises:
        NotAccepted: a file of it is held. ConfigError: it can't be loaded.
    """
    name = given.app or project.config.app
    if purpose not in LOOKING:
        _guard(project.acting())
        if name is None:
            return None
        runtime = load(name, base_of(given, project), project)
        _check_own_state(runtime, project)
        return runtime
    if name is None or given.state is not None or project.held is not None:
        return None
    try:
        return load(name, base_of(given, project), project)
    except NotAccepted:
        say_held(project)
        return None
    except ConfigError as error:
        error.add_note(f"Without the application: --state {shlex.quote(str(project.state))}")
        raise


def base_of(given: Given, project: Project) -> Path:
    """What the application's file is named relative to."""
    return Path.cwd() if given.app is not None else project.folder


def bare(project: Project, purpose: Purpose, *, model: object = None) -> Runtime:
    """A Runtime without an application: with the workspace's tools for driving, without any for the rest."""
    if purpose in {*LOOKING, "answer"}:
        return Runtime()
    asking = [ask_user] if project.config.ask_user else []
    if project.config.workspace is None and (not asking if purpose == "tools" else model is None):
        raise ConfigError(
            f"There is no application. Nothing was started. Name one with --app, or as `app` in {FILE} "
            f"in {project.folder}; `callslip init` writes an example of both."
        )
    return Runtime(tools=[*workspace(project), *asking])


def workspace(project: Project) -> list[Any]:
    """The file tools over the workspace that callslip.toml names; none when it names none."""
    if project.workspace is None:
        return []
    if not project.workspace.is_dir():
        raise ConfigError(
            f"The workspace {project.workspace} is no folder. Nothing was started. Make it, or name another."
        )
    return list(workspace_tools(project.workspace, forbidden=project.config.forbidden, state=project.state))


_UNSAID: dict[str, Any] = {
    "limits": Limits(), "budgets": Budgets(), "routing": Routing(), "breakers": BreakerRules(), "capacities": {},
    "data": Data(), "timezone": "UTC", "system": "", "stream": False,
}  # fmt: skip
"""What an application's settings hold where it has said nothing; there the project's are taken."""


def configure(runtime: Runtime, given: Given, project: Project, purpose: Purpose, changes: dict[str, Any]) -> None:
    """Say to the runtime what it has left open."""
    own, config = runtime.settings, project.config
    said: dict[str, Any] = {}
    if given.state is not None or own.state is None:
        said["state"] = _state(given, project, purpose)
    if own.workspace is None and project.workspace is not None:
        said["workspace"] = project.workspace
    if own.policy is None and not own.decisions:
        said["decisions"] = config.policy
    said |= {name: getattr(config, name) for name, unsaid in _UNSAID.items() if getattr(own, name) == unsaid}
    said |= {"telemetry": config.telemetry} if purpose == "drive" and own.telemetry == Telemetry() else {}
    said |= {"audit": config.audit, "notify": config.notify, "base": project.folder}
    if isinstance(changes.get("model"), str):
        changes["model"] = _model(changes["model"], Path.cwd(), config)
    elif purpose == "drive" and own.model is None and config.model is not None:
        said["model"] = _model(config.model, project.folder, config, project.read)
    runtime.configure(**said | {name: value for name, value in changes.items() if value is not None})


def _state(given: Given, project: Project, purpose: Purpose) -> Path | None:
    """The state folder; ``None``, which is an empty log in memory, where looking must not make one."""
    if purpose == "drive" or (project.state / LEDGER_FILE).exists():
        return project.state
    if given.state is not None and not project.state.exists():
        raise ConfigError(f"There is no state folder {given.state}. Nothing was read or written.")
    if given.state is not None and purpose == "look" and not is_one(project.state):
        raise ConfigError(f"{given.state} is no state folder: it has no {LEDGER_FILE}. Nothing was read.")
    return None


def model_for(given: Given, name: str) -> Model:
    """A model by name, with the servers and options that the project says; for a runtime that is open already.

    Raises:
        ConfigError: there is none by that name. NotAccepted: a file of the project is not as accepted any more.
    """
    made: Model = _model(name, Path.cwd(), find(given).acting().config)
    return made


def _model(name: str, base: Path, config: Config, read: Callable[[Path], bytes] = Path.read_bytes) -> Any:
    """``base_url`` is the server of the project's own model; one of another kind is asked where it is at home."""
    url = server_of(name, config)
    made = build_model(name, base_url=url, options=config.model_options, read=read, base=base)
    missing = keyless(name, url)
    if missing is not None:
        raise ConfigError(f"The model {name.strip()} can't be asked: {missing}. Nothing was started. Set it.")
    return made


def server_of(name: str, config: Config) -> str | None:
    """Where the project has this model asked; ``None``: where it is at home."""
    kind = split(name)[0]
    servers: Mapping[str, str] = dict(config.servers.items())
    same = config.model is None or kind == split(config.model)[0]
    return servers.get(kind) or (config.base_url if same else None)


# Loading


def load(name: str, base: Path, project: Project) -> Runtime:
    """The Runtime behind ``module:attribute`` or ``file.py:attribute`` (relative to ``base``).

    Raises:
        ConfigError: it is not there, is none, or its own code fails.
        NotAccepted: it imports what was not accepted, even if it would do without.
    """
    target, colon, attribute = name.rpartition(":")
    if not (colon and target and attribute):
        raise ConfigError(
            f"The application {name!r} can't be understood. Nothing was started. Name it module:attribute or "
            "file.py:attribute, such as app.py:rt."
        )
    watch = _guard(project)
    before = len(watch.refused)
    is_file = target.endswith(".py") or os.sep in target
    try:
        path = base / Path(target).expanduser()
        module = _from_file(path, name, project) if is_file else _from_module(target, name, project)
        runtime = _made(name, _attribute(module, attribute, name))
        _shut_out(runtime.settings.workspace)
    except CallslipError:
        _check_refused(name, watch.refused[before:], project)
        raise
    _check_refused(name, watch.refused[before:], project)
    return runtime


def _check_refused(name: str, refused: Sequence[str], project: Project) -> None:
    if refused:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise NotAccepted(
            f"The application {name!r} can't be loaded: {refused[0]}{more}. Nothing was started. What may be accepted "
            f"is shown by: {project.command}"
        )


def _check_own_state(runtime: Runtime, project: Project) -> None:
    """An application that keeps its state elsewhere must not get round the keys that are enrolled there.

    Raises:
        NotAccepted: they have not signed what it is made of.
    """
    own = runtime.settings.state
    if project.forced or own is None or os.path.realpath(own) == os.path.realpath(project.state):
        return
    standing = trust_at(own.expanduser().absolute()).standing()
    made_of = {str(one.root): {name: files.digest(data) for name, data in one.files.items()} for one in project.checked}
    if not standing.advisory and any(standing.accepted.get(root, {}) != digests for root, digests in made_of.items()):
        raise NotAccepted(
            f"The application keeps its state in {own}, where keys are enrolled, but it was accepted in "
            f"{project.state}. Nothing was started. Name that folder as `state` in {FILE} or with --state, and accept "
            "it there with `callslip trust`."
        )


def _from_file(path: Path, name: str, project: Project) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"The application {name!r} has no file: {path} is not there. Nothing was started.")
    if path.suffix != ".py":
        raise ConfigError(f"{path} is no Python file. Nothing was started. Name one that ends in .py.")
    label = "callslip_app_" + re.sub(r"\W", "_", path.stem)
    spec = spec_of(label, str(path), project.read(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
    assert spec.loader is not None
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[label]
        raise _unloadable(name, error, path.parent) from error
    return module


def _from_module(target: str, name: str, project: Project) -> ModuleType:
    inside = project.workspace is not None and _within(project.folder, project.workspace)
    if not inside and str(project.folder) not in sys.path:
        sys.path.insert(0, str(project.folder))
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is None or not (target == error.name or target.startswith(f"{error.name}.")):
            raise _unloadable(name, error, project.folder) from error
        where = f"in {project.folder} or among what is installed"
        if inside:
            where = "(the project lies in the workspace, which tools write, so nothing is imported from there)"
        file = f"{target.replace('.', '/')}.py:{name.rpartition(':')[2]}"
        raise ConfigError(
            f"The application {name!r} was not found {where}. Nothing was started. Name its file, such as {file}."
        ) from error
    except BaseException as error:
        raise _unloadable(name, error, project.folder) from error


def _unloadable(name: str, error: BaseException, folder: Path) -> BaseException:
    if isinstance(error, CallslipError | KeyboardInterrupt):
        return error
    where = _line(error, folder)
    hint = ""
    if isinstance(error, ModuleNotFoundError):
        hint = " Install it, or, if it is a module beside the application, name the application as module:attribute."
    return ConfigError(
        f"The application {name!r} can't be loaded: {type(error).__name__}: {error}{where}. Nothing was started.{hint}"
    )


def _line(error: BaseException, folder: Path) -> str:
    """Where in the project the error came up."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""
    trace, found = error.__traceback__, ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if path.is_relative_to(folder):
            found = f" (in {path.name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _attribute(module: ModuleType, attribute: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        there = ", ".join(key for key, value in _runtimes(module)) or "none"
        raise ConfigError(
            f"The application {name!r} has no {attribute!r}. Nothing was started. The Runtimes there: {there}."
        ) from None


def _runtimes(module: ModuleType) -> Iterator[tuple[str, Runtime]]:
    for key, value in vars(module).items():
        if isinstance(value, Runtime):
            yield key, value


def _made(name: str, value: Any) -> Runtime:
    if not isinstance(value, Runtime) and callable(value):
        try:
            value = value()
        except Exception as error:
            if isinstance(error, CallslipError):
                raise
            raise ConfigError(
                f"The application {name!r} failed when it was called: {type(error).__name__}: {error}. "
                "Nothing was started. It must take no arguments and give a Runtime."
            ) from error
    if not isinstance(value, Runtime):
        raise ConfigError(
            f"The application {name!r} is of type {type(value).__name__}. Nothing was started. "
            "It must be a callslip.Runtime, or a function without arguments that gives one."
        )
    return value


def _guard(project: Project) -> Guard:
    """From now on what is imported from the project is what was accepted, and from the workspace nothing is."""
    _shut_out(project.workspace)
    made = guard()
    for one in project.checked:
        made.cover(one.root, one.files)
    return made


def _shut_out(workspace: Path | None) -> None:
    """Nothing that tools may write is ever imported: take the workspace off ``sys.path``, and refuse what lies in it.

    Raises:
        ConfigError: Python's own packages lie in it.
    """
    if workspace is not None:
        sys.path[:] = [entry for entry in sys.path if not _within(Path(entry or "."), workspace)]
        guard().shut(workspace)


def _within(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
