"""A ledger for each test of a suite."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest

from callslip.ports.ledger import Ledger


@pytest.mark.anyio
class OpenedLedger:
    """How one is opened."""

    shared: ClassVar[bool] = True
    """Whether a second one can be opened on the same place."""

    async def opened(self, place: Path) -> Ledger:
        """A ledger at this place."""
        raise NotImplementedError

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def ledger(self, tmp_path: Path) -> AsyncIterator[Ledger]:
        ledger = await self.opened(tmp_path)
        yield ledger
        await ledger.aclose()

    @contextlib.asynccontextmanager
    async def second(self, place: Path) -> AsyncIterator[Ledger]:
        """Another one on the same place, as another process would open it."""
        if not self.shared:
            pytest.skip("lives in one process")
        ledger = await self.opened(place)
        try:
            yield ledger
        finally:
            await ledger.aclose()
