"""The project, its application, its model and the registration of its tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from callslip.application import Runtime
from callslip.cli.app import application, bare
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.cli.options import Given
from callslip.cli.project import Project, find
from callslip.cli.review import review
from callslip.config import FILE, Config
from callslip.errors import CallslipError, ConfigError
from callslip.gate.catalogue import Catalogue, Part
from callslip.models import KINDS, NAMES, RECORDED
from callslip.policies.by_risk import DEFAULTS

_NAMED = 6
"""Files that are named."""
_PARTS = ("spec", "version", "identity", "check", "prepare", "run", "probe", "digest")


class Application(NamedTuple):
    """What was found, and where the rest is to be looked for."""

    findings: list[Finding]
    state: Path | None
    workspace: Path | None
    config: Config | None = None
    """The accepted one, …"""
    folder: Path | None = None
    """… and what its paths are relative to."""


def check_application(given: Given) -> Application:
    """The project's settings, the application behind them, its model, its tools."""
    try:
        project = find(given)
    except ConfigError as error:
        return Application([bad("project", str(error))], given.state, None)
    there = (project.folder / FILE).is_file()
    found = [ok("project", f"{project.folder / FILE}" if there else f"{project.folder}, without a {FILE}")]
    found += _accepted(given, project)
    if project.held is not None:
        return Application(found, project.state, project.workspace)
    named = given.app or project.config.app
    try:
        runtime = application(given, project, "drive") or bare(project, "tools")
    except CallslipError as error:
        found.append(bad("application", str(error)))
        return Application(found, project.state, project.workspace, project.config, project.folder)
    found.append(ok("application", named or f"none: the workspace's tools, by {FILE}"))
    own = runtime.settings
    found += _model(project, own.model)
    found += _tools(runtime, project)
    state = project.state if given.state is not None or own.state is None else own.state
    return Application(found, state, own.workspace or project.workspace, project.config, project.folder)


def _accepted(given: Given, project: Project) -> list[Finding]:
    """GATE-09: whether the project's files are the accepted ones, and which would not be imported."""
    if project.held is not None:
        try:
            review(given)
        except ConfigError as error:
            return [bad("project", str(error))]
        except CallslipError:
            pass
        return [bad("accepted files", str(project.held))]
    count = sum(len(one.files) for one in project.checked)
    if not project.checked:
        return []
    try:
        new = [change.path for change in review(given).changes]
    except CallslipError as error:
        return [bad("accepted files", str(error))]
    if new:
        more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        names = ", ".join(new[:_NAMED])
        return [warn("accepted files", f"{count} as accepted; not importable yet: {names}{more} ({project.command})")]
    return [ok("accepted files", f"{count}, as they were accepted in {project.state}")]


def _model(project: Project, own: Any) -> list[Finding]:
    if own is not None:
        return [ok("model", f"{getattr(own, 'name', type(own).__name__)}, chosen by the application")]
    name = project.config.model
    if name is None:
        return [warn("model", "none: give --model, or `model` in callslip.toml; dispatching needs none")]
    kind, _, rest = name.partition(":")
    if kind == "recorded" and not (project.folder / rest).is_file():
        return [bad("model", f"{name}: there is no such file")]
    if kind == RECORDED and rest:
        return [ok("model", f"{name}; not asked now")]
    known = KINDS.get(kind)
    if known is None or not rest:
        return [bad("model", f"{name} can't be built; name it {NAMES}")]
    address = known.address(project.config.servers.get(kind) or project.config.base_url)
    if address == known.url and known.key() is None:
        return [bad("model", f"{name}: {' or '.join(known.keys)} is not set, and no base_url names another server")]
    return [ok("model", f"{name}{'' if address == known.url else f' at {address}'}; not asked now")]


def _tools(runtime: Runtime, project: Project) -> list[Finding]:
    """SPEC-03: each tool's registration in three parts; what is missing where something is."""
    own = runtime.settings
    executors: Sequence[Any] = own.executors
    if not executors:
        return [bad("tools", f"the registry is empty: give tools to Runtime(tools=[…]), or name a workspace in {FILE}")]
    found, whole = [], []
    for place, executor in enumerate(executors, 1):
        missing = [part for part in _PARTS if not hasattr(executor, part)]
        if missing:
            what = getattr(executor, "__name__", type(executor).__name__)
            plain = "; put @tool on it" if callable(executor) else ""
            found.append(
                bad("tool", f"number {place}, {what}, is only half a tool: it has no {', '.join(missing)}{plain}")
            )
            continue
        try:
            parts = list(Catalogue([executor]).parts())
        except CallslipError as error:
            found.append(bad(f"tool {executor.spec.name}", str(error)))
            continue
        whole.append(executor)
        good = all(part.ok for part in parts)
        detail = ", ".join(_plain(part) for part in parts)
        found.append((ok if good else bad)(f"tool {executor.spec.name}", detail))
    try:
        Catalogue(whole)
    except CallslipError as error:
        found.append(bad("tools", str(error)))
    if len(whole) < len(executors):
        found.append(bad("tools", f"the registry is half-loaded: {len(whole)} of {len(executors)} tools can be bound"))
    return found + _asked(runtime, project, whole)


def _plain(part: Part) -> str:
    """A part of a registration for people: schema, what runs it, what models are shown."""
    if not part.ok:
        return f"{part.part} WRONG: {part.detail}"
    if part.part == "schema":
        return f"schema {part.detail}"
    return part.detail if part.part == "executor" else f"shown as {part.detail}"


def _asked(runtime: Runtime, project: Project, whole: Sequence[Any]) -> list[Finding]:
    """Which tools a person is asked about."""
    if runtime.settings.policy is not None:
        return []
    decisions = {**DEFAULTS, **(runtime.settings.decisions or project.config.policy)}
    said = {
        one.spec.name: decisions.get(f"tool.{one.spec.name}", decisions.get(one.spec.risk.value, "")) for one in whole
    }
    asked = [name for name, decision in said.items() if decision.startswith("ask")]
    return [ok("approvals", f"a person is asked about: {', '.join(asked)}" if asked else "no tool needs any")]
