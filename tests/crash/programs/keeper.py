"""Erase a session, or take one in, and kill this very process at a named instant. Arguments: folder, deed, instant."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from callslip import Runtime, failpoint
from callslip.ports.trust import Identity
from callslip.runtime.parts import Data
from callslip.sessions.erase import erase_session
from callslip.sessions.import_ import import_session

ME = Identity(name="op", uid=7)


def die_at(instant):
    def listener(name):
        if name == instant:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoint.listen(listener)


async def main(folder, deed, instant):
    runtime = Runtime(state=folder / ("state" if deed == "erase" else "there"))
    runtime.configure(data=Data(encrypt=True))
    async with runtime:
        runtime.parts  # noqa: B018 - opened before anybody is killed
        die_at(instant)
        if deed == "erase":
            await erase_session(runtime.parts, "s", reason="asked", by=ME)
        else:
            await import_session(runtime.parts, folder / "s.clx", by=ME)


asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
