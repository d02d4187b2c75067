"""The project, its application, its model and the registration of its tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from callslip.application import Runtime
from callslip.cli.app import application, bare, server_of
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.cli.checks_of_routing import FOUND, check_routing
from callslip.cli.options import Given
from callslip.cli.project import Project, find
from callslip.cli.review import review
from callslip.config import FILE, Config
from callslip.core.routing import Routing
from callslip.errors import CallslipError, ConfigError
from callslip.gate.catalogue import Catalogue, Part, parts_of
from callslip.models import KINDS, NAMES, RECORDED, keyless, split, unbuildable
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
    finds: Routing | None = None
    """How tools are found, where any have to be."""


def check_application(given: Given, model: str | None = None) -> Application:
    """The project's settings, the application behind them, its model or the one that is named, its tools."""
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
    found += _models(project, own.model, model)
    tools = _tools(runtime, project)
    found += tools
    routing = own.routing if own.routing != Routing() else project.config.routing
    of_routing = [] if any(one.level == "bad" for one in tools) else check_routing(own.executors, routing)
    found += of_routing
    finds = any(one.subject == FOUND for one in of_routing)
    state = project.state if given.state is not None or own.state is None else own.state
    return Application(
        found, state, own.workspace or project.workspace, project.config, project.folder, routing if finds else None
    )


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


def _models(project: Project, own: Any, named: str | None) -> list[Finding]:
    """The model that answers, and what is there for those of other kinds."""
    name = named or project.config.model
    found = _model(project, name) if name is not None else []
    if named is None and own is not None:
        found = [ok("model", f"{getattr(own, 'name', type(own).__name__)}, chosen by the application")]
    if not found:
        found = [warn("model", "none: give --model, or `model` in callslip.toml; dispatching needs none")]
    others = [kind for kind in project.config.servers if kind != split(name or "")[0]]
    return found + [_reached(f"models {kind}", f"{kind}:NAME", project) for kind in others]


def _model(project: Project, name: str) -> list[Finding]:
    kind, rest = split(name)
    if kind == RECORDED and rest:
        there = (project.folder / rest).is_file()
        return [ok("model", f"{name}; not asked now") if there else bad("model", f"{name}: there is no such file")]
    if kind not in KINDS or not rest:
        return [bad("model", f"{unbuildable(name)} Name it {NAMES}.")]
    return [_reached("model", name, project)]


def _reached(subject: str, name: str, project: Project) -> Finding:
    """Where it would be asked, and whether there is a key."""
    kind = KINDS[split(name)[0]]
    url = server_of(name, project.config)
    missing, address = keyless(name, url), kind.address(url)
    if missing is not None:
        return bad(subject, f"{name}: {missing}")
    where = name if address == kind.url else f"{name} at {address}"
    if kind.key() is None:
        return warn(subject, f"{where}, without a key: {' or '.join(kind.keys)} is not set; not asked now")
    return ok(subject, f"{where}; not asked now")


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
            parts = parts_of(executor)
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
    return [*found, *_capacities(runtime, project, whole), *_asked(runtime, project, whole)]


def _capacities(runtime: Runtime, project: Project, whole: Sequence[Any]) -> list[Finding]:
    """Limits of tools that there are not. Tools come and go, so nothing is refused for that."""
    bound = {f"tool.{one.spec.name}" for one in whole}
    given = runtime.settings.capacities or project.config.capacities
    return [
        warn("capacities", f"{name!r} limits nothing: no tool {name.removeprefix('tool.')!r} is bound")
        for name in given
        if name.startswith("tool.") and name not in bound
    ]


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
