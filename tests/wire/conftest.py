import pytest

from callslip.core.message import UserText
from callslip.ports.model import Request, ToolView


@pytest.fixture
def anyio_backend():
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
