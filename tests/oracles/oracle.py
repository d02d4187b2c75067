"""An official SDK as an oracle: what it makes of a reply, what it lets through, what it raises.

Each format has a module of functions here, which import its SDK; ``oracle`` is how a test comes by one.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import msgspec
import pytest

from callslip.models import KINDS
from callslip.ports.model import ToolView
from callslip.testing.contract.answering import answer
from callslip.testing.contract.answers import Sends
from callslip.testing.contract.format import Format
from callslip.testing.contract.formats import ALL, BASE

SDKS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google.genai",
    "mistral": "mistralai.client",
    "compatible": "openai",
}
"""By format: the package that must be there."""
MODELS = {
    "openai_chat": "gpt-test",
    "openai_responses": "gpt-test",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "mistral": "mistral-test",
    "compatible": "local",
}
KEY = "sk-not-a-key"
PAY = ToolView(
    name="pay",
    description="Pay.",
    input_schema={
        "type": "object",
        "properties": {"cents": {"type": "integer"}, "to": {"type": "string"}},
        "required": ["cents", "to"],
    },
)


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A reply as an SDK reads it, in the words of our own ``Reply``."""

    text: str
    calls: tuple[tuple[str, str, dict[str, Any]], ...]
    """Id, name and arguments of each."""
    finish: str
    input_tokens: int
    output_tokens: int


def oracle(form: str) -> ModuleType:
    """The module of a format; without its SDK the test is skipped."""
    package = SDKS[form]
    pytest.importorskip(package, reason=f"the official SDK ({package}) is not installed: `make oracles` does it")
    name = "openai_chat" if form == "compatible" else form
    return importlib.import_module(f".sdk_{name}", __package__)


def adapter(form: str, url: str, **options: Any) -> Any:
    """Our own model of a format."""
    kind = "openai_chat" if form == "compatible" else form
    return KINDS[kind].made_by()(MODELS[form], base_url=url, api_key=KEY, **options)


def contract(form: str) -> Format:
    return next(made for made in (one() for one in ALL) if made.name == form)


def same_bytes(said: Any, form: str, exchange: Any) -> Sends:
    """What the server answers to this request, once and for all: whoever asks gets the same bytes."""
    response = answer(said, contract(form), exchange.body, BASE[form] + exchange.path)
    assert (response.status, response.then) == (200, "ends")
    return Sends(body=b"".join(response.writes), headers=response.headers)


def parsed(reply: Any) -> Parsed:
    """Our own reading of a reply."""
    return Parsed(
        text=reply.text,
        calls=tuple(
            (
                one.provider_id,
                one.tool,
                msgspec.json.decode(one.arguments) if isinstance(one.arguments, str) else one.arguments,
            )
            for one in reply.proposals
        ),
        finish=reply.finish,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
    )
