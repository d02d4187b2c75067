"""`make live` reads this file and not the one of all tests, which takes the keys away."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
