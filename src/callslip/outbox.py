"""A local outbox: a tool that writes to its own SQL database records effect and idempotency key in one transaction.

Either both are there or neither, so the tool is ``recovery="probe"`` or ``"idempotent"`` for free::

    @tool(risk="write", recovery="idempotent", local_effect=True)
    def book(seat: str, context: Context) -> dict:
        with outbox.once(connection, context.idempotency_key) as entry:
            if not entry.done:
                connection.execute("insert into seats values (?)", (seat,))
                entry.record({"seat": seat})
        return entry.result

Written for :mod:`sqlite3` connections (any isolation level); the table is made at the first use.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from callslip.errors import UsageError

_CREATE = "create table if not exists callslip_outbox (key text primary key, result text not null) without rowid"


class Entry:
    """The place of one call in the outbox. ``done`` says that its effect is there already, with its ``result``."""

    def __init__(self, *, done: bool, result: Any) -> None:
        self.done = done
        self.result = result
        self.recorded = done

    def record(self, result: Any) -> None:
        """Name the call's result; committed together with whatever was written in the ``with`` block."""
        if self.recorded:
            raise UsageError("This call is in the outbox already; look at entry.done before doing it.")
        self.result = result
        self.recorded = True


@contextlib.contextmanager
def once(connection: sqlite3.Connection, key: str) -> Iterator[Entry]:
    """A transaction in which the call with this key takes effect at most once.

    Raises:
        UsageError: a transaction is open already, or the block ended without recording a result.
    """
    if connection.in_transaction:
        raise UsageError("The outbox needs a transaction of its own; commit what is open first. Nothing was written.")
    connection.execute("begin immediate")
    try:
        connection.execute(_CREATE)
        found, result = _find(connection, key)
        entry = Entry(done=found, result=result)
        yield entry
        if not entry.recorded:
            raise UsageError("The outbox block ended without entry.record(…). Nothing was written.")
        if not entry.done:
            connection.execute(
                "insert into callslip_outbox (key, result) values (?, ?)", (key, json.dumps(entry.result))
            )
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def lookup(connection: sqlite3.Connection, key: str) -> Entry:
    """What the outbox knows of a call: for the tool's probe."""
    exists = connection.execute("select 1 from sqlite_master where name = 'callslip_outbox'").fetchone()
    found, result = _find(connection, key) if exists else (False, None)
    return Entry(done=found, result=result)


def _find(connection: sqlite3.Connection, key: str) -> tuple[bool, Any]:
    row = connection.execute("select result from callslip_outbox where key = ?", (key,)).fetchone()
    return row is not None, json.loads(row[0]) if row is not None else None
