"""A program that is told: started without a shell, in a process group of its own, and ended with that group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from callslip.notify.channel import Delivered, Failed, Outcome, Parcel
from callslip.notify.endpoint import CommandEndpoint

_OWNER_MARK = "CALLSLIP_OWNER"
"""By this variable recovery finds what a dead owner's tools left running. A command is no tool's child, and one that
lingers must not hold up a session."""


class Command:
    """Implements ``Channel``. The notice is one line of JSON on standard input; what the program prints goes nowhere.

    Exit code 0 says that it was told; anything else is tried again.
    """

    def __init__(self, endpoint: CommandEndpoint) -> None:
        self._argv = endpoint.argv

    async def send(self, parcel: Parcel) -> Outcome:
        environment = {name: value for name, value in os.environ.items() if name != _OWNER_MARK}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                cwd="/",  # a relative path in it must not lead into a folder that tools write
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return Failed(reason=f"the program can't be started ({error.strerror})")
        try:
            await process.communicate(parcel.body + b"\n")
        finally:
            if process.returncode is None:
                await _end(process)
        code = process.returncode
        if code == 0:
            return Delivered()
        ended = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return Failed(reason=f"the program {ended}")


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # its session began with it, so its group has its id
    await process.wait()
