"""An embedder that may be slow, or fail, and that no search waits for longer than it is worth.

One on this machine is asked where the search runs. One elsewhere is asked in a thread of its own, which is left to
itself when its time is over; it is not asked again while that goes on, and few wait for it at once. After a failure
nobody asks for a while: until then each request fails at once, for the same reason.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from callslip.ports.embedder import Embedder

FEW = 16
"""Texts up to which a request is a query's, rather than a batch of tools."""
_QUERY = 12.0
_BATCH = 75.0
"""Seconds for a request, a little more than what an endpoint gives itself."""
PAUSE = 60.0
"""Seconds after a failure in which nobody asks."""


_WAITING = 3
"""Queries that wait while another is asked elsewhere. More would keep threads busy, and get no answer soon."""


class EmbedderFailed(Exception):
    """It gave no vectors, and why. Searching by words goes on."""


class EmbedderBusy(EmbedderFailed):
    """It was not asked, because others of this process ask it. Nothing is wrong with it."""

    def __init__(self) -> None:
        super().__init__("it is busy with other requests of this process")


def why(error: BaseException) -> str:
    """What an embedder failed with, in words that stay the same as long as it is the same."""
    return str(error) if isinstance(error, EmbedderFailed) else f"{type(error).__name__}: {error}"


class Patient:
    """Asks another embedder, one request at a time."""

    def __init__(
        self,
        embedder: Embedder,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        query: float = _QUERY,
        batch: float = _BATCH,
    ) -> None:
        """``query`` and ``batch``: seconds that a request of few texts, and of many, may take."""
        self.name = embedder.name
        self.version = embedder.version
        self.dimensions = embedder.dimensions
        self.reads_unspaced = embedder.reads_unspaced
        self.remote = embedder.remote
        self._embedder = embedder
        self._monotonic = monotonic
        self._query = query
        self._batch = batch
        self._one = threading.Lock()
        self._places = threading.Semaphore(_WAITING)
        self._request: _Request | None = None
        self._why = ""
        self._again = 0.0
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether somebody waits for its answer."""
        return self._one.locked()

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        if self._request is not None:
            self._request.over.set()

    def embed(self, texts: Sequence[str]) -> Any:
        """What the embedder gives.

        Raises:
            EmbedderFailed: nothing in time, or not now.
        """
        few = len(texts) <= FEW
        seconds = self._query if few else self._batch
        if not (self._in_turn(seconds) if few and self.remote else self._one.acquire(timeout=seconds)):
            raise EmbedderBusy
        try:
            if self._why and (self._monotonic() < self._again or self._going_on()):
                raise EmbedderFailed(self._why)
            try:
                rows = self._asked(texts, seconds) if self.remote else self._embedder.embed(texts)
            except BaseException as error:
                self._why = why(error)
                self._again = self._monotonic() + PAUSE
                raise EmbedderFailed(self._why) from error
            self._why = ""
            return rows
        finally:
            self._one.release()

    def _in_turn(self, seconds: float) -> bool:
        """Whether it can be asked: now, or after those before, where there are few."""
        if self._one.acquire(blocking=False):
            return True
        if not self._places.acquire(blocking=False):
            return False
        try:
            return self._one.acquire(timeout=seconds)
        finally:
            self._places.release()

    def _going_on(self) -> bool:
        return self._request is not None and self._request.is_alive()

    def _asked(self, texts: Sequence[str], seconds: float) -> Any:
        self._request = request = _Request(self._embedder, texts)
        if not self._closed:
            request.start()
            request.over.wait(seconds)
        if request.error is not None:
            raise request.error
        if not request.done:
            raise EmbedderFailed("it is not wanted any more" if self._closed else "it gave no answer in time")
        return request.rows


class _Request(threading.Thread):
    """One request, that may outlast whoever made it; the end of the process doesn't wait for it, either."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        super().__init__(name="callslip embedder", daemon=True)
        self.over = threading.Event()
        self.done = False
        self.rows: Any = None
        self.error: BaseException | None = None
        self._embedder = embedder
        self._texts = texts

    def run(self) -> None:
        try:
            self.rows = self._embedder.embed(self._texts)
            self.done = True
        except BaseException as error:  # noqa: BLE001 - whatever it is, it goes to whoever asked
            self.error = error
        finally:
            self.over.set()
