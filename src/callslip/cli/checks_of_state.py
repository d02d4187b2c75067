"""The state folder and the log in it. Looked at without making or changing anything."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import stat
from collections import Counter
from contextlib import closing
from pathlib import Path

from callslip.application import Runtime
from callslip.build import LEDGER_FILE
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.cli.standing import standing
from callslip.errors import CallslipError
from callslip.ledgers.connection import migrations
from callslip.ledgers.state_folder import open_state

_LITTLE, _TOO_LITTLE = 1 << 30, 50 << 20


def check_state(folder: Path, workspace: Path | None) -> list[Finding]:
    """The folder's place, owner and modes, the room on its disk, and the log's format."""
    if not folder.exists():
        return [warn("state folder", f"{folder} is not made yet; the first run makes it"), _room(folder)]
    try:
        open_state(folder, writable_roots=[workspace] if workspace is not None else [])
        info = folder.stat()
    except (CallslipError, OSError) as error:
        return [bad("state folder", str(error)), _room(folder)]
    mode = f"mode {stat.S_IMODE(info.st_mode):04o}, owner {_name(info.st_uid)}"
    place = ok("state folder", f"{folder} ({mode})")
    if not os.access(folder, os.W_OK):
        place = bad(
            "state folder", f"{folder} can't be written ({mode}); nothing could be recorded, so nothing would run"
        )
    return [place, _room(folder), _format(folder / LEDGER_FILE)]


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _room(folder: Path) -> Finding:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    level = bad if free < _TOO_LITTLE else warn if free < _LITTLE else ok
    size = f"{free / (1 << 30):.1f} GiB" if free >= _LITTLE else f"{free / (1 << 20):.0f} MiB"
    return level("disk", f"{size} free beside the log")


def _format(path: Path) -> Finding:
    if not path.exists():
        return ok("log", "none yet")
    known = len(list(migrations()))
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            version = int(connection.execute("pragma user_version").fetchone()[0])
            connection.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.Error as error:
        return bad("log", f"{path.name} can't be read ({error}); keep it, and restore a backup beside it")
    if version > known:
        return bad("log", f"format {version}, newer than this Callslip's {known}: use the one that wrote it")
    return ok("log", f"opens, format {version}, {path.stat().st_size / (1 << 20):.1f} MiB")


async def check_sessions(folder: Path) -> list[Finding]:
    """Who drives sessions now, and which were left behind."""
    if not (folder / LEDGER_FILE).exists():
        return []
    try:
        async with Runtime(state=folder) as runtime:
            heads = await runtime.sessions()
            words = {head.session: standing(head, runtime.parts.owners) for head in heads}
            waits = Counter(row.session for row in await runtime.parts.ledger.waits())
    except (CallslipError, OSError) as error:
        return [bad("sessions", str(error))]
    counted = ", ".join(f"{number} {word}" for word, number in Counter(words.values()).items()) or "none"
    found = [ok("sessions", counted)]
    owners = {head.owner.id for head in heads if head.owner is not None and words[head.session] == "running"}
    found.append(ok("owners alive", str(len(owners))))
    left = [session for session, word in words.items() if word == "interrupted"]
    if left:
        found.append(warn("interrupted", f"{', '.join(left[:5])}: `callslip resume` or a worker goes on"))
    if waits:
        found.append(warn("waits", f"{sum(waits.values())} to be answered: `callslip waits`"))
    return found
