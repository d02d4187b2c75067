"""A constrained reply made neutral: an envelope's calls or text, or plain text where a server constrained nothing.

Invariant: calls come only out of one whole envelope with one reading. What was meant to be one and can't be read counts
as cut, so it proposes nothing and the next request tells the model (CALL-05).
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.ports.model import Delta, Reply
from callslip.providers.constrained_answer import AnswerText
from callslip.providers.constrained_envelope import begins, read, spoken
from callslip.providers.offered import Offered
from callslip.providers.openai_chat_reply import plain_reply
from callslip.providers.openai_chat_stream import ChatAssembly
from callslip.providers.options import Price


def whole_reply(body: dict[str, Any], offered: Offered, price: Price | None, *, enveloped: bool) -> Reply | None:
    """A reply that came in one piece; None when the JSON is no chat completion."""
    reply = plain_reply(body, offered, price)
    return None if reply is None else concluded(reply, offered, enveloped=enveloped)


class ConstrainedAssembly:
    """One streamed reply. Implements ``Assembly``."""

    def __init__(self, offered: Offered, price: Price | None, *, enveloped: bool) -> None:
        self._offered = offered
        self._enveloped = enveloped
        self._chat = ChatAssembly(offered, price)
        self._answer = AnswerText()
        self.started = False
        """Whether a chunk has come at all."""

    def add(self, name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one chunk in; what of its text a person may be shown already: never JSON."""
        self.started = True
        shown = [delta for delta in self._chat.add(name, data) if delta.text]
        if not self._enveloped:
            return shown
        texts = [self._answer.add(delta.text) for delta in shown]
        return [Delta(text=text) for text in texts if text]

    def reply(self, *, broken: bool = False) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        return concluded(self._chat.reply(broken=broken), self._offered, enveloped=self._enveloped)


def concluded(reply: Reply, offered: Offered, *, enveloped: bool) -> Reply:
    """What a reply in Chat Completions form means. Native calls were not asked for, and count as nothing."""
    bare = msgspec.structs.replace(reply, proposals=(), kept=())
    if reply.finish == "calls":
        bare = msgspec.structs.replace(bare, finish="stop" if reply.text.strip() else "empty")
    if not enveloped:
        return bare
    if bare.finish != "stop":
        return msgspec.structs.replace(bare, text=AnswerText().add(reply.text))
    envelope = read(reply.text)
    if envelope is None and begins(reply.text):
        return msgspec.structs.replace(bare, text=AnswerText().add(reply.text), finish="cut")
    if envelope is not None and envelope.calls:
        proposals = tuple(offered.proposal(call.tool, call.arguments, "") for call in envelope.calls)
        return msgspec.structs.replace(bare, text="", proposals=proposals, finish="calls")
    text = spoken(reply.text) if envelope is None else envelope.text
    return msgspec.structs.replace(bare, text=text, finish="stop" if text.strip() else "empty")
