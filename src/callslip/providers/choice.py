"""Which model takes the next step: the cheapest that can (ORCH-06).

What a step needs is read off its request alone, so a run that resumes chooses as the one before it would have: room for
the conversation, eyes for its images, and after a step that went wrong the next level, for the rest of the turn. What
went wrong is a call refused for its arguments or its name, or a reply that was cut.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from callslip.core.message import AssistantReply, Message, Notice, ToolResults, UserText
from callslip.errors import UsageError
from callslip.ports.model import Model, OnDelta, Reply, Request
from callslip.providers.options import Price

BYTES_BY_TOKEN = 3
"""On the safe side for English, code and JSON alike; of Chinese a character has three bytes, and is about a token."""
IMAGE_TOKENS = 1600
"""What an image costs at most of the providers that are supported."""
ANSWER_TOKENS = 1000
"""What a reply is reckoned with when prices are compared."""
_WRONG = ('"invalid_arguments"', '"unknown_tool"')


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A model, and what is known of it."""

    model: Model
    price: Price
    context_tokens: int
    """How much it takes, its answer included."""
    level: int = 0
    """Hard steps go to a higher one."""
    images: bool = True
    """Whether it takes images."""


class Cheapest:
    """Implements ``Model`` and ``Chooser``. Each step is one candidate's, and stands under that one's name in the log.

    Raises:
        UsageError: there is no candidate.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        if not candidates:
            raise UsageError("There is no model to choose from. Nothing was started. Name at least one candidate.")
        self._candidates = tuple(candidates)

    @property
    def name(self) -> str:
        return f"cheapest of {', '.join(one.model.name for one in self._candidates)}"

    def choose(self, request: Request) -> Model:
        """The model for this request.

        Where no candidate has the level, the highest there is will do. Where none is large enough, the largest is asked
        and its server says what is too much.

        Raises:
            UsageError: the conversation holds images, and no candidate takes any.
        """
        tokens, images = _tokens(request), _has_images(request.messages)
        able = [one for one in self._candidates if one.images or not images]
        if not able:
            raise UsageError(
                "The conversation holds images, and none of the models to choose from takes any. Nothing was asked. "
                "Add one that does, or set images to false in its options."
            )
        roomy = [one for one in able if one.context_tokens >= tokens + ANSWER_TOKENS]
        if not roomy:
            return max(able, key=lambda one: one.context_tokens).model
        wanted = min(_trouble(request.messages), max(one.level for one in roomy))
        fit = [one for one in roomy if one.level >= wanted]
        return min(fit, key=lambda one: tokens * one.price.input + ANSWER_TOKENS * one.price.output).model

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        return await self.choose(request).reply(request, on_delta)

    async def aclose(self) -> None:
        """Close what the candidates hold open."""
        for one in self._candidates:
            close = getattr(one.model, "aclose", None)
            if close is not None:
                await close()


def _trouble(messages: Sequence[Message]) -> int:
    """How many steps of this turn went wrong."""
    turn = _of_turn(messages)
    cut = sum(isinstance(message, Notice) and message.text.startswith("Your last reply was") for message in turn)
    return cut + sum(isinstance(message, ToolResults) and _went_wrong(message) for message in turn)


def _of_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """What came since the model last answered for good."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        final = isinstance(message, AssistantReply) and not message.calls
        if final and isinstance(messages[min(place + 1, len(messages) - 1)], UserText):
            return messages[place + 1 :]
    return messages


def _went_wrong(results: ToolResults) -> bool:
    return any(one.is_error and any(code in one.content for code in _WRONG) for one in results.results)


def _has_images(messages: Sequence[Message]) -> bool:
    return any(
        attached.is_image
        for message in messages
        if isinstance(message, ToolResults)
        for one in message.results
        for attached in one.attachments
    )


def _tokens(request: Request) -> int:
    """About how many the request will be, rather too many than too few."""
    text = len(request.system.encode("utf-8", "replace"))
    text += sum(len(tool.description.encode("utf-8", "replace")) + _size(tool.input_schema) for tool in request.tools)
    attachments = 0
    for message in request.messages:
        if isinstance(message, UserText | Notice):
            text += len(message.text.encode("utf-8", "replace"))
        elif isinstance(message, AssistantReply):
            text += len(message.text.encode("utf-8", "replace")) + sum(_size(one.arguments) for one in message.calls)
            text += 0 if message.kept is None else _size(list(message.kept.items))
        else:
            text += sum(len(one.content.encode("utf-8", "replace")) for one in message.results)
            attachments += sum(len(one.attachments) for one in message.results)
    return text // BYTES_BY_TOKEN + attachments * IMAGE_TOKENS


def _size(value: object) -> int:
    try:
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        return 0
