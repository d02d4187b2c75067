"""Hold what a call claims, or leave it be: a run that is told to end waits in no line (PARA-02 … PARA-05).

Claims are held from just before T1 until T2, or until what goes on of the call has ended (``runtime/trail``), and by
nobody who waits for anything else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from callslip.core.claim import Claim, fill
from callslip.core.tool import ToolSpec
from callslip.ports.authority import Grant, Holder
from callslip.runtime.drive import Drive
from callslip.runtime.live import Waiting
from callslip.runtime.trail import hand_over


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What is held, as T1 records it."""

    claims: tuple[str, ...] = ()
    waited_ms: int = 0
    waited_for: tuple[str, ...] = ()
    """Calls that held it, or stood in the line before."""

    @property
    def waited(self) -> bool:
        """Whether the world may have moved on since the call was judged."""
        return bool(self.waited_ms)


_HOLDING_NOTHING = contextlib.nullcontext(Held())
_AT_LEAST = 1
"""Milliseconds that are told of a wait, however short it was."""


def claims_of(drive: Drive, spec: ToolSpec, arguments: dict[str, object]) -> tuple[str, ...]:
    """What the call claims: as its tool declares, and a slot where the tool itself may run only so often at once."""
    own = f"tool.{spec.name}"
    limited = (f"slot:{own}",) if own in drive.parts.capacities else ()
    if not spec.claims:
        return limited
    return (*fill(spec.claims, arguments), *limited)


def holding(
    drive: Drive, call_id: str, tool: str, claims: Sequence[str], over: Callable[[], bool]
) -> contextlib.AbstractAsyncContextManager[Held | None]:
    """Take a place in the line, in the model's order, and wait until all is free; ``None`` if it is ``over`` before."""
    if claims:
        return _holding(drive, call_id, tool, claims, over)
    drive.order.came(call_id)
    return _HOLDING_NOTHING


@contextlib.asynccontextmanager
async def _holding(
    drive: Drive, call_id: str, tool: str, claims: Sequence[str], over: Callable[[], bool]
) -> AsyncIterator[Held | None]:
    line = _Line(drive, call_id, tool)
    async with contextlib.AsyncExitStack() as stack:
        entering = asyncio.ensure_future(line.enter(stack, claims))
        try:
            await drive.unless(entering, over)
        finally:
            if not entering.done():
                entering.cancel()
                await asyncio.wait([entering])
            drive.order.came(call_id)
        try:
            yield None if entering.cancelled() else _told(drive, claims, entering.result(), line.began)
        finally:
            if drive.trails:
                hand_over(drive, call_id, stack)


class _Line:
    """A call's way into the line."""

    def __init__(self, drive: Drive, call_id: str, tool: str) -> None:
        self.began = 0.0
        """When it began to wait, by the monotonic clock; 0: it never did."""
        self._drive = drive
        me = drive.parts.owners.me()
        self._holder = Holder(session=drive.session, call_id=call_id, tool=tool, owner=me.id, process=me.process)

    async def enter(self, stack: contextlib.AsyncExitStack, texts: Sequence[str]) -> Grant:
        await self._drive.order.earlier(self._holder.call_id)
        parts = self._drive.parts
        claims: list[Claim] = [parts.claim(text) for text in texts]
        while True:
            async with contextlib.AsyncExitStack() as held:
                grant = await held.enter_async_context(parts.authority.holding(claims, self._holder, self._waits))
                now = [parts.claim(text) for text in texts] if grant.waited else claims
                if [one.ids[0] for one in now] == [one.ids[0] for one in claims]:
                    stack.push_async_exit(held.pop_all())
                    return grant
                claims = now  # a path leads elsewhere than when it was asked for

    def _waits(self, before: Sequence[Holder]) -> None:
        self._drive.order.came(self._holder.call_id)
        self.began = self.began or self._drive.parts.clock.monotonic()
        self._drive.parts.watch(Waiting(session=self._drive.session, reason=_why(self._holder, before), until=None))


def _told(drive: Drive, claims: Sequence[str], grant: Grant, began: float) -> Held:
    if not began:
        return Held(claims=tuple(claims))
    waited = round((drive.parts.clock.monotonic() - began) * 1000)
    calls = dict.fromkeys(one.call_id for one in grant.waited_for)
    return Held(claims=tuple(claims), waited_ms=max(waited, _AT_LEAST), waited_for=tuple(calls))


def _why(holder: Holder, before: Sequence[Holder]) -> str:
    """In words, for who looks on."""
    if not before:
        return f"{holder.tool} waits for what is limited"
    first = before[0]
    where = "" if first.session == holder.session else f" of session {first.session}"
    more = f" and {len(before) - 1} more" if len(before) > 1 else ""
    return f"{holder.tool} waits for {first.tool}{where}{more}"
