"""The heads of the audit as they were kept, read back for a verification."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from callslip.audit.anchors import RECEIPTS, Anchor, FilePlace, Place, parse

NO_ANCHOR = "has a line that is no anchor"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """An anchor and where it was; or what is wrong there."""

    where: str
    anchor: Anchor | None
    fault: str = NO_ANCHOR
    """Without an anchor: what is the matter, after the name of the place."""
    proves: bool = True
    """It was kept where those who can write the audit can't reach it, as far as is known here."""


def kept(folder: Path, place: Place | None, *files: Path) -> list[Kept]:
    """What is kept at the place and in these files; and what else was handed out, as far as the folder itself says."""
    receipts = list(_in_file(folder / RECEIPTS, proves=False))
    found: list[Kept] = []
    if isinstance(place, FilePlace):
        there = list(_in_file(place.path))
        handed_out = sum(one.anchor is not None for one in receipts)
        if not place.path.exists() and handed_out:
            many = "a head was" if handed_out == 1 else f"{handed_out} heads were"
            there = [Kept(where=place.name, anchor=None, fault=f"is not there, though {many} kept in it")]
        found += there
    for file in files:
        found += _in_file(file)
    there_too = {(one.anchor.count, one.anchor.digest) for one in found if one.anchor is not None}
    missing = [one for one in receipts if one.anchor is None or (one.anchor.count, one.anchor.digest) not in there_too]
    return [*found, *missing]


def _in_file(path: Path, *, proves: bool = True) -> Iterator[Kept]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        yield Kept(where=str(path), anchor=None, fault=f"can't be read ({error.strerror})", proves=proves)
        return
    for anchor in parse(text):
        yield Kept(where=str(path), anchor=anchor, proves=proves)
