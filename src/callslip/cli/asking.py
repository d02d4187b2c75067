"""A model that is watched while it is asked: a server that hangs must not look like a program that does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from callslip.cli.live import LiveView
from callslip.ports.model import Delta, Model, OnDelta, Reply, Request

TICK = 1.0
"""Seconds between two looks at the clock."""


class Watched:
    """A model in front of another one; everything but :meth:`reply` is the other's."""

    def __init__(self, model: Model, view: LiveView) -> None:
        self._model = model
        self._view = view

    @property
    def name(self) -> str:
        return self._model.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        telling = asyncio.ensure_future(self._tell())

        def heard(delta: Delta) -> None:
            telling.cancel()
            if on_delta is not None:
                on_delta(delta)

        try:
            return await self._model.reply(request, heard)
        finally:
            telling.cancel()
            self._view.asked()

    async def _tell(self) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            self._view.asking(self.name, round(time.monotonic() - began))
