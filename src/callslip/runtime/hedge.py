"""Execute a read that has not answered for a while a second time, and take the answer that comes first.

J. Dean and L. A. Barroso, "The Tail at Scale", Communications of the ACM 56 (2013), call this a hedged request: of what
is slow now and then by chance, two at once seldom are. Both executions are one attempt: one T1, one idempotency key,
one deadline, one outcome. Each ends as any attempt does (``runtime/execute``). The answer waits for nothing that the
other one still does: that is the drive's (``runtime/trail``), and ends within the grace time or is left behind. How
often a tool may be hedged is told by ``core/hedging``.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any, Protocol

from callslip.core import canon, hedging
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.hedging import Hedged
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.ports.executor import Executor
from callslip.runtime import breaking
from callslip.runtime.drive import Drive
from callslip.runtime.execute import execute
from callslip.runtime.late import Late
from callslip.runtime.outcome import Attempt, Raised, Returned, TimedOut
from callslip.runtime.trail import Trail, leave_behind


class MakeContext(Protocol):
    def __call__(self, *, shown: bool) -> Context: ...


class Race:
    """One attempt of a tool that may be hedged. Not used again.

    Attributes:
        hedged: what to record if it was executed twice.
    """

    def __init__(self, drive: Drive, executor: Executor, t1: ToolDispatch, context: MakeContext) -> None:
        self.hedged: Hedged | None = None
        self._drive = drive
        self._executor = executor
        self._t1 = t1
        self._context = context
        self._executions: list[_Execution] = []
        self._settled = asyncio.Event()

    async def run(
        self, arguments: Mapping[str, Any], given: Mapping[str, Any], stop: asyncio.Future[None]
    ) -> tuple[Attempt, Context]:
        """The attempt's end, and the context of the execution that it is the end of.

        ``arguments`` are those on record, ``given`` the same as the tool gets them.
        """
        clock, spec = self._drive.parts.clock, self._executor.spec
        allowances = self._drive.parts.hedging
        allowances[spec.name] = hedging.called(allowances.get(spec.name, hedging.NEW))
        again = copy.deepcopy(dict(given))  # as they are before the first can change them
        began = clock.monotonic()
        first = self._begin(given, stop, shown=True)
        if not await self._is_slow(first, stop) or not self._may_hedge(arguments):
            return await first.task, first.context
        after = round((clock.monotonic() - began) * 1000)
        second = self._begin(again, stop, shown=False)  # what two of them show at once nobody could read
        return await self._decide(first, second, after)

    def settled(self) -> None:
        """The call's own outcome is in the log, or could not be put there."""
        self._settled.set()
        for one in self._executions:
            one.late.settled()

    @property
    def contexts(self) -> list[Context]:
        """Of the executions that have ended, or were left behind."""
        return [one.context for one in self._executions if one.task.done()]

    @property
    def ended(self) -> bool:
        """Whether nothing of it goes on."""
        return not any(one.context.still_running or not one.task.done() for one in self._executions)

    def _begin(self, given: Mapping[str, Any], stop: asyncio.Future[None], *, shown: bool) -> _Execution:
        one = _Execution(self._context(shown=shown), Late(self._drive, self._t1))
        work = execute(
            self._drive.parts, self._executor, given, one.context, stop=stop, on_late=one.late, lost=one.lost
        )
        one.task = asyncio.ensure_future(work)
        self._executions.append(one)
        return one

    async def _is_slow(self, first: _Execution, stop: asyncio.Future[None]) -> bool:
        """Wait for the first execution, and no longer than it is given; whether it goes on and nobody ends it.

        While it waits for a thread or a process, a second one would wait behind it: it is given its time again.
        """
        seconds = (self._executor.spec.hedge_after_ms or 0) / 1000
        while True:
            timer = asyncio.ensure_future(self._drive.parts.clock.sleep(seconds))
            try:
                either: list[asyncio.Future[Any]] = [first.task, timer]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
            if first.task.done() or stop.done() or first.context.cancelled or not first.context.remaining():
                return False
            if first.context.begun:
                return True

    def _may_hedge(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a second execution may begin now. If so, it is paid for."""
        drive, spec, call_id = self._drive, self._executor.spec, self._t1.call_id
        if not drive.may_begin() or hedging.alone(self._t1.claims) is not None:
            return False
        left = hedging.hedged(drive.parts.hedging[spec.name])
        if left is None or not breaking.closed(drive, call_id, spec, arguments):
            return False
        drive.parts.hedging[spec.name] = left
        return True

    async def _decide(self, first: _Execution, second: _Execution, after: int) -> tuple[Attempt, Context]:
        """The first answer; where there is none, the first failure."""
        running, failed = [first, second], list[_Execution]()
        while running:
            await asyncio.wait([one.task for one in running], return_when=asyncio.FIRST_COMPLETED)
            for one in [one for one in running if one.task.done()]:
                running.remove(one)
                if isinstance(one.task.result(), Returned):
                    self._see_out(running)
                    self._note(after, "first" if one is first else "second", failed)
                    return one.task.result(), one.context
                failed.append(one)
        self._note(after, "neither", failed[1:])
        return failed[0].task.result(), failed[0].context

    def _see_out(self, beaten: list[_Execution]) -> None:
        """End those that were not as quick, and wait for none of them."""
        for one in beaten:
            one.beaten()
        if beaten:
            Trail(self._drive, self._t1.call_id, self._seen_out(beaten))

    async def _seen_out(self, beaten: list[_Execution]) -> None:
        for one in beaten:
            end = await one.task
            if isinstance(end, Returned):  # in the same moment
                one.late(end.value, None)
        leave_behind(self._drive.parts, [one.context for one in beaten])
        await self._settled.wait()
        for one in beaten:
            await one.late.recorded()

    def _note(self, after: int, answered: hedging.Answered, failed: list[_Execution]) -> None:
        said = "".join(_code(one.task.result()) for one in failed)
        clean = self._drive.parts.redactor.clean(canon.scrub(said))
        self.hedged = Hedged(after_ms=after, answered=answered, failed=clean)


class _Execution:
    """One of the two."""

    task: asyncio.Future[Attempt]

    def __init__(self, context: Context, late: Late) -> None:
        self.context = context
        self.late = late
        """Takes what it gives once it is told to end."""
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def beaten(self) -> None:
        """The other one has answered: it is to end."""
        self.late.beaten = True
        self.lost.set_result(None)


def _code(attempt: Attempt) -> str:
    """What it failed with, in a word."""
    if isinstance(attempt, Raised):
        error = attempt.error
        return str(error.tool_code) if isinstance(error, ToolFailed) else type(error).__name__
    return "timeout" if isinstance(attempt, TimedOut) else "cancelled"
