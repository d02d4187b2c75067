"""The entries of the audit against the log: each record that tells something has its entry, which says just that."""

from __future__ import annotations

import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from callslip.audit.compare import goes_back
from callslip.audit.dress import MISSING, Cleaner, clean, dress
from callslip.audit.entry import TURNING, Entry, Read, read
from callslip.audit.records import StoredLog, records
from callslip.audit.report import Report, named
from callslip.audit.story import begin
from callslip.audit.telling import Told, tell
from callslip.core import canon
from callslip.errors import LogBroken
from callslip.ports.blobs import Blobs

_PAGE = 1000
_BOUND = frozenset({"detail_sha256", "detail_size"})
"""Fields that follow from the detail."""


class AgainstLog:
    """Given every entry once, in the order of the book; then asked for session after session."""

    def __init__(
        self, log: StoredLog, blobs: Blobs, path: Path, cleaner: Cleaner, *, told: Callable[[str], int]
    ) -> None:
        self.report = Report(problems=[], notices=[])
        self.places: dict[str, array.array[int]] = {}
        """Where each session's entries begin in the book."""
        self._log, self._blobs, self._cleaner, self._told = log, blobs, cleaner, told
        self._file = path.open("rb") if path.exists() else None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def note(self, entry: Entry, offset: int) -> None:
        """An entry of the book."""
        if entry.seq:
            self.places.setdefault(entry.session, array.array("Q")).append(offset)

    def _at(self, offset: int) -> Read:
        assert self._file is not None
        self._file.seek(offset)
        return read(self._file.readline().rstrip(b"\n"))

    async def session(self, session: str, *, known: bool) -> None:
        """Compare one session; ``known``: the log has it."""
        if not known:
            count = len(self.places[session])
            what = "1 entry is" if count == 1 else f"{count} entries are"
            self.report.found(
                "foreign", f"{what} about session {session!r}, which the log does not have", session=session
            )
            return
        places = self._latest(session)
        told_to = max(self._told(session), max(places, default=0))
        story, missing = begin(session), list[int]()
        erased, taken = set[str](), list[Read]()
        try:
            while page := await records(self._log, session, after=story.seq, digest=story.digest, limit=_PAGE):
                for stored in page:
                    told = tell(story, stored)
                    if told is None:
                        continue
                    erased |= set(told.erases)
                    offset = places.pop(stored.seq, None)
                    if offset is None:
                        missing.append(stored.seq)
                        continue
                    one = self._at(offset)
                    taken += [one] if one.erased else []
                    await self._compare(one, told)
        except LogBroken as error:
            what = f"the log of session {session!r} can't be compared after record {story.seq}: {error}"
            self.report.found("log", what, session=session, positions=(story.seq + 1,))
            places = {}
        for one in taken:
            if one.line.entry.arguments_blob not in erased:
                what = f"the detail of entry {one.line.n} was taken away, and the log does not say so"
                self.report.found("altered", what, n=one.line.n, session=session)
        self._leftover(session, story.seq, places)
        self._missing(session, missing, told_to)

    def _latest(self, session: str) -> dict[int, int]:
        """Where each record's entry is; of a log that was put back to an earlier state, the latest one."""
        places: dict[int, int] = {}
        for offset in self.places.get(session, ()):
            entry = self._at(offset).line.entry
            if entry.kind == TURNING:
                gone = [seq for seq in places if seq >= entry.seq]
                places = {seq: place for seq, place in places.items() if seq < entry.seq}
                if gone:
                    signed = "" if entry.key else ", unsigned"
                    self.report.notices.append(
                        f"Session {session!r} was put back to record {entry.seq - 1} (by {entry.actor}{signed}). What "
                        f"it had after that, {named(gone)}, is told by the audit alone."
                    )
            if entry.seq in places:
                what = f"record {entry.seq} of session {session!r} has two entries"
                self.report.found("double", what, session=session, positions=(entry.seq,))
            places[entry.seq] = offset
        return places

    async def _compare(self, one: Read, told: Told) -> None:
        entry, n, seq = one.line.entry, one.line.n, told.entry.seq
        about: dict[str, Any] = {"n": n, "session": entry.session, "positions": (seq,)}
        if entry.digest != told.entry.digest:
            what = f"record {seq} of session {entry.session!r} is not the one that entry {n} was written for"
            self.report.found("log", f"{what}: the log was altered since, or the entry", **about)
            return
        expected, detail = await dress(told, self._blobs, self._cleaner)
        written = clean(entry, self._cleaner)
        names = [
            name
            for name in Entry.__struct_fields__
            if name not in _BOUND and not goes_back(getattr(written, name), getattr(expected, name))
        ]
        if not one.erased and not one.detail_altered and not self._same_detail(one, detail):
            names.append("detail")
        if names:
            what = f"entry {n} does not say what record {seq} of session {entry.session!r} says"
            self.report.found("altered", f"{what} ({', '.join(names)})", **about)

    def _same_detail(self, one: Read, expected: bytes) -> bool:
        wanted = canon.parse(expected) if expected else {}
        written = canon.parse(self._cleaner.clean_json(one.detail)) if one.detail else {}
        if written.keys() != wanted.keys():
            return False
        # A payload that is gone by now says nothing against the text that was read from it.
        return all(_is_missing(wanted[name]) or goes_back(written[name], wanted[name]) for name in wanted)

    def _leftover(self, session: str, last: int, places: dict[int, int]) -> None:
        """Entries that no record has asked for."""
        beyond = sorted(seq for seq in places if seq > last)
        if beyond:
            what = f"the audit tells of {named(beyond)} of session {session!r}, and its log ends at record {last}"
            self.report.found("log", f"{what}: it was cut, or put back", session=session, positions=tuple(beyond))
        for seq in sorted(places.keys() - set(beyond)):
            n = self._at(places[seq]).line.n
            what = f"entry {n} tells of record {seq} of session {session!r}, which is nothing to tell of"
            self.report.found("foreign", what, n=n, session=session, positions=(seq,))

    def _missing(self, session: str, missing: list[int], told_to: int) -> None:
        """Records without an entry: a gap where later ones have been told, else only not told yet."""
        gap = tuple(seq for seq in missing if seq <= told_to)
        later = [seq for seq in missing if seq > told_to]
        if gap:
            what = f"session {session!r} has no entry for {named(gap)}"
            self.report.found("gap", what, session=session, positions=gap)
        if later:
            self.report.notices.append(f"Session {session!r} is not in the audit yet from record {later[0]} on.")


def _is_missing(value: Any) -> bool:
    return isinstance(value, dict) and MISSING in value
