"""Find the project a command is about, and of it what may act: what a person accepted (GATE-09).

Where the state lies decides what was accepted, so no file of the project has a say in it before it was accepted itself:
``callslip.toml`` must be accepted in the state folder that is known without it, and everything in the state folder that
it names (docs/adr/0015).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec

from callslip.cli import look
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.clocks.system import SystemClock
from callslip.config import FILE, Config, find_project, parse_config, state_folder
from callslip.core.standing import Standing
from callslip.errors import CallslipError, ConfigError, NotAccepted
from callslip.ledgers.state_folder import check_is_one
from callslip.notify.endpoint import CommandEndpoint
from callslip.project import copies, files
from callslip.project.checked import Checked, check
from callslip.project.held import Change, refusal
from callslip.trust.file import FileTrust
from callslip.trust.owned_file import out_of_reach

_NAMED = 4
"""Files that a note names."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project: its folder, what its callslip.toml says, and where things lie by that."""

    folder: Path
    config: Config
    """As far as it was accepted: while the file is held, what it said before, or nothing."""
    state: Path
    workspace: Path | None
    checked: tuple[Checked, ...] = ()
    """What was accepted and checked, a folder at a time; of callslip.toml's own comes first."""
    held: CallslipError | None = None
    """Why nothing of the project may act."""
    differ: tuple[Change, ...] = ()
    """The files of it that are not as accepted."""
    heard: bool = True
    """Whether it is known what callslip.toml said when it was accepted."""
    moved: bool = False
    """What is held names another state folder."""
    forced: bool = False
    """The command line names the state folder, over whatever the project says."""
    command: str = "callslip trust"
    """What lets a person accept it."""

    def acting(self) -> Self:
        """The same, if it may act.

        Raises:
            NotAccepted: a file is not the one that was accepted. TrustBroken, StateRefused: that can't be known.
        """
        if self.held is not None:
            raise self.held
        return self

    def settled(self) -> Self:
        """The same, if no file that is held names another state folder.

        Raises:
            NotAccepted: one does.
        """
        return self.acting() if self.moved else self

    def source(self, path: Path) -> bytes | None:
        """The accepted bytes of a file."""
        return next((data for one in self.checked if (data := one.get(path)) is not None), None)

    def read(self, path: Path) -> bytes:
        """The same for a file that must have been accepted.

        Raises:
            NotAccepted: it was not. FileNotFoundError: there is none.
        """
        data = self.source(path)
        if data is None:
            path.lstat()
            raise refusal([Change(path=str(path), kind="new")], command=self.command)
        return data


_Heard = tuple[Config | None, CallslipError | None, tuple[Change, ...]]


def find(given: Given) -> Project:
    """The project the command is about.

    Raises:
        ConfigError: no such folder, or a callslip.toml that can't be used.
    """
    folder = folder_of(given)
    text = written(folder)
    known = known_state(given, folder)
    said, held, differ = (Config(), None, ()) if text is None else _heard(given, folder, text, known)
    config = said or Config()
    state = state_of(given, folder, config)
    workspace = folder / config.workspace if config.workspace is not None else None
    project = Project(
        folder=folder,
        config=config,
        state=state,
        workspace=workspace,
        held=held,
        differ=differ,
        heard=said is not None,
        forced=given.state is not None,
        command=given.command("trust"),
    )
    if held is None:
        return _checked(given, project, text)
    try:
        said = parse_config(text or b"", folder / FILE)
    except ConfigError:
        return project
    # What is held may still say what tools write: that only ever forbids.
    workspace = folder / said.workspace if said.workspace is not None else workspace
    return msgspec.structs.replace(project, workspace=workspace, moved=state_of(given, folder, said) != state)


def folder_of(given: Given) -> Path:
    """The project's folder: as given, or where callslip.toml is, or the application's when there is none.

    Raises:
        ConfigError: no such folder.
    """
    if given.project is not None:
        if not given.project.is_dir():
            raise ConfigError(f"There is no project folder {given.project}. Nothing was started.")
        return given.project.absolute()
    found = find_project()
    file = file_of(given.app, Path.cwd())
    if file is None or (found / FILE).is_file() or not file.parent.is_dir():
        return found
    return file.parent.absolute()


def file_of(name: str | None, base: Path) -> Path | None:
    """The file of an application that is named by one."""
    target = (name or "").rpartition(":")[0]
    return base / Path(target).expanduser() if target.endswith(".py") or os.sep in target else None


def application_file(given: Given, folder: Path, config: Config) -> Path | None:
    """The application's file, if the command line or the configuration names one."""
    return file_of(given.app, Path.cwd()) if given.app is not None else file_of(config.app, folder)


def written(folder: Path) -> bytes | None:
    """What stands in the folder's callslip.toml; ``None`` when there is none.

    Raises:
        ConfigError: it can't be read.
    """
    text = files.read(folder / FILE)
    if text is None and os.path.lexists(folder / FILE):
        raise ConfigError(f"{folder / FILE} can't be read. Nothing was started. Make it a file that you may read.")
    return text


def known_state(given: Given, folder: Path) -> Path:
    """The state folder as far as no file of the project is asked."""
    return state_of(given, folder, Config())


