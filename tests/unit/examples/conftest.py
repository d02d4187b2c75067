"""The examples are no package: each is a project folder of its own."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "five_hundred_tools"


@pytest.fixture(scope="session", autouse=True)
def five_hundred_on_path():
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
