"""A reply of Mistral's, plain or streamed: read as Chat Completions', once its own habits are evened out.

These are: ``"null"`` as the id of a call that has none, the default of its own library (github.com/mistralai/
client-python, ``ToolCall.id``); calls that come whole, all with the index 0 or none; content as a list of chunks, in
which ``thinking`` and ``reference`` stand between texts (Mistral docs, "Reasoning"); errors that are an object of the
kind "error" instead of holding one. The chunks are kept, as the models want back what they thought (WIRE-05).

Other models that Mistral serves send a call in pieces, with ``"null"`` as the id of all but the first (github.com/
langchain-ai/langchainjs/pull/11373). What is plainly whole is a call of its own; any other piece goes on with
its index.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core.events.model_replied import Usage
from callslip.ports.model import Delta, Proposal, Reply
from callslip.providers.cost import priced
from callslip.providers.loose import as_count, as_list, as_object, as_text, join_text, object_in
from callslip.providers.offered import Offered
from callslip.providers.openai_chat_reply import plain_reply
from callslip.providers.openai_chat_stream import ChatAssembly
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff

NO_ID = "null"
"""What stands for the id of a call that has none."""
_OWN = "\0"
"""Begins the ids that stand, here alone, for those that whole calls of a stream lack. A server's id that begins so is
lost, and nothing more."""


def whole_reply(body: dict[str, Any], offered: Offered, price: Price | None = None) -> Reply | None:
    """A reply that came in one piece; None when the JSON is none.

    Raises:
        BrokenOff: the body is an error.
    """
    _raise_error(body)
    reply = plain_reply(body, offered)
    if reply is None:
        return None
    choices = as_list(body.get("choices"))
    chunks = Chunks()
    chunks.add(as_object(as_object(choices[0]).get("message")).get("content") if choices else None)
    return _finished(reply, chunks, body.get("usage"), price)


class MistralAssembly:
    """One streamed reply. Implements ``Assembly``."""

    def __init__(self, offered: Offered, price: Price | None = None) -> None:
        self._price = price
        self._chat = ChatAssembly(offered)
        self._chunks = Chunks()
        self._usage: Any = None
        self._nameless = 0
        self._end: dict[str, Any] | None = None
        self.started = False
        """Whether a chunk has come at all."""

    def add(self, name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one chunk in; what of it a person may be shown already.

        Raises:
            BrokenOff: the event is an error.
        """
        _raise_error(data)
        self.started = True
        self._usage = data.get("usage") or self._usage
        choices = [as_object(choice) for choice in as_list(data.get("choices"))]
        choices = [choice for choice in choices if not self._is_end_again(choice)]
        for choice in choices:
            if choice.get("index") in (0, None):
                self._chunks.add(as_object(choice.get("delta")).get("content"))
        return self._chat.add(name, {**data, "choices": [self._told_apart(choice) for choice in choices]})

    def reply(self, *, broken: bool = False) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        return _finished(self._chat.reply(broken=broken), self._chunks, self._usage, self._price)

    def _is_end_again(self, choice: dict[str, Any]) -> bool:
        """Whether the end came twice. It holds the calls, which would be added to themselves."""
        if not as_text(choice.get("finish_reason")):
            return False
        before, self._end = self._end, choice
        return choice == before

    def _told_apart(self, choice: dict[str, Any]) -> dict[str, Any]:
        """The choice, with an id for each call that is plainly whole and has none: nothing else would part two of them
        on one index.
        """
        delta = as_object(choice.get("delta"))
        if not isinstance(delta.get("tool_calls"), list):
            return choice
        calls = [self._identified(as_object(item)) for item in delta["tool_calls"]]
        return {**choice, "delta": {**delta, "tool_calls": calls}}

    def _identified(self, item: dict[str, Any]) -> dict[str, Any]:
        if _has_id(item):
            return item
        function = as_object(item.get("function"))
        arguments = function.get("arguments")
        whole = isinstance(arguments, dict) or (isinstance(arguments, str) and object_in(arguments) is not None)
        if not (whole and as_text(function.get("name"))):
            return {**item, "id": ""}
        self._nameless += 1
        return {**item, "id": f"{_OWN}{self._nameless}"}


