"""The conversation as a model is shown it: a view of the log, in the model's order (LEDG-07, CALL-06).

Every call of a shown reply has exactly one result beside it. Fragments and unfinished steps never appear.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.instead import disclosure
from callslip.core.message import (
    AssistantReply,
    CallMessage,
    Kept,
    Message,
    Notice,
    ResultMessage,
    ToolResults,
    UserText,
)  # fmt: skip
from callslip.core.result import Effect, Status
from callslip.core.state import CompactedItem, Item, SessionState, StepItem, UndoneItem, UserItem
from callslip.runtime import payloads
from callslip.runtime.parts import Parts
from callslip.sessions.attachments import attachments, fit
from callslip.sessions.checkpoint import load_items
from callslip.sessions.inherited import inherited

_CUT = {
    "length": "Your last reply was cut off because it was too long",
    "cut": "Your last reply was cut off because the connection broke",
    "filtered": "Your last reply was withheld by the provider's filter",
}

_SAME = (
    "(This call has now given the same result {} times in this turn. Making it once more will hardly change that: use "
    "the result, do something else, or tell the user what you wait for.)"
)


async def project(parts: Parts, state: SessionState) -> tuple[Message, ...]:
    """All messages of the session, for the next request."""
    whole = [*await inherited(parts, state), *((state.session, item) for item in await load_items(parts, state))]
    messages: list[Message] = []
    for session, items in itertools.groupby(_shown(whole), lambda one: one[0]):
        messages += await _conversation(parts.of(session), [item for _, item in items])
    return tuple(fit(messages))


def _shown(items: Sequence[tuple[str, Item]]) -> list[tuple[str, Item]]:
    """What the latest summaries leave of the conversation; a summary stands first."""
    shown: list[tuple[str, Item]] = []
    for session, item in items:
        if isinstance(item, CompactedItem):
            shown = [(session, item), *(shown[-item.keep :] if item.keep else ())]
        else:
            shown.append((session, item))
    return shown


async def _conversation(parts: Parts, items: Sequence[Item]) -> list[Message]:
    messages: list[Message] = []
    calls: dict[str, FunctionCall] = {}
    for undone, group in itertools.groupby(items, lambda item: isinstance(item, UndoneItem)):
        if undone:
            messages.append(await _undone(parts, [item for item in group if isinstance(item, UndoneItem)], calls))
            continue
        for item in group:
            if isinstance(item, UserItem):
                messages.append(UserText(text=item.text))
            elif isinstance(item, CompactedItem):
                summary = await payloads.load(parts.blobs, item.summary)
                messages.append(Notice(text=f"The conversation so far, summed up:\n{summary}"))
            elif isinstance(item, StepItem):
                calls |= {call.call_id: call for call in item.calls}
                messages += await _step(parts, item)
    return messages


async def _undone(parts: Parts, items: Sequence[UndoneItem], calls: Mapping[str, FunctionCall]) -> Notice:
    """Tell the model that what it did is no longer so: nothing else in the conversation would."""
    lines = ["A person has had earlier calls of yours undone. What is not named here is as it was."]
    for item in items:
        before = calls.get(item.call.undoes)
        what = "a call" if before is None else await _in_words(parts, before)
        how = await _in_words(parts, item.call)
        if item.response.status is Status.SUCCESS:
            lines.append(f"- {what}: undone by {how}")
        else:
            lines.append(f"- {what}: {how} was to undo it, and gave {failure_text(item.response)}")
    return Notice(text="\n".join(lines))


async def _in_words(parts: Parts, call: FunctionCall) -> str:
    arguments = await payloads.load(parts.blobs, call.arguments)
    return f"{call.tool} {arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)}"


async def _step(parts: Parts, item: StepItem) -> list[Message]:
    calls = [await _call(parts, call) for call in item.calls]
    messages: list[Message] = [AssistantReply(text=item.text, calls=tuple(calls), kept=await _kept(parts, item))]
    if item.calls:
        pairs = zip(item.calls, item.responses, strict=True)
        results = [await result(parts, *pair, edits=item.edits.get(pair[0].call_id, ())) for pair in pairs]
        messages.append(ToolResults(results=tuple(results)))
    if item.finish in _CUT:
        messages.append(
            Notice(text=f"{_CUT[item.finish]}. No tool was called by it. Answer again, more briefly if need be.")
        )
    return messages


async def _kept(parts: Parts, item: StepItem) -> Kept | None:
    if item.kept is None:
        return None
    try:
        items = json.loads(await payloads.load(parts.blobs, item.kept))
    except ValueError:  # it was erased
        return None
    return Kept(model=item.model, items=tuple(items))


async def _call(parts: Parts, call: FunctionCall) -> CallMessage:
    return CallMessage(
        call_id=call.call_id,
        provider_id=call.provider_call_id,
        tool=call.tool,
        arguments=await payloads.load(parts.blobs, call.arguments),
    )


async def result(
    parts: Parts, call: FunctionCall, response: FunctionResponse, *, edits: tuple[str, ...] = ()
) -> ResultMessage:
    """One answer as text for the model. ``edits``: how a person changed the arguments before the call was made."""
    failed = response.status is not Status.SUCCESS
    told = f"A person changed the arguments before this call was made: {'; '.join(edits)}." if edits else ""
    content = failure_text(response) if failed else await success_text(parts, response)
    disclosed = disclosure(response.fallback, ended=_ended(response)) if response.fallback is not None else ""
    again = _SAME.format(response.repeated) if response.repeated else ""
    attached, lines = await attachments(parts.blobs, response)
    return ResultMessage(
        call_id=call.call_id,
        provider_id=call.provider_call_id,
        tool=call.tool,
        content="\n".join(part for part in (disclosed, told, content, again, *lines) if part),
        is_error=failed,
        attachments=attached,
        found=tuple(tool.name for tool in response.activated),
    )


def _ended(response: FunctionResponse) -> Literal["well", "badly", "unknown"]:
    """How it went for what stood in. What has failed is no answer, and must not be announced as one."""
    if response.status is Status.SUCCESS:
        return "well"
    return "unknown" if response.effect is Effect.UNKNOWN else "badly"


def failure_text(response: FunctionResponse) -> str:
    """Status, code, what happened to the world, and what to do, as compact JSON."""
    body: dict[str, Any] = {
        "status": response.status.value,
        "error_code": response.error_code,
        "error_message": response.error_message,
        "retryable": response.retryable,
        "effect": response.effect.value,
    }
    if response.field_errors:
        body["field_errors"] = [
            {"field": error.field, "rule": error.rule, "message": error.message} for error in response.field_errors
        ]
    if response.effect is Effect.UNKNOWN:
        body["note"] = "It is not known whether this took effect. Do not assume either."
    return json.dumps(body, ensure_ascii=False)


async def success_text(parts: Parts, response: FunctionResponse) -> str:
    """The summary, then the result: text as it is, anything else as JSON."""
    shown = response.shown or response.structured
    value = await payloads.load(parts.blobs, shown) if shown is not None else None
    if isinstance(value, str):
        body = value
    elif shown is None or (value is None and response.summary):
        body = ""
    else:
        body = (await payloads.text(parts.blobs, shown)).decode()
    return "\n".join(part for part in (response.summary, body) if part)
