"""Act six: one bit of a copy of the log is flipped, and verification names the record."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from demo import calls
from demo.act_ask import TOOL
from demo.commands import callslip
from demo.stage import Stage, euros

COPY = "altered"
_FIELD = b'"amount_cents":'
NOT_INTACT = 5
"""The exit code of ``callslip verify`` and ``callslip audit verify`` when something is wrong."""


def verified(stage: Stage) -> None:
    """Verify the log as it is, and a copy in which the amount was forged."""
    screen, claims = stage.screen, stage.claims
    screen.act(6, "Somebody alters the log")
    log = stage.log()
    code, _ = callslip(stage, "verify")
    screen.line()
    claims.check(f"the log verifies: {len(log)} records, each bound to all before it", code, 0)
    screen.line()
    forged = calls.dispatches(log, TOOL)[0]
    ledger = _copy(stage)
    screen.prose("In a copy, one bit of one byte is flipped, where the log says how much was paid:")
    if stage.options.sabotage != "no-flip":
        offset, before, after = _flip(ledger, forged)
        screen.fact(f"byte {offset:,}", f"{before} becomes {after}", color="red")
    claims.check("SQLite itself finds nothing wrong with the copy", _sqlite_says(ledger), "ok")
    screen.line()
    code, said = callslip(stage, "verify", "--state", COPY)
    screen.line()
    named = {int(number) for number in re.findall(r"record (\d+) is not what was written", said)}
    claims.check(f"verification names the record, {forged}, and no other", (code, named), (NOT_INTACT, {forged}))
    where = ", ".join(map(str, sorted(named))) or "none"
    stage.summary.append(("log", f"{len(log)} records verified; flipped bit found, in record {where}"))


def _copy(stage: Stage) -> Path:
    """A copy of the whole state folder. Its ledger, in one file."""
    shutil.copytree(stage.state, stage.folder / COPY)
    ledger = stage.folder / COPY / stage.ledger.name
    with closing(sqlite3.connect(ledger)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
    return ledger


def _flip(path: Path, seq: int) -> tuple[int, str, str]:
    """Flip one bit of the paid amount in that record, in the file itself. Where, and the amount before and after."""
    with closing(sqlite3.connect(path)) as database:
        (text,) = database.execute("select text from records where seq = ?", (seq,)).fetchone()
    data = bytearray(path.read_bytes())
    offset = data.index(text) + text.index(_FIELD) + len(_FIELD)
    before = _amount(data, offset)
    data[offset] ^= 8 if data[offset] in b"01" else 1
    path.write_bytes(data)
    return offset, before, _amount(data, offset)


def _amount(data: bytearray, offset: int) -> str:
    digits = re.match(rb"\d+", data[offset : offset + 20])
    assert digits is not None
    return euros(int(digits[0]))


def _sqlite_says(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return str(database.execute("pragma integrity_check").fetchone()[0])
