"""What may be imported: of the project, the accepted files as they were checked; of the workspace, nothing.

A finder in front of Python's own judges whatever they find, and a hook beside them finds in the project's folders, so
that a file that appears between two looks is not taken either. A module of the project is compiled from the bytes that
were checked when the process began: no ``__pycache__`` is read, and no later change takes part. Folders are known by
their identity, not by how they are spelled. Installed packages are not judged, wherever they lie.

It does not reach code that reads and executes files by itself (``runpy.run_path``, ``spec_from_file_location``), or
other processes (docs/howto/trust-a-project.md), except those of tools that are declared with ``process=True``: it
stands there as well.
"""

from __future__ import annotations

import base64
import importlib.abc
import importlib.machinery
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from callslip.errors import ConfigError

_Mark = tuple[int, int]
"""A folder's device and inode."""
_REMEMBERED = 1000
"""Refusals; a tool may try the same one again and again."""
_KINDS = (
    (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
    (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
    (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
)


class HeldImport(ImportError):
    """A module that may not be imported; its text says why."""


class CheckedLoader(importlib.machinery.SourceFileLoader):
    """Executes the given source under the file's name, and reads no file for it."""

    def __init__(self, fullname: str, path: str, source: bytes) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        return self._source if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self._source, self.path)
        return code


def spec_of(fullname: str, path: str, source: bytes, *, package: bool = False) -> ModuleSpec:
    """A module that is made from this source."""
    spec = importlib.util.spec_from_file_location(
        fullname,
        path,
        loader=CheckedLoader(fullname, path, source),
        submodule_search_locations=[os.path.dirname(path)] if package else None,
    )
    assert spec is not None
    return spec


class Guard(importlib.abc.MetaPathFinder):
    """Stands first in ``sys.meta_path``. There is one in a process: :func:`guard`."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        """What was asked for and not given, oldest first."""
        self._sources: dict[_Mark, Mapping[str, bytes]] = {}
        self._shut: dict[_Mark, Path] = {}
        self._installed = {mark for mark in map(_mark, _installed()) if mark is not None}
        self._elsewhere: set[str] = set()
        """Folders that lie in none of them; nobody who is guarded against can change that."""

    def cover(self, root: Path, sources: Mapping[str, bytes]) -> None:
        """From now on only these modules of the folder can be imported."""
        mark = _mark(root)
        if mark is not None:
            self._sources[mark] = sources
            self._forget()

    def shut(self, folder: Path) -> None:
        """From now on nothing in this folder can be imported.

        Raises:
            ConfigError: Python's own packages lie in it.
        """
        mark = _mark(folder)
        if mark is None:
            return
        for place in _installed():
            spellings = (os.path.join(place, "x"), os.path.join(os.path.realpath(place), "x"))
            if any(above == mark for spelling in spellings for above, _ in _above(spelling)):
                raise ConfigError(
                    f"The workspace {folder} holds the packages that this Python runs ({place}): a tool could rewrite "
                    "them, Callslip too. Nothing was started. Keep the virtual environment outside the workspace."
                )
        self._shut[mark] = folder
        self._forget()

    def elsewhere(self) -> dict[str, Any]:
        """How to stand in another process as well: by which function of which module, and with what, as JSON."""
        return {
            "module": __name__,
            "function": "stand",
            "data": {
                "sources": [[*mark, _text_of(sources)] for mark, sources in self._sources.items()],
                "shut": [[*mark, str(folder)] for mark, folder in self._shut.items()],
                "installed": [list(mark) for mark in self._installed],
            },
        }

    def stand(self, data: Mapping[str, Any]) -> None:
        """Guard what another process guards, by what :meth:`elsewhere` says there."""
        for device, inode, sources in data["sources"]:
            self._sources[device, inode] = {name: base64.b64decode(text) for name, text in sources.items()}
        for device, inode, folder in data["shut"]:
            self._shut[device, inode] = Path(folder)
        self._installed.update((device, inode) for device, inode in data["installed"])
        self._forget()

    def _forget(self) -> None:
        self._elsewhere.clear()
        sys.path_importer_cache.clear()

    # Finding

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the finders behind find, if it may be imported."""
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if find is None or isinstance(finder, Guard):
                continue
            spec: ModuleSpec | None = find(fullname, path, target)
            if spec is not None:
                return self.judged(spec)
        return None

    def hook(self, entry: str) -> importlib.abc.PathEntryFinder:
        """For ``sys.path_hooks``: a finder for a folder or an archive of the project or the workspace.

        Raises:
            ImportError: it lies elsewhere; others find there.
        """
        entry = os.path.abspath(entry or os.curdir)
        place = self._place(os.path.join(entry, "x"))
        if place is None:
            raise ImportError("not in the project", path=entry)
        if os.path.isdir(entry) or not os.path.exists(entry):
            return _Folder(entry, self, {} if place.shut else place.sources, place.rest.rpartition("/")[0])
        for other in list(sys.path_hooks):
            if other != self.hook:
                try:
                    return _Archive(other(entry), self)
                except ImportError:
                    continue
        raise ImportError("no archive", path=entry)

    # Judging

    def judged(self, spec: ModuleSpec) -> ModuleSpec:
        """The same, or one that is made from checked bytes.

        Raises:
            HeldImport: it may not be imported.
        """
        if not spec.has_location or spec.origin is None or isinstance(spec.loader, CheckedLoader):
            return spec
        place = self._place(spec.origin)
        if place is None:
            return spec
        source = None if place.shut else place.sources.get(place.rest)
        if source is None or not spec.origin.endswith(tuple(importlib.machinery.SOURCE_SUFFIXES)):
            self.refuse(spec.name, spec.origin, shut=place.shut)
        assert source is not None
        return spec_of(spec.name, spec.origin, source, package=spec.submodule_search_locations is not None)

    def refuse(self, fullname: str, path: str, *, shut: Path | None) -> None:
        """Tell why not, and remember it.

        Raises:
            HeldImport: always.
        """
        if shut is not None:
            why = f"{path} lies in the workspace {shut}, which tools write, so it is never imported"
        elif not path.endswith(tuple(importlib.machinery.SOURCE_SUFFIXES)) or not os.path.isfile(path):
            why = f"{path} is not plain Python source, so it can't be accepted; install it, outside the project"
        else:
            why = f"{path} was not accepted, so nothing of it is executed"
        if len(self.refused) < _REMEMBERED:
            self.refused.append(why)
        raise HeldImport(why, name=fullname, path=path)

    def shut_in(self, folder: str) -> bool:
        """Whether the folder lies in the workspace."""
        place = self._place(os.path.join(folder, "x"))
        return place is not None and place.shut is not None

    def _place(self, path: str) -> _Place | None:
        """Where the file lies, by its name and by its real place; ``None``: neither in a project nor shut."""
        folder = os.path.dirname(path)
        if folder in self._elsewhere and not os.path.islink(path):
            return None
        found: _Place | None = None
        for spelling in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
            place = self._walk(spelling)
            if place is not None and place.shut is not None:
                return place
            found = found or place
        if found is None and not os.path.islink(path):
            self._elsewhere.add(folder)
        return found

    def _walk(self, path: str) -> _Place | None:
        found: _Place | None = None
        installed = False
        for mark, rest in _above(path):
            if mark in self._shut:
                return _Place({}, rest, self._shut[mark])
            installed = installed or mark in self._installed
            if found is None and not installed and mark in self._sources:
                found = _Place(self._sources[mark], rest, None)
        return found


class _Place:
    """Where a file lies: in which project and under what name, or in what is shut."""

    __slots__ = ("rest", "shut", "sources")

    def __init__(self, sources: Mapping[str, bytes], rest: str, shut: Path | None) -> None:
        self.sources, self.rest, self.shut = sources, rest, shut


class _Folder(importlib.machinery.FileFinder):
    """Finds in one folder: the checked modules whatever lies there now, and of the rest only to refuse it."""

    def __init__(self, path: str, guard: Guard, sources: Mapping[str, bytes], name: str) -> None:
        super().__init__(path, *_KINDS)
        self._guard = guard
        self._sources = sources
        self._name = f"{name}/" if name else ""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        tail = fullname.rpartition(".")[2]
        for inside, package in ((f"{tail}/__init__.py", True), (f"{tail}.py", False)):
            source = self._sources.get(self._name + inside)
            if source is not None:
                return spec_of(fullname, os.path.join(self.path, inside), source, package=package)
        spec = super().find_spec(fullname, target)
        if spec is None or spec.loader is not None:
            return None if spec is None else self._guard.judged(spec)
        # A part of a namespace package: a folder without code of its own.
        places = [place for place in spec.submodule_search_locations or () if not self._guard.shut_in(place)]
        spec.submodule_search_locations = places
        return spec if places else None


class _Archive(importlib.abc.PathEntryFinder):
    """Finds in an archive, only to refuse it."""

    def __init__(self, finder: Any, guard: Guard) -> None:
        self._finder = finder
        self._guard = guard

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        spec: ModuleSpec | None = self._finder.find_spec(fullname, target)
        return None if spec is None else self._guard.judged(spec)


def guard() -> Guard:
    """The process's guard, in its place."""
    found = next((finder for finder in sys.meta_path if isinstance(finder, Guard)), None)
    if found is None:
        found = Guard()
        sys.meta_path.insert(0, found)
        sys.path_hooks.insert(0, found.hook)
        sys.path_importer_cache.clear()
    return found


def stand(data: Mapping[str, Any]) -> None:
    """Guard the imports of this process as those of another are: for the process of a tool."""
    guard().stand(data)


def _text_of(sources: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(source).decode() for name, source in sources.items()}


def _installed() -> Iterable[str]:
    """The folders of the standard library, of installed packages, and of Callslip itself."""
    paths = sysconfig.get_paths()
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    named = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    ours = str(Path(__file__).parents[1])
    return dict.fromkeys([*named, *site.getsitepackages(), *user, ours])


def _mark(folder: str | Path) -> _Mark | None:
    try:
        info = os.stat(folder)
    except OSError:
        return None
    return (info.st_dev, info.st_ino)


def _above(path: str) -> Iterator[tuple[_Mark, str]]:
    """Each folder above an absolute path by its identity, nearest first, and the path's rest below it."""
    rest = ""
    while True:
        folder, name = os.path.split(path)
        if folder == path:
            return
        rest = f"{name}/{rest}" if rest else name
        mark = _mark(folder)
        if mark is not None:
            yield mark, rest
        path = folder
