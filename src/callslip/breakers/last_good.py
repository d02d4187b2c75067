"""Where last good answers stand: in memory, or in a file of all processes that share a state folder.

The file outlives a reboot, as the logs do to which it points: how old an answer is follows from its record, by the wall
clock. It is not synced, so a power cut may leave rows that nobody wrote; each therefore says whether it is whole, and
one that isn't is none.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from callslip.errors import LedgerUnavailable
from callslip.machine_file import Busy, MachineFile
from callslip.ports.last_good import Place

MANY = 10_000
"""Answers whose places are kept."""
_VERSION = 2
_SCHEMA = """
create table if not exists good (
    number integer primary key autoincrement, key text not null unique, session text not null, seq integer not null,
    sum text not null
)
"""
_PURPOSE = "where it is known which earlier answers may serve once more"
_WITHOUT = "Until then, no earlier answer stands in for a tool that fails."
_DELETED = "Earlier answers are kept again by processes that begin from now on."
T = TypeVar("T")
_log = logging.getLogger(__name__)


class MemoryLastGood:
    """Implements ``LastGood`` within one process."""

    def __init__(self, many: int = MANY) -> None:
        self._many = many
        self._places: dict[str, Place] = {}

    def keep(self, key: str, place: Place) -> None:
        self._places.pop(key, None)
        self._places[key] = place
        if len(self._places) > self._many:
            del self._places[next(iter(self._places))]

    def find(self, key: str) -> Place | None:
        return self._places.get(key)

    def close(self) -> None:
        pass


class FileLastGood:
    """Implements ``LastGood`` over a file, which is opened at the first use. A busy one is not waited for, and one that
    can't be used is done without: nothing rests on it.
    """

    def __init__(self, path: Path, many: int = MANY) -> None:
        self._path = path
        self._many = many
        self._file: MachineFile | None = None
        self._unusable = False

    def keep(self, key: str, place: Place) -> None:
        self._do(lambda file: self._keep(file, key, place))

    def find(self, key: str) -> Place | None:
        return self._do(lambda file: _find(file, key))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _keep(self, file: MachineFile, key: str, place: Place) -> None:
        with file.transaction():
            row = (key, place.session, place.seq, _sum(key, place))
            adding = "insert or replace into good (key, session, seq, sum) values (?, ?, ?, ?)"
            number = file.db.execute(adding, row).lastrowid
            assert number is not None
            file.db.execute("delete from good where number <= ?", (number - self._many,))

    def _do(self, work: Callable[[MachineFile], T]) -> T | None:
        if self._unusable:
            return None
        try:
            if self._file is None:
                self._file = MachineFile(
                    self._path, _SCHEMA, version=_VERSION, patience=0, purpose=_PURPOSE, without=_WITHOUT,
                    deleted=_DELETED,
                )  # fmt: skip
            with self._file.told():
                return work(self._file)
        except Busy:
            return None
        except LedgerUnavailable as error:
            _log.warning("Earlier answers are not kept from here on: %s", error)
            self._unusable = True
            self.close()
            return None


def _find(file: MachineFile, key: str) -> Place | None:
    found = file.db.execute("select session, seq, sum from good where key = ?", (key,)).fetchone()
    if found is None:
        return None
    place = Place(*found[:2])
    return place if found[2] == _sum(key, place) else None


def _sum(key: str, place: Place) -> str:
    return hashlib.sha256(f"{key}\0{place.session}\0{place.seq}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
