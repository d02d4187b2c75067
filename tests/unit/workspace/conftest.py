from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool
from callslip.workspace.access import Workspace, open_workspace
from callslip.workspace.tools import workspace_tools


class StillClock:
    """Time stands where the test puts it."""

    def __init__(self) -> None:
        self.milliseconds = 1_000_000

    def now(self) -> int:
        return self.milliseconds

    def monotonic(self) -> float:
        return self.milliseconds / 1000

    async def sleep(self, seconds: float) -> None:
        self.milliseconds += round(seconds * 1000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def context() -> Context:
    return Context(
        session="s",
        call_id="c",
        attempt=1,
        idempotency_key="k",
        deadline=1_060_000,
        clock=StillClock(),
        on_progress=lambda _message, _fraction: None,
        on_partial=lambda _text: None,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace; everything beside it in tmp_path is outside."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return open_workspace(root)


@pytest.fixture
def tools(root: Path) -> dict[str, Tool]:
    return {tool.spec.name: tool for tool in workspace_tools(root)}


@pytest.fixture
def use(tools: dict[str, Tool], context: Context) -> Callable[..., Any]:
    """Call a tool as the plain function it is."""
    return lambda name, **arguments: tools[name](context, **arguments)


@pytest.fixture
def refused(use: Callable[..., Any], tmp_path: Path) -> Callable[..., ToolFailed]:
    """Call a tool that must fail; its error, which never names a place of this machine."""

    def call(name: str, **arguments: Any) -> ToolFailed:
        with pytest.raises(ToolFailed) as caught:
            use(name, **arguments)
        assert str(tmp_path) not in str(caught.value)
        assert caught.value.effect == "none"
        return caught.value

    return call


@pytest.fixture
def swapping(root: Path) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """While in ``with``, a thread points the link root/door at one target after the other, as fast as it can."""

    @contextlib.contextmanager
    def swap(*targets: str) -> Iterator[None]:
        stop, running = threading.Event(), threading.Event()

        def work() -> None:
            while not stop.is_set():
                for target in targets:
                    os.symlink(target, root / "next")
                    os.rename(root / "next", root / "door")
                running.set()

        thread = threading.Thread(target=work)
        thread.start()
        running.wait(60)
        try:
            yield
        finally:
            stop.set()
            thread.join()

    return swap
