"""The conversation in the order that every provider demands: each reply's calls are answered at once, and only once.

Whatever came in between (a steer, a notice) comes after the results. What can't be put so is not sent at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from callslip.core.message import (
    AssistantReply,
    CallMessage,
    Kept,
    Message,
    Notice,
    ResultMessage,
    ToolResults,
    UserText,
)
from callslip.errors import StillWaiting, UsageError
from callslip.providers.call_ids import IdRule, wire_ids

NOTICE = "[Notice from the runtime, not from the user]"
EMPTY_USER_TEXT = "(empty message)"
EMPTY_RESULT = "(empty result)"


class UserTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Words of the user, or of the runtime in the user's place. Never empty."""

    text: str


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its result."""

    id: str
    """On the wire."""
    call: CallMessage
    result: ResultMessage

    @property
    def content(self) -> str:
        """The result's text; never empty, which several providers refuse."""
        return self.result.content if self.result.content.strip() else EMPTY_RESULT


class ModelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, with the results of its calls. One that said nothing at all and called nothing is left out: strict
    servers refuse it, and leaving it out tells the model as much.
    """

    text: str
    calls: tuple[Answered, ...]
    kept: Kept | None


Turn = UserTurn | ModelTurn


def turns(messages: Sequence[Message], rule: IdRule) -> list[Turn]:
    """The conversation as turns.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    ids = wire_ids(calls_in(messages), rule)
    results = _results(messages, ids)
    made: list[Turn] = []
    for message in messages:
        if isinstance(message, UserText):
            made.append(UserTurn(text=message.text if message.text.strip() else EMPTY_USER_TEXT))
        elif isinstance(message, Notice):
            # As the user's turn: many chat templates raise on a system message that isn't the first.
            made.append(UserTurn(text=f"{NOTICE}\n{message.text}"))
        elif isinstance(message, AssistantReply) and (message.calls or message.text.strip()):
            calls = tuple(_answered(call, ids, results) for call in message.calls)
            made.append(ModelTurn(text=message.text, calls=calls, kept=message.kept))
    return made


def calls_in(messages: Iterable[Message]) -> list[CallMessage]:
    """All calls of the history, in order."""
    return [call for message in messages if isinstance(message, AssistantReply) for call in message.calls]


def _answered(call: CallMessage, ids: dict[str, str], results: dict[str, ResultMessage]) -> Answered:
    result = results.get(call.call_id)
    if result is None:
        raise StillWaiting(
            f"The history holds the call {call.call_id} of {call.tool!r} without a result. Nothing was sent. "
            "Ask the model again once every call of the step has been answered."
        )
    return Answered(id=ids[call.call_id], call=call, result=result)


def _results(messages: Sequence[Message], ids: dict[str, str]) -> dict[str, ResultMessage]:
    results: dict[str, ResultMessage] = {}
    for message in messages:
        for result in message.results if isinstance(message, ToolResults) else ():
            if result.call_id not in ids or result.call_id in results:
                fault = "a second result for" if result.call_id in results else "a result without"
                raise UsageError(
                    f"The history holds {fault} the call {result.call_id}. Nothing was sent. "
                    "Give back each call with exactly one result."
                )
            results[result.call_id] = result
    return results
