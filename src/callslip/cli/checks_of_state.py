"""The state folder and the log in it. Looked at without making or changing anything."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import stat
from collections import Counter
from pathlib import Path

from callslip.build import LEDGER_FILE, Settings
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.cli.reading import Reader
from callslip.cli.standing import standing
from callslip.errors import CallslipError, LogBroken
from callslip.ledgers.connection import migrations, translate, why_refused
from callslip.ledgers.sqlite_reader import damages, looking
from callslip.ledgers.state_folder import open_state

_LITTLE, _TOO_LITTLE = 1 << 30, 50 << 20
_PATIENCE = 3.0
"""Seconds for a look through the database's pages."""
_MOST = 1000
"""Sessions whose end is looked at."""
UNSAFE = "unsafe"
_NONE_YET = "none yet"


async def check_state(folder: Path, workspace: Path | None) -> list[Finding]:
    """The folder's place, owner and modes, the room on its disk, the log, and the sessions in it."""
    checked = check_log(folder, workspace)
    log = checked[-1]
    if log.subject != "log" or log.level == "bad" or log.detail == _NONE_YET:
        return checked
    return [*checked[:-1], *await _sessions(folder, log)]


def check_log(folder: Path, workspace: Path | None) -> list[Finding]:
    """The same without the sessions; what is said of the log comes last."""
    if not folder.exists():
        return [warn("state folder", f"{folder} is not made yet; the first run makes it"), _room(folder)]
    place = _place(folder, workspace)
    path = folder / LEDGER_FILE
    if place.subject == UNSAFE:
        return [place._replace(subject="state folder"), _room(folder)]
    return [place, _room(folder), _log(path, folder_writable=place.level == "ok")]


def _place(folder: Path, workspace: Path | None) -> Finding:
    try:
        info = folder.stat()
        mode = f"mode {stat.S_IMODE(info.st_mode):04o}, owner {_name(info.st_uid)}"
        if not os.access(folder, os.W_OK):
            read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
            why = "its disk is mounted read-only" if read_only else mode
            return bad(
                "state folder", f"{folder} can't be written ({why}); nothing could be recorded, so nothing would run"
            )
        open_state(folder, writable_roots=[workspace] if workspace is not None else [])
    except (CallslipError, OSError) as error:
        return bad(UNSAFE, str(error))
    return ok("state folder", f"{folder} ({mode})")


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


def _log(path: Path, *, folder_writable: bool) -> Finding:
    """Whether the log opens, is a whole database, and can be written."""
    if not path.exists():
        return _no_log(path.parent)
    known = len(list(migrations()))
    cause = why_refused(path)
    try:
        with looking(path) as connection:
            version = int(connection.execute("pragma user_version").fetchone()[0])
        damaged = damages(path, whole=False, seconds=_PATIENCE)
    except (sqlite3.Error, OSError) as error:
        if cause is not None:
            return bad("log", f"{path.name} can't be opened here: {cause.what}. {cause.advice}; the log itself stands")
        return bad("log", str(translate(error, path)))
    if damaged:
        more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        return bad("log", f"{path.name} is damaged ({damaged[0]}{more}). Keep the file; restore a backup beside it")
    if version > known:
        return bad("log", f"format {version}, newer than this Callslip's {known}: use the one that wrote it")
    if cause is not None and folder_writable:
        return bad("log", f"it can be read, but not written: {cause.what}. {cause.advice}; nothing would run before")
    size = f"format {version}, {path.stat().st_size / (1 << 20):.1f} MiB"
    if damaged is None:
        return warn("log", f"opens, {size}, too large to look through here; `callslip verify` does")
    return ok("log", f"opens, {size}")


def _no_log(folder: Path) -> Finding:
    """No log is well where there never was one; what else lies there says whether there was."""
    left = [name for name in ("installation.key", LEDGER_FILE + "-wal") if (folder / name).exists()]
    payloads = sum(1 for _ in (folder / "blobs").glob("*/*"))
    if payloads:
        left.append(f"{payloads} payload{'s' if payloads != 1 else ''}")
    if not left:
        return ok("log", _NONE_YET)
    return bad(
        "log",
        f"{LEDGER_FILE} is gone, though {', '.join(left)} of it remain{'s' if len(left) == 1 else ''}: the next run "
        "would begin an empty one. Restore it from a backup, or move the state folder away",
    )


async def _sessions(folder: Path, log: Finding) -> list[Finding]:
    """Whether each session's last record fits, who drives sessions now, and which were left behind."""
    broken: list[str] = []
    try:
        async with Reader(Settings(executors=(), state=folder)) as runtime:
            ledger = runtime.parts.ledger
            heads = await runtime.sessions()
            for head in heads[:_MOST]:
                try:
                    await ledger.read(head.session, after=max(head.seq - 1, 0))
                except LogBroken as error:
                    broken.append(f"{head.session}: {error}")
            words = {head.session: standing(head, runtime.parts.owners) for head in heads}
            waits = Counter(row.session for row in await ledger.waits())
    except (CallslipError, OSError) as error:
        return [bad("log", str(error))]
    which = "each session" if len(heads) <= _MOST else f"the {_MOST} latest sessions"
    if broken:
        more = f" {len(broken) - 1} more: `callslip verify` names them all." if len(broken) > 1 else ""
        found = [bad("log", f"{log.detail}, but the end of a session doesn't fit. {broken[0]}{more}")]
    else:
        tail = f"; the last record of {which} fits; `callslip verify` checks every byte" if heads else ""
        found = [log._replace(detail=log.detail + tail)]
    counted = ", ".join(f"{number} {word}" for word, number in Counter(words.values()).items()) or "none"
    found.append(ok("sessions", counted))
    owners = {head.owner.id for head in heads if head.owner is not None and words[head.session] == "running"}
    found.append(ok("owners alive", str(len(owners))))
    left = [session for session, word in words.items() if word == "interrupted"]
    if left:
        found.append(warn("interrupted", f"{', '.join(left[:5])}: `callslip resume` or a worker goes on"))
    if waits:
        found.append(warn("waits", f"{sum(waits.values())} to be answered: `callslip waits`"))
    return found
