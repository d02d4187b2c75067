"""What compares by meaning, made ready beside the searches: it may take long, or fail, and words go on meanwhile.

An embedder is loaded, and the tools are embedded, in one thread. Whoever needs it waits, but no longer than it is
worth; after a failure it is tried again when something is searched for, a while later. What is embedded is kept batch
by batch, so that nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from callslip.ports.embedder import Embedder
from callslip.routing.card import Card
from callslip.routing.patient import PAUSE, Patient, why
from callslip.routing.vectors import GivenUp, VectorIndex

_AT_FIRST = 45.0
"""Seconds until searches go on without it: less than a call of a tool may take."""
_LATER = 2.0
"""The same once it has failed."""
_NOT_YET = "Tools are still being indexed by meaning. Until then they are searched by words alone."


class Meaning:
    """The tools' vectors, once they are there. ``make``: gives the embedder, and may ask elsewhere for it."""

    def __init__(
        self,
        cards: Sequence[Card],
        make: Callable[[], Embedder | None],
        path: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.vectors: VectorIndex | None = None
        """For searches, once all tools are in it."""
        self.trouble = ""
        """Why there are none now, or could not be kept."""
        self._cards = cards
        self._make = make
        self._path = path
        self._monotonic = monotonic
        self._index: VectorIndex | None = None
        self._patient: Patient | None = None
        self._thread: threading.Thread | None = None
        self._until = 0.0
        """When nobody waits any longer for what is under way."""
        self._again = 0.0
        """When what has failed is tried again."""
        self._failed = False
        self._closed = False
        self._one = threading.Lock()
        self._waking: set[Callable[[], object]] = set()

    @property
    def doing(self) -> str:
        """What it is at, in words; empty: nothing."""
        if not self._at_work():
            return "asking the embedder" if self._patient is not None and self._patient.busy else ""
        if self._index is None:
            return "loading the embedder"
        many = self._index.missing
        return f"indexing {many:,} tool{'' if many == 1 else 's'} by meaning" if many else "reading the tools' vectors"

    def close(self) -> None:
        """Wait for nothing any more, and leave off at the next batch."""
        self._closed = True
        if self._patient is not None:
            self._patient.close()

    async def ready(self) -> None:
        """Wait until it is, or it is clear that it will not be soon; :attr:`vectors` says which."""
        if self.vectors is not None:
            return
        self._begin()
        woken, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(woken.set)

        self._waking.add(wake)
        try:
            left = self._until - self._monotonic()
            if self._at_work() and left > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await woken.wait()
        finally:
            self._waking.discard(wake)

    def _at_work(self) -> bool:
        thread = self._thread  # which it takes away itself when it is done
        return thread is not None and thread.is_alive()

    def _begin(self) -> None:
        with self._one:
            now = self._monotonic()
            if self._closed or self._at_work() or self.vectors is not None or (self._failed and now < self._again):
                return
            self._until = now + (_LATER if self._failed else _AT_FIRST)
            self.trouble = self.trouble or _NOT_YET
            self._thread = threading.Thread(target=self._work, name="callslip meaning", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            kept = self._made()
        except GivenUp:
            return
        except BaseException as error:  # noqa: BLE001 - whatever an embedder raises, words go on
            self._failed = True
            self._again = self._monotonic() + PAUSE
            self.trouble = f"The embedder failed ({why(error)}). Tools are searched by words alone."
        else:
            self.trouble = kept
            self.vectors = self._index
        finally:
            self._thread = None
            for wake in list(self._waking):
                wake()

    def _made(self) -> str:
        if self._index is None:
            made = self._make()
            if made is None:
                raise LookupError("there is none")
            self._patient = Patient(made, self._monotonic)
            self._index = VectorIndex(self._patient, self._path)
        return self._index.update(self._cards, lambda: not self._closed)
