"""What all tests share."""

from __future__ import annotations

import os

import pytest

from callslip.core.message import UserText
from callslip.ports.model import Request, ToolView
from callslip.testing.nothing_left import nothing_left  # noqa: F401 - a fixture

# The tests' own keys must not be mistaken for held secrets, and no test may reach a real service or a real state folder.
_OURS = ("ANTHROPIC_", "CALLSLIP_", "GEMINI_", "GOOGLE_", "MISTRAL_", "OPENAI_")
for _name in [name for name in os.environ if name.startswith(_OURS)]:
    del os.environ[_name]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def ask():
    """A request with one tool whose name needs an alias, and whatever else the test says."""

    def make(**changes):
        values = {
            "system": "Be brief.",
            "messages": (UserText(text="Hello"),),
            "tools": (ToolView(name="files.read", description="Read a file", input_schema={"type": "object"}),),
        }
        return Request(**(values | changes))

    return make
