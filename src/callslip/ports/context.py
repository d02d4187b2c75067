"""What a running tool may know and use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from callslip.core import payload
from callslip.core.activation import Admission
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
        version: which version that has which the call changes, where the tool declares a ``version`` function: as it
            was just before the dispatch; a repeat keeps it. Send it along (``If-Match``, ``WHERE revision = ?``), so
            that the service compares as well, and raise :class:`Conflict` where it says no.
        grace: seconds between being told to stop (``cancelled``) and being ended by force, or left behind.
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
        until: float | None = None,
        grace: float = 5.0,
        version: str | int | None = None,
        activate: Callable[[Sequence[str], Collection[str]], Admission] | None = None,
    ) -> None:
        self.session = session
        self.call_id = call_id
        self.attempt = attempt
        self.idempotency_key = idempotency_key
        self.deadline = deadline
        self.grace = grace
        self.version = version
        self._activate = activate
        self.artifacts: list[tuple[BlobRef, bytes]] = []
        self.printed = ""
        """What its process wrote to its output streams, the end of it; for the log."""
        self.notes: tuple[str, ...] = ()
        """For the log: what its process changed to give the result a JSON form, what a search did not find."""
        self._clock = clock
        self._on_progress = on_progress
        self._on_partial = on_partial
        self._until = until
        self._ended_at: float | None = None
        self._cancelled = False
        self._on_cancel: Callable[[], None] | None = None
        self._running = 0
        self._queued = False
        self.hears = False
        """Whether it looks at ``cancelled``, or is told of it, and so gets the grace time before it is given up."""
        self.forced = False
        """Whether it can be ended by force, which takes a while."""
        self._end: tuple[Any, BaseException | None] | None = None
        self._abandoned: Callable[[Any, BaseException | None], None] | None = None
        self._lock = threading.Lock()

    def activate(self, tools: Sequence[str], named: Collection[str] = ()) -> Admission:
        """Make bound tools visible to the model from the next step of its turn on, best first, as far as there is room.
        It holds if the call succeeds. For a tool that finds tools; to be called on the event loop.

        Args:
            tools: their names.
            named: those of them that the model has asked for by name; some room is kept for these.
        """
        return Admission() if self._activate is None else self._activate(tools, named)

    def remaining(self) -> float:
        """Seconds until the deadline; never negative. Counted from the dispatch, whatever becomes of the clock."""
        if self._until is None:
            return max(0.0, (self.deadline - self._clock.now()) / 1000)
        return max(0.0, self._until - self._clock.monotonic())

    def ended(self) -> None:
        """It has just ended, in one way or another. Called by the runtime, and by whatever runs it elsewhere."""
        if self._ended_at is None:
            self._ended_at = self._clock.monotonic()

    @property
    def late(self) -> bool:
        """Whether it ended after its deadline."""
        return self._until is not None and self._ended_at is not None and self._ended_at >= self._until

    async def sleep(self, seconds: float) -> None:
        """Let so many seconds pass, by the runtime's own clock."""
        await self._clock.sleep(seconds)

    @property
    def cancelled(self) -> bool:
        """Whether the call was told to stop. A synchronous tool that runs long looks at this now and then."""
        return self._cancelled

    def cancel(self) -> None:
        """Tell the tool to stop. Called by the runtime."""
        if not self._cancelled:
            self._cancelled = True
            if self._on_cancel is not None:
                self._on_cancel()

    def when_cancelled(self, tell: Callable[[], None]) -> None:
        """Have this called when the tool is told to stop. Called by what runs it elsewhere."""
        self._on_cancel = tell
        if self._cancelled:
            tell()

    @property
    def still_running(self) -> bool:
        """Whether a thread of this call, or a coroutine left behind, is running."""
        return self._running > 0

    def queue(self, *, hears: bool, forced: bool = False) -> None:
        """It begins once a thread or a process is there for it. Called by the executor.

        ``hears``: it looks at ``cancelled``. ``forced``: it can be ended by force.
        """
        self._queued, self.hears, self.forced = True, hears, forced

    def begin(self) -> None:
        """It begins now. Called by what runs it elsewhere.

        Raises:
            ToolFailed: it was given up before, or its deadline has passed; nothing happened.
        """
        with self._lock:
            if self._given_up:  # nobody waits any more, and it was recorded that nothing happened
                raise ToolFailed("The call was given up before there was room for it.", code="cancelled")
            if self._until is not None and self._clock.monotonic() >= self._until:  # it would be told to end at once
                raise ToolFailed("The call's time was up before there was room for it.", code="timeout")
            self._queued = False

    @property
    def begun(self) -> bool:
        return not self._queued

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
        """Stop awaiting; a thread that ends later reports its result or error to ``on_late``, in that thread. One that
        has ended a moment ago does so at once.

        Returns:
            Whether the call has begun. If not, it never will.
        """
        with self._lock:
            self._abandoned, end = on_late, self._end
        if end is not None:
            on_late(*end)
        return not self._queued

    def in_thread(self, function: Callable[[], Any]) -> Any:
        """Run a synchronous tool's body in the current thread, so that its end is seen even when abandoned."""
        self.begin()
        with self._lock:
            self._running += 1
        value, error = None, None
        try:
            value = function()
        except BaseException as raised:
            error = raised
            raise
        finally:
            with self._lock:
                self.ended()
                self._running -= 1
                late = self._abandoned
                self._end = (value, error)
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
