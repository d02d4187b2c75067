"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys

import pytest

from callslip.core.message import UserText
from callslip.ports.model import Request, ToolView
from callslip.testing.nothing_left import nothing_left  # noqa: F401 - a fixture

# The tests' own keys must not be mistaken for held secrets, and no test may reach a real service or a real state folder.
_OURS = ("ANTHROPIC_", "CALLSLIP_", "GEMINI_", "GOOGLE_", "MISTRAL_", "OPENAI_")
for _name in [name for name in os.environ if name.startswith(_OURS)]:
    del os.environ[_name]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """The garbage collector never goes through what is collected, neither while it grows nor at any test after it:
    thousands of tests and their modules stay to the end, and each full round through them takes longer than a test.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """What runs the same few lines a thousand times over is not traced for coverage: it would take several times as
    long, and each line is met elsewhere. (pytest-cov's own ``no_cover`` has no effect in the processes of xdist.)
    """
    tracer = sys.gettrace()
    if tracer is None or not _repeats(item):
        yield
        return
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


def _repeats(item) -> bool:
    hypothesis = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return hypothesis or "property" in item.path.parts or item.get_closest_marker("untraced") is not None


@pytest.fixture(autouse=True)
def _leaves_nothing(nothing_left) -> None:  # noqa: F811
    """Of every test. The one that comes first, so that it looks last; what a wider scope has begun is not the test's."""


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
