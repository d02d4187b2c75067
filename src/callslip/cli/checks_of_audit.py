"""The audit and the heads that are kept of it. Looked at by its end; ``callslip audit verify`` looks at all of it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from callslip.audit.anchors import FilePlace, Place, place
from callslip.audit.book import FILE, INDEX
from callslip.audit.end import end_of, known
from callslip.audit.index import Tip
from callslip.audit.kept import kept
from callslip.build import AUDIT_FOLDER
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.errors import CallslipError, ConfigError, LogBroken
from callslip.ledgers.sqlite_reader import looking

_UNANCHORED = (
    "no place for its heads is named ([audit] anchor in callslip.toml): whoever can write the log and the audit could "
    "rewrite both"
)


def check_audit(state: Path | None, setting: str | Sequence[str], project: Path | None) -> list[Finding]:
    """Whether the audit can be gone on with, and which of its heads are kept elsewhere.

    ``setting`` is the project's ``anchor``; without a ``project`` nothing is known of it.
    """
    if state is None:
        return []
    folder = state / AUDIT_FOLDER
    book, count = _book(folder)
    if project is None:
        return [book]
    try:
        where = place(setting, project, state)
    except ConfigError as error:
        return [book, bad("anchors", str(error))]
    return [book, *_anchors(folder, where, count)]


def _book(folder: Path) -> tuple[Finding, int]:
    """What is to be said of the book, and how many entries it has."""
    path = folder / FILE
    try:
        tip = _known(folder / INDEX)
        if not path.exists() and not tip.count:
            return ok("audit", "none yet"), 0
        count = end_of(path, tip).count
    except LogBroken as error:
        return bad("audit", f"{error} Nothing more is written to it: see `callslip audit verify`"), 0
    except FileNotFoundError:
        return bad("audit", f"{path} is gone, though the index beside it knows {tip.count:,} entries"), 0
    except OSError as error:
        return bad("audit", f"{path} can't be read ({error.strerror})"), 0
    # Of a state folder that can't be written it is said there.
    closed = [one for one in (folder, path) if os.access(folder.parent, os.W_OK) and not os.access(one, os.W_OK)]
    if closed:
        return bad("audit", f"{closed[0]} can't be written; after `patience` nothing is dispatched any more"), count
    return ok("audit", f"{count:,} entries, and its end fits; `callslip audit verify` checks all of it"), count


def _known(index: Path) -> Tip:
    try:
        with looking(index) as connection:
            return known(connection)
    except (sqlite3.Error, FileNotFoundError):  # a cache: it is made again from the book
        return Tip()


def _anchors(folder: Path, where: Place | None, count: int) -> list[Finding]:
    if where is None:
        return [warn("anchors", _UNANCHORED)] if count else []
    try:
        found = kept(folder, where)
    except (CallslipError, OSError) as error:
        return [bad("anchors", str(error))]
    wrong = [bad("anchors", f"{one.where} {one.fault}") for one in found if one.anchor is None]
    if isinstance(where, FilePlace):
        counts = [one.anchor.count for one in found if one.anchor is not None and one.proves]
        wrong += _unwritable(where.path)
        there = f"{_heads(len(counts), 'is', 'are')} kept in {where.name}"
    else:
        counts = [one.anchor.count for one in found if one.anchor is not None]
        if shutil.which(where.name) is None:
            wrong.append(bad("anchors", f"there is no program {where.name}"))
        there = f"{_heads(len(counts), 'was', 'were')} given to {where.name}"
    last = max(counts, default=0)
    if last > count and not wrong:
        wrong.append(bad("anchors", f"{there}, the last one of {last:,} entries; the audit has {count:,}"))
    after = f", the last one of {last:,} entries; {count - last:,} came after it" if counts else ""
    return wrong or [ok("anchors", there + after)]


def _heads(count: int, one: str, more: str) -> str:
    return f"1 head {one}" if count == 1 else f"{count:,} heads {more}"


def _unwritable(path: Path) -> list[Finding]:
    needed = path if path.exists() else path.parent
    if os.access(needed, os.W_OK):
        return []
    return [bad("anchors", f"{needed} {'can' if needed.exists() else 'is not there, so it can'}'t be written")]
