"""Look at a call's target before anything happens: read-only evidence, taken before a person is asked and before T1."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from callslip.core import canon
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.result import Status
from callslip.core.tool import Recovery, ToolSpec
from callslip.errors import ToolFailed
from callslip.gate.refusal import Refusal
from callslip.ports.executor import Executor
from callslip.runtime.drive import Drive

T = TypeVar("T")


async def look(executor: Executor, arguments: bytes, stop: asyncio.Future[None]) -> Evidence | Refusal | None:
    """The evidence of a call with these arguments (canonical JSON), or why it can't work. A stop ends the looking."""
    try:
        async with asyncio.timeout(executor.spec.timeout_ms / 1000):
            # Each reader of the arguments gets its own, so that what is executed is what T1 says.
            looking = executor.prepare(canon.parse(arguments))
            looks = executor.spec.recovery is Recovery.EVIDENCE  # the others have nothing to look at
            evidence = await (unless_stopped(looking, stop) if looks else looking)
        _check(evidence)
    except BaseException as error:
        if Drive.cancelling():
            raise
        # A look that failed, or cancelled itself: nothing has happened, and the model may be told.
        return _unprepared(error, executor.spec)
    return evidence


async def unless_stopped(look: Coroutine[Any, Any, T], stop: asyncio.Future[None]) -> T:
    """Look at the target, but not on after a stop: nothing has happened yet that would have to be awaited.

    Raises:
        ToolFailed: it was stopped.
    """
    task = asyncio.ensure_future(look)
    try:
        await asyncio.sleep(0)
        if not task.done():
            waiting: list[asyncio.Future[Any]] = [task, stop]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ToolFailed("The call was cancelled before it was dispatched.", code="cancelled", retryable=True)
        return task.result()
    finally:
        task.cancel()


def _check(evidence: Evidence | None) -> None:
    if evidence is not None and not all(isinstance(text, str) for text in msgspec.structs.astuple(evidence)):
        raise ToolFailed("Its evidence names no target, or no digests.", code="prepare_failed")


def _unprepared(error: BaseException, spec: ToolSpec) -> Refusal:
    if isinstance(error, ToolFailed):
        return told_by_tool(error)
    return Refusal(
        status=Status.FATAL_ERROR,
        code="prepare_failed",
        message=f"{spec.name} could not look at its target ({type(error).__name__}). Nothing was executed.",
    )


def told_by_tool(error: ToolFailed) -> Refusal:
    """What the tool says of a call that can't work, before anything has happened."""
    retryable = bool(error.can_retry or error.transient)
    status = Status.RETRYABLE_ERROR if retryable else Status.FATAL_ERROR
    return Refusal(
        status=Status.NOT_FOUND if error.not_found else status,
        code=str(error.tool_code),
        message=str(error),
        retryable=retryable,
    )
