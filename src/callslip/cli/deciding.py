"""What ``approve``, ``deny`` and ``edit`` share: a question found, a decision told."""

from __future__ import annotations

from typing import Any

from callslip.answering.question import Question, question
from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.resolve import session_of
from callslip.core.shown import visible
from callslip.core.wait import WaitKind


async def find_question(given: Given, runtime: Runtime, wait: str) -> Question:
    """The open question.

    Raises:
        NotFound, WaitConflict: it is not open, and why; or it takes another answer, and which.
    """
    await session_of(given, runtime, wait, WaitKind.APPROVAL)
    return await question(runtime, wait)


def tell_decision(
    given: Given, asked: Question, said: str, *, enough: bool = True, line: bool = False, **more: Any
) -> None:
    """Confirm a decision, and say how the session goes on. ``more`` goes into the JSON only, which is one ``line``
    where others follow.
    """
    if given.as_json:
        beside = {"type": "decision"} if line else {}
        beside |= {"wait": asked.id, "session": asked.session, "answer": said}
        print_document({**beside, "enough": enough, **more}, line=line)
        return
    look.say(f"{look.mark('ok')} {visible(asked.id)}: {said}. It stands in the log.")
    if not enough:
        left = asked.approvers - len(asked.approved_by) - 1
        look.say(f"  {left} more of {asked.approvers} must approve it; nothing runs before.")
        return
    if line:
        return
    look.say(f"  then: {given.command('resume', asked.session)} (or a worker goes on by itself)")
