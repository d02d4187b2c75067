"""What all processes on this machine have seen of their tools, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from callslip.core.breaker import NEW, Breaker
from callslip.machine_file import MachineFile
from callslip.ports.ledger import Owner

_VERSION = 1
_SCHEMA = (
    "create table if not exists breaker (key text primary key, state blob not null, by text not null) without rowid"
)
_PURPOSE = "where processes tell each other which tools fail"
_WITHOUT = "Each process goes by what it sees of its tools itself."
_DELETED = "What others see is shared again by processes that begin from now on."
T = TypeVar("T")


class Row(msgspec.Struct, frozen=True):
    """A breaker, and who tries it if anybody does."""

    state: Breaker
    by: Owner | None = None


_STATE = msgspec.json.Decoder(Breaker)
_OWNER = msgspec.json.Decoder(Owner)
_encode = msgspec.json.Encoder().encode
_NONE = Row(NEW)


class Table:
    """One connection. ``patience``: how many seconds a busy file is waited for.

    Raises:
        LedgerUnavailable: the file can't be used. Busy: another process is in it.
    """

    def __init__(self, path: Path, *, patience: float) -> None:
        self._file = MachineFile(
            path, _SCHEMA, version=_VERSION, patience=patience, purpose=_PURPOSE, without=_WITHOUT, deleted=_DELETED
        )

    def version(self) -> int:
        """Another one whenever another connection has changed something."""
        return int(self._file.db.execute("pragma data_version").fetchone()[0])

    def rows(self) -> dict[str, Row]:
        with self._file.told():
            self._file.check()
            return self._rows()

    def change(self, work: Callable[[dict[str, Row]], T], keys: Iterable[str] | None = None) -> T:
        """Read these rows, or all, let ``work`` change them, and write what it changed; nobody comes between.

        A row that ``work`` takes out is deleted; one that is not there yet is new.
        """
        with self._file.told(), self._file.transaction():
            self._file.check()
            before = self._rows() if keys is None else {key: self._row(key) for key in keys}
            rows = dict(before)
            result = work(rows)
            for key in before.keys() - rows.keys():
                self._file.db.execute("delete from breaker where key = ?", (key,))
            for key, row in rows.items():
                if before.get(key) != row:
                    by = "" if row.by is None else _encode(row.by).decode()
                    self._file.db.execute(
                        "insert or replace into breaker values (?, ?, ?)", (key, _encode(row.state), by)
                    )
            return result

    def close(self) -> None:
        self._file.close()

    def _rows(self) -> dict[str, Row]:
        found = self._file.db.execute("select key, state, by from breaker").fetchall()
        return {key: _row(state, by) for key, state, by in found}

    def _row(self, key: str) -> Row:
        found = self._file.db.execute("select state, by from breaker where key = ?", (key,)).fetchone()
        return _NONE if found is None else _row(*found)


def _row(state: bytes, by: str) -> Row:
    return Row(_STATE.decode(state), _OWNER.decode(by) if by else None)
