"""What all tests share."""

from __future__ import annotations

import os

import pytest

# The tests' own keys must not be mistaken for held secrets, and no test may reach a real service or a real state folder.
for _name in [name for name in os.environ if name.startswith(("OPENAI_", "CALLSLIP_"))]:
    del os.environ[_name]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
