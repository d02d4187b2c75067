"""What a running tool may know and use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from callslip.core import payload
from callslip.core.media import media_type_of
from callslip.core.result import BlobRef
from callslip.errors import ToolFailed
from callslip.ports.clock import Clock


class Context:
    """Given to a tool function that has a parameter annotated ``Context``. Safe to use from the tool's own thread.

    Attributes:
        session: the session's id.
        call_id: the call's id, the same over retries and restarts.
        attempt: 1 for the first dispatch.
        idempotency_key: send it with the effect, so that the service can tell a repeat (RECO-06).
        deadline: milliseconds since 1970, UTC; after it the result is no longer awaited.
    """

    def __init__(
        self,
        *,
        session: str,
        call_id: str,
        attempt: int,
        idempotency_key: str,
        deadline: int,
        clock: Clock,
        on_progress: Callable[[str, float | None], None],
        on_partial: Callable[[str], None],
    ) -> None:
        self.session = session
        self.call_id = call_id
        self.attempt = attempt
        self.idempotency_key = idempotency_key
        self.deadline = deadline
        self.artifacts: list[tuple[BlobRef, bytes]] = []
        self._clock = clock
        self._on_progress = on_progress
        self._on_partial = on_partial
        self._cancelled = threading.Event()
        self._running = 0
        self._queued = False
        self._abandoned: Callable[[Any, BaseException | None], None] | None = None
        self._lock = threading.Lock()

    def remaining(self) -> float:
        """Seconds until the deadline; never negative."""
        return max(0.0, (self.deadline - self._clock.now()) / 1000)

    @property
    def cancelled(self) -> bool:
        """Whether the call was told to stop. A synchronous tool that runs long looks at this now and then."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Tell the tool to stop. Called by the runtime."""
        self._cancelled.set()

    @property
    def still_running(self) -> bool:
        """Whether a thread of this call, or a coroutine left behind, is running."""
        return self._running > 0

    def wait_for_thread(self) -> None:
        """The tool is synchronous and begins once a thread is free. Called by the executor."""
        self._queued = True

    def left_behind(self) -> None:
        """A coroutine of this call goes on although it was cancelled. Called by the runtime."""
        with self._lock:
            self._running += 1

    def came_back(self) -> None:
        """It has ended after all. Called by the runtime."""
        with self._lock:
            self._running -= 1

    @property
    def _given_up(self) -> bool:
        return self._abandoned is not None

    def abandon(self, on_late: Callable[[Any, BaseException | None], None]) -> bool:
        """Stop awaiting; a thread that ends later reports its result or error to ``on_late``, in that thread.

        Returns:
            Whether the call has begun. If not, it never will.
        """
        with self._lock:
            self._abandoned = on_late
            return not self._queued

    def in_thread(self, function: Callable[[], Any]) -> Any:
        """Run a synchronous tool's body in the current thread, so that its end is seen even when abandoned."""
        with self._lock:
            if self._given_up:  # nobody waits any more, and it was recorded that nothing happened
                raise ToolFailed("The call was given up before a thread was free for it.", code="cancelled")
            self._running += 1
            self._queued = False
        value, error = None, None
        try:
            value = function()
        except BaseException as raised:
            error = raised
            raise
        finally:
            with self._lock:
                self._running -= 1
                late = self._abandoned
            if late is not None:
                late(value, error)
        return value

    def check(self) -> None:
        """Raise :class:`ToolFailed` with effect unknown if the call was told to stop."""
        if self.cancelled:
            raise ToolFailed("The call was cancelled before it was done.", code="cancelled", effect="unknown")

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Show how far the work is. For eyes only: never a fact."""
        self._on_progress(message, fraction)

    def partial(self, text: str) -> None:
        """Show a piece of the result before it is settled. For eyes only: never a fact."""
        self._on_partial(text)

    def artifact(self, name: str, data: bytes, *, media_type: str = "") -> BlobRef:
        """Keep bytes beside the log; stored durably before the call's result is. Refer to them by the address.

        The model is shown images (PNG, JPEG, GIF, WebP) and PDFs; ``media_type`` is read off the data unless given.
        """
        kind = media_type or media_type_of(data)
        reference = BlobRef(address=payload.address(data), size=len(data), media_type=kind, name=name)
        self.artifacts.append((reference, data))
        return reference
