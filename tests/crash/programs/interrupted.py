"""Calls a tool that does not end, in this process or in one of its own, until somebody presses Ctrl-C."""

import asyncio
import signal
import sys
import time
from pathlib import Path

from callslip import Runtime, tool
from callslip.runtime.parts import Limits


def _begin(folder: str) -> None:
    Path(folder, "begun").touch()


@tool(risk="write", timeout=600)
async def here(folder: str) -> str:
    """Wait, and take a while to end."""
    _begin(folder)
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.2)
    return ""


@tool(risk="write", timeout=600, process=True)
def elsewhere(folder: str) -> str:
    """Wait, deaf."""
    _begin(folder)
    time.sleep(600)
    return ""


async def main() -> None:
    folder, name = sys.argv[1], sys.argv[3]
    state = Path(folder, "state")
    async with Runtime(tools=[here, elsewhere], state=state, limits=Limits(grace=0.5)) as runtime:
        await runtime.dispatch([{"name": name, "input": {"folder": folder}}], session="s", step="1")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever has started the tests may have had it ignored
    asyncio.run(main())