def state_of(given: Given, folder: Path, config: Config) -> Path:
    """The state folder when callslip.toml says this.

    Raises:
        ConfigError, StateRefused: the command line names something that is none.
    """
    if given.state is None:
        return state_folder(folder, config.state)
    check_is_one(given.state.absolute())
    return given.state.absolute()


def trust_at(state: Path, *, pinned: bool = True) -> FileTrust:
    """What a state folder trusts. Not ``pinned``: whoever its root is."""
    return FileTrust(state, clock=SystemClock(), root=None if pinned else "")


def roots_of(given: Given, folder: Path, config: Config) -> dict[Path, list[Path]]:
    """The folders that the project is made of, resolved, each with the files that must have been accepted in it.

    There is a second one when the application's file lies outside the project.
    """
    root = Path(os.path.realpath(folder))
    roots = {root: list(named_by(folder, config))}
    file = application_file(given, folder, config)
    if file is not None:
        place = Path(os.path.realpath(file.parent))
        roots.setdefault(root if place.is_relative_to(root) else place, []).append(file)
    return roots


def named_by(folder: Path, config: Config) -> Iterable[Path]:
    """The configuration, and the files it names beside the application's: recordings, and programs in the project."""
    yield folder / FILE
    root = Path(os.path.realpath(folder))
    anchor = config.audit.anchor if isinstance(config.audit.anchor, tuple) else ()
    commands = [endpoint.argv for endpoint in config.notify if isinstance(endpoint, CommandEndpoint)]
    for word in (word for command in (anchor, *commands) for word in command):
        path = folder / word
        if os.path.isfile(path) and not os.path.isabs(files.key(root, path)):  # noqa: PTH113, PTH117 - words, not paths
            yield path
    kind, _, rest = (config.model or "").partition(":")
    if kind == "recorded" and rest:
        path = folder / Path(rest).expanduser()
        yield from path.glob("*.json") if path.is_dir() else [path]


def _heard(given: Given, folder: Path, text: bytes, known: Path) -> _Heard:
    """The configuration that may act, why not all of it may, and what of the project differs."""
    root = Path(os.path.realpath(folder))
    try:
        accepted = _standing(known, pinned=False).accepted.get(str(root), {})
    except CallslipError as error:
        return None, error, ()
    if accepted.get(FILE) == files.digest(text):
        return parse_config(text, folder / FILE), None, ()
    held = check(root, accepted, [folder / FILE], known={FILE: text}).held
    before = copies.kept(known, accepted[FILE]) if FILE in accepted else None
    config = None if before is None else parse_config(before, folder / FILE)
    return config, refusal(held, command=given.command("trust")), held


def _checked(given: Given, project: Project, text: bytes | None) -> Project:
    """The project with everything checked that was accepted and is needed."""
    known = {FILE: text} if text is not None else {}
    try:
        if project.workspace is not None:
            for place in {project.state, known_state(given, project.folder)}:
                out_of_reach(place, [project.workspace], "state folder")
        roots = roots_of(given, project.folder, project.config)
        accepted = _standing(project.state).accepted if known or given.app is not None else {}
    except CallslipError as error:
        return msgspec.structs.replace(project, held=error)
    checked = tuple(
        check(root, accepted.get(str(root), {}), needed, known=known if place == 0 else {})
        for place, (root, needed) in enumerate(roots.items())
    )
    held = [
        change if place == 0 else msgspec.structs.replace(change, path=str(one.root / change.path))
        for place, one in enumerate(checked)
        for change in one.held
    ]
    why = refusal(held, command=project.command) if held else None
    return msgspec.structs.replace(project, checked=checked, held=why, differ=tuple(held))


def _standing(state: Path, *, pinned: bool = True) -> Standing:
    return trust_at(state, pinned=pinned).standing()


def tell_unaccepted(given: Given) -> None:
    """Tell what comes before any next step in a state folder where the project has not been accepted."""
    project = find(given)
    if isinstance(project.held, NotAccepted):
        look.say(f"  first: {project.command} (it is not accepted in that state folder)")


def say_held(project: Project) -> None:
    """Tell who only looks that the project's files are not used, why, and so where they look."""
    look.murmur(f"{look.mark('warn')} {one_line(_why_unused(project))}")


def _why_unused(project: Project) -> str:
    if not isinstance(project.held, NotAccepted):
        return f"{project.held} Looking in {project.state}."
    rest = "--state names another folder; `callslip trust --check` says what differs."
    fresh = all(change.kind == "new" for change in project.differ)
    if fresh and project.moved:
        return f"{FILE} is not accepted, so its `state` is not used; looking in {project.state}. {rest}"
    named = [change.path for change in project.differ[:_NAMED]] or ["Files of the project"]
    if len(project.differ) > _NAMED:
        named.append(f"{len(project.differ) - _NAMED:,} more")
    names = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    one = len(named) == 1 and bool(project.differ)
    if fresh:
        verb, pronoun = ("was", "it is") if one else ("were", "they are")
        return f"{names} {verb} never accepted, so {pronoun} not used; looking in {project.state}. {rest}"
    verb, pronoun = ("is", "it is") if one else ("are", "they are")
    where = (
        "Reading the state folder that was accepted last:" if project.heard else "What was accepted is lost; looking in"
    )
    return f"{names} {verb} not as accepted, so {pronoun} not used. {where} {project.state}. {rest}"
