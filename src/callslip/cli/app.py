"""Find the Runtime that a command works with: the project's application, or one made from callslip.toml.

What the command line says goes before what the application says, and that before callslip.toml. The workspace, which
tools write, is never importable.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import msgspec

from callslip.application import Runtime
from callslip.build import build_model
from callslip.cli.options import Given
from callslip.cli.reading import Reader
from callslip.config import FILE, Config, find_project, load_config, state_folder
from callslip.errors import CallslipError, ConfigError
from callslip.runtime.parts import Limits
from callslip.workspace.tools import workspace_tools

Purpose = Literal["look", "say", "answer", "tools", "drive"]
"""``look``, ``say`` and ``answer`` need no application, and the first two load none when the state folder is named.
``look`` writes nothing, so it works where nothing can be written. ``tools`` and
``drive`` take the workspace's tools where there is no application; only ``drive`` makes a state folder and needs a
model."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project: its folder, what its callslip.toml says, and where things lie by that."""

    folder: Path
    config: Config
    state: Path
    workspace: Path | None


def find(given: Given) -> Project:
    """The project the command is about.

    Raises:
        ConfigError: no such folder, or a callslip.toml that can't be used.
    """
    if given.project is not None and not given.project.is_dir():
        raise ConfigError(f"There is no project folder {given.project}. Nothing was started.")
    folder = given.project.absolute() if given.project is not None else find_project()
    config = load_config(folder)
    state = given.state.absolute() if given.state is not None else state_folder(folder, config.state)
    workspace = folder / config.workspace if config.workspace is not None else None
    return Project(folder=folder, config=config, state=state, workspace=workspace)


def runtime_for(given: Given, purpose: Purpose, **changes: Any) -> Runtime:
    """The project's Runtime, configured and not opened yet. ``changes`` are settings the command itself decides.

    Raises:
        ConfigError: what is missing or wrong, and what to do about it.
    """
    project = find(given)
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
    """The application the command line or callslip.toml names; ``None`` when neither does, or it isn't needed."""
    if given.app is not None:
        return load(given.app, Path.cwd(), project)
    if project.config.app is None or (purpose in {"look", "say"} and given.state is not None):
        return None
    return load(project.config.app, project.folder, project)


def bare(project: Project, purpose: Purpose, *, model: object = None) -> Runtime:
    """A Runtime without an application: with the workspace's tools for driving, without any for the rest."""
    if purpose in {"look", "say", "answer"}:
        return Runtime()
    if project.config.workspace is None and (purpose == "tools" or model is None):
        raise ConfigError(
            f"There is no application. Nothing was started. Name one with --app, or as `app` in {FILE} "
            f"in {project.folder}; `callslip init` writes an example of both."
        )
    return Runtime(tools=workspace(project))


def workspace(project: Project) -> list[Any]:
    """The file tools over the workspace that callslip.toml names; none when it names none."""
    if project.workspace is None:
        return []
    if not project.workspace.is_dir():
        raise ConfigError(
            f"The workspace {project.workspace} is no folder. Nothing was started. Make it, or name another."
        )
    return list(workspace_tools(project.workspace, forbidden=project.config.forbidden, state=project.state))


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
    if own.limits == Limits():
        said["limits"] = config.limits
    if not own.system:
        said["system"] = config.system
    if not own.stream:
        said["stream"] = config.stream
    if isinstance(changes.get("model"), str):
        changes["model"] = _model(changes["model"], Path.cwd(), config)
    elif purpose == "drive" and own.model is None and config.model is not None:
        said["model"] = _model(config.model, project.folder, config)
    runtime.configure(**said | {name: value for name, value in changes.items() if value is not None})


def _state(given: Given, project: Project, purpose: Purpose) -> Path | None:
    """The state folder; ``None``, which is an empty log in memory, where looking must not make one."""
    if purpose == "drive" or project.state.exists():
        return project.state
    if given.state is not None:
        raise ConfigError(f"There is no state folder {given.state}. Nothing was read or written.")
    return None


def _model(name: str, base: Path, config: Config) -> Any:
    kind, _, rest = name.partition(":")
    if kind == "recorded" and rest:
        name = f"recorded:{base / Path(rest).expanduser()}"
    return build_model(name, base_url=config.base_url)


# Loading


def load(name: str, base: Path, project: Project) -> Runtime:
    """The Runtime behind ``module:attribute`` or ``file.py:attribute`` (relative to ``base``).

    Raises:
        ConfigError: it is not there, is none, or its own code fails.
    """
    target, colon, attribute = name.rpartition(":")
    if not (colon and target and attribute):
        raise ConfigError(
            f"The application {name!r} can't be understood. Nothing was started. Name it module:attribute or "
            "file.py:attribute, such as app.py:rt."
        )
    _shut_out(project.workspace)
    is_file = target.endswith(".py") or os.sep in target
    module = _from_file(base / Path(target).expanduser(), name) if is_file else _from_module(target, name, project)
    runtime = _made(name, _attribute(module, attribute, name))
    _shut_out(runtime.settings.workspace)
    return runtime


def _from_file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"The application {name!r} has no file: {path} is not there. Nothing was started.")
    label = "callslip_app_" + re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(label, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file. Nothing was started. Name one that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
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


def _shut_out(workspace: Path | None) -> None:
    """Take the workspace off ``sys.path``: what tools write there must never be imported."""
    if workspace is not None:
        sys.path[:] = [entry for entry in sys.path if not _same(Path(entry or "."), workspace)]


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _within(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
