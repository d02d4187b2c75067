"""Which version that has which a call would change: looked at before a person is asked, and again just before T1, under
the call's claims (PARA-02). A call that was made for another version ends here, and nothing is executed.

Between this look and the effect nobody comes who claims the same. Whoever comes by another way is met by the service
itself, to which the tool sends ``context.version`` along.
"""

from __future__ import annotations

import asyncio

from callslip.core import canon, fault as faults, version
from callslip.core.result import Status
from callslip.core.tool import ToolSpec
from callslip.core.version import Version
from callslip.errors import ToolFailed
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.ports.executor import Versioned
from callslip.runtime.deadline import deadline
from callslip.runtime.drive import Drive
from callslip.runtime.prepare import told_by_tool, unless_stopped


async def look(drive: Drive, passed: Passed, stop: asyncio.Future[None]) -> Version | Refusal:
    """The version there is now, or why the call is not made. It may take as long as the call itself; a stop ends it."""
    executor = passed.entry.executor
    spec = executor.spec
    try:
        if not isinstance(executor, Versioned):
            raise ToolFailed("Its executor can't say which version there is.", code="version_failed")
        async with asyncio.timeout(deadline(drive, spec).until - drive.parts.clock.monotonic()):
            now = await unless_stopped(executor.state(canon.parse(passed.arguments.text)), stop)
        _check(now)
    except BaseException as error:
        if drive.cancelling():
            raise
        return told_by_tool(error) if isinstance(error, ToolFailed) else _unknown(error, spec)
    made_for = named(passed)
    if made_for is None or version.same(made_for, now.value):
        return now
    return Refusal(status=Status.FATAL_ERROR, code="version_conflict", message=version.conflict(now, made_for))


def named(passed: Passed) -> version.Value:
    """The version that the call itself says it is for."""
    return version.expected(passed.entry.executor.spec.expects, passed.arguments.value)


def _check(now: object) -> None:
    wrong = version.unusable(now.value) if isinstance(now, Version) else "it is none"
    if wrong is not None:
        raise ToolFailed(f"Its version can't be used: {wrong}. Nothing was executed.", code="version_failed")


def _unknown(error: BaseException, spec: ToolSpec) -> Refusal:
    why = faults.classify(error).said or type(error).__name__
    return Refusal(
        status=Status.RETRYABLE_ERROR,
        code="version_failed",
        message=f"{spec.name} could not find out which version there is now ({why}). Nothing was executed.",
        retryable=True,
    )