class Chunks:
    """The content of a reply as a list of chunks, the pieces of a stream joined."""

    def __init__(self) -> None:
        self._pieces: list[dict[str, Any]] = []

    def add(self, content: Any) -> None:
        sound = (_sound(piece) for piece in _as_pieces(content))
        self._pieces += [piece for piece in sound if piece is not None]

    def kept(self) -> tuple[Any, ...]:
        """What has to go back to the letter; () where it is only text."""
        return ({"content": _joined(self._pieces)},) if any(_kind(piece) != "text" for piece in self._pieces) else ()


def _as_pieces(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*map(as_object, as_list(content))]


def _sound(piece: dict[str, Any]) -> dict[str, Any] | None:
    """A chunk as it can go back. None where nothing is said, as Mistral sends some (github.com/mistralai/client-python/
    issues/252), or where it is malformed, since one such chunk would have every later request refused.
    """
    piece = {key: value for key, value in piece.items() if value is not None}
    kind = _kind(piece)
    if kind == "text":
        return piece if as_text(piece.get("text")) else None
    if kind != "thinking":
        return piece if kind else None
    parts = [part for part in map(_sound, _texts_and_sources(piece.get("thinking"))) if part is not None]
    # What closes a thought says something though it is empty.
    return {**piece, "thinking": parts} if parts or piece.get("closed") else None


def _texts_and_sources(thinking: Any) -> list[dict[str, Any]]:
    """What a thought is made of; never of thoughts (Mistral docs, API > Chat completion, ``ThinkChunk``)."""
    return [part for part in _as_pieces(thinking) if _kind(part) != "thinking"]


def _joined(pieces: list[Any]) -> list[Any]:
    """The pieces as chunks: those that go on with the one before are one with it."""
    runs: list[list[Any]] = []
    for piece in pieces:
        if runs and _goes_on(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [_one_chunk(run) for run in runs]


def _goes_on(before: Any, piece: Any) -> bool:
    kind = _kind(piece)
    if kind != _kind(before):
        return False
    if kind == "text":
        return bool(piece.keys() == before.keys() == {"type", "text"})
    # A thought that was closed is over; the next one is another.
    return kind == "thinking" and before.get("closed") is not True


def _one_chunk(run: list[Any]) -> Any:
    if len(run) == 1 and _kind(run[0]) != "thinking":
        return run[0]
    whole = {key: value for piece in run for key, value in piece.items()}
    if _kind(whole) == "text":
        return {**whole, "text": join_text(as_text(piece["text"]) for piece in run)}
    return {**whole, "thinking": _joined([part for piece in run for part in piece["thinking"]])}


def _kind(piece: Any) -> str:
    return as_text(as_object(piece).get("type"))


def _has_id(item: dict[str, Any]) -> bool:
    return as_text(item.get("id")).strip() not in {"", NO_ID}


def _finished(reply: Reply, chunks: Chunks, usage: Any, price: Price | None) -> Reply:
    return msgspec.structs.replace(
        reply,
        proposals=tuple(map(_without_stand_in, reply.proposals)),
        usage=priced(_cached(reply.usage, as_object(usage)), price),
        kept=chunks.kept() if reply.finish in {"calls", "stop"} else (),
    )


def _without_stand_in(proposal: Proposal) -> Proposal:
    own = proposal.provider_id
    return msgspec.structs.replace(proposal, provider_id="") if own == NO_ID or own.startswith(_OWN) else proposal


def _cached(usage: Usage, said: dict[str, Any]) -> Usage:
    """Mistral has three places for the tokens read from its cache (github.com/vercel/ai, packages/mistral/src/
    convert-mistral-usage.ts); one of them is Chat Completions'.
    """
    count = as_count(said.get("num_cached_tokens")) or as_count(
        as_object(said.get("prompt_token_details")).get("cached_tokens")
    )
    return msgspec.structs.replace(usage, cached_tokens=usage.cached_tokens or count)


def _raise_error(body: dict[str, Any]) -> None:
    """Raise an error that came as a reply. Its status says better than its code whether asking again may help."""
    if body.get("object") != "error":
        return
    status = as_count(body.get("raw_status_code"))
    raise BrokenOff({**body, "message": _words(body.get("message")), "code": status or body.get("code")})


def _words(message: Any) -> str:
    """A refusal of the request's form lists what is wrong instead of saying it (Mistral docs, API > Chat completion,
    ``HTTPValidationError``).
    """
    found = [as_text(one.get("msg")) for one in map(as_object, as_list(as_object(message).get("detail")))]
    return as_text(message) or "; ".join(word for word in found if word)
