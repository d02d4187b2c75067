"""What of a project differs from what was accepted, for a person to look at; and accepting it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from callslip.cli.keys_on_hand import Installation, who
from callslip.cli.options import Given
from callslip.cli.project import folder_of, known_state, roots_of, state_of, trust_at, written
from callslip.config import FILE, Config, parse_config
from callslip.core.principal import Role
from callslip.core.standing import Accepted, Standing
from callslip.errors import ConfigError
from callslip.ledgers.state_folder import open_state
from callslip.project import copies, files
from callslip.project.held import Change, changes
from callslip.project.shown import difference


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that the project is made of."""

    root: Path
    accepted: Mapping[str, str]
    now: Mapping[str, bytes]
    changes: tuple[Change, ...]

    @property
    def digests(self) -> dict[str, str]:
        return {name: files.digest(data) for name, data in self.now.items()}


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to accept, as it was read: what is shown is what is accepted."""

    state: Path
    known: Path
    """The state folder that is known without the project; mostly the same."""
    workspace: Path | None
    parts: tuple[Part, ...]

    @property
    def changes(self) -> list[Change]:
        return [change for part in self.parts for change in part.changes]

    def only(self, contents: Mapping[str, bytes]) -> Self:
        """With these files of the project's own folder, and no other."""
        part = msgspec.structs.replace(self.parts[0], now=dict(contents))
        part = msgspec.structs.replace(part, changes=changes(part.accepted, part.digests))
        return msgspec.structs.replace(self, parts=(part,))

    def shown(self, part: Part, change: Change) -> list[str]:
        """The lines that say what has changed in the file."""
        was = None
        if change.was:
            was = copies.kept(self.state, change.was)
            was = was if was is not None else copies.kept(self.known, change.was)
        return difference(change.path, was, part.now.get(change.path), kept=not change.was or was is not None)


def review(given: Given) -> Review:
    """The project as it is now, beside what was accepted of it.

    Raises:
        ConfigError: there is nothing to accept, or its callslip.toml means nothing.
        TrustBroken, StateRefused: what was accepted can't be known.
    """
    folder = folder_of(given)
    text = written(folder)
    config = Config() if text is None else parse_config(text, folder / FILE)
    state, known = state_of(given, folder, config), known_state(given, folder)
    workspace = folder / config.workspace if config.workspace is not None else None
    accepted = trust_at(state).standing().accepted
    apart = [state, known, *([workspace] if workspace is not None else [])]
    parts: list[Part] = []
    for root, named in roots_of(given, folder, config).items():
        now = files.covered(root, apart=apart, named=named)
        if text is not None and not parts:
            now[FILE] = text
        before = accepted.get(str(root), {})
        part = Part(root=root, accepted=before, now=now, changes=())
        parts.append(msgspec.structs.replace(part, changes=changes(before, part.digests)))
    if not any(part.now or part.accepted for part in parts):
        raise ConfigError(
            f"There is nothing to accept in {folder}: neither a {FILE} nor Python files. Nothing was done. "
            "`callslip init` writes an example."
        )
    made = Review(state=state, known=known, workspace=workspace, parts=tuple(parts))
    return made if text is None or known == state else _with_place(made, text)


def _with_place(made: Review, text: bytes) -> Review:
    """With callslip.toml among the changes if the place that it names for the state was not accepted."""
    first, *rest = made.parts
    before = trust_at(made.known, pinned=False).standing().accepted.get(str(first.root), {}).get(FILE, "")
    now = files.digest(text)
    if before == now or any(change.path == FILE for change in first.changes):
        return made
    change = Change(path=FILE, kind="changed" if before else "new", was=before, now=now)
    first = msgspec.structs.replace(first, changes=(change, *first.changes))
    return msgspec.structs.replace(made, parts=(first, *rest))


def accept(made: Review) -> str:
    """Record all of it, signed where a key is in force. Who did, and ``""`` when nobody's key is.

    Raises:
        NotAuthorised: no operator's key is on hand. StateRefused, LedgerUnavailable: nothing was recorded.
    """
    signed = _record(made, made.state, {part.root: part.now for part in made.parts if part.changes}, pinned=True)
    first = made.parts[0]
    if made.known != made.state and FILE in first.now:
        place = _record(made, made.known, {first.root: {FILE: first.now[FILE]}}, pinned=False)
        return (place or "") if signed is None else signed
    return signed or ""


def _record(made: Review, state: Path, contents: Mapping[Path, Mapping[str, bytes]], *, pinned: bool) -> str | None:
    """Who signed it, if anybody's key was needed; ``None``: it stands there already."""
    roots = [made.workspace] if made.workspace is not None else []
    folder = open_state(state, writable_roots=roots)
    trust = trust_at(folder, pinned=pinned)
    standing = trust.standing()
    said = {str(root): {name: files.digest(data) for name, data in now.items()} for root, now in contents.items()}
    new = {root: digests for root, digests in said.items() if standing.accepted.get(root) != digests}
    _keep(folder, standing, contents.values())
    if not new:
        return None
    by = who(Installation(folder, roots, trust), Role.OPERATOR)
    for root, digests in new.items():
        trust.state(Accepted(project=root, files=digests), by)
    return "" if standing.advisory else by.name


def _keep(folder: Path, standing: Standing, contents: Iterable[Mapping[str, bytes]]) -> None:
    data = [one for now in contents for one in now.values()]
    needed = {digest for names in standing.accepted.values() for digest in names.values()}
    with contextlib.suppress(OSError):  # it costs the next difference; what matters is written next
        copies.keep(folder, data, needed=needed | {files.digest(one) for one in data})
