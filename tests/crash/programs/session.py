"""A session with one call of a tool that reports its effect; each mode is one way to begin, die or come back.

Arguments: the folder, the effect counter's socket, the mode, and what the mode needs. A line on standard output for
each thing that happened; a line on standard input lets it go on where it waits.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from callslip import Context, Runtime, failpoint, tool
from callslip.errors import CallslipError
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.effects import Effects

FOLDER = Path(sys.argv[1])
EFFECTS = Effects(Path(sys.argv[2]), FOLDER.name)
MODE, REST = sys.argv[3], sys.argv[4:]


def say(what):
    print(what, flush=True)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def runtime(name="put", *, grace=0.3, patience=20.0, quiet=0.0, local=True, before=lambda: None):
    def asked(context, item):
        say(f"asked {time.time()}")
        return {"found": item} if EFFECTS.happened(context.idempotency_key) else None

    def make(tool_name, recovery, **more):
        @tool(name=tool_name, risk="dangerous", recovery=recovery, local_effect=local, quiet=quiet, timeout=30, **more)
        def body(item: str, context: Context) -> str:
            """Do something in the world."""
            before()
            EFFECTS.take(context, tool_name, target=item)
            say(f"effect {time.time()}")
            return item

        return body

    return Runtime(
        tools=[make("put", "idempotent"), make("pay", "never"), make("ask", "probe", probe=asked)],
        model=Scripted([calling((name, {"item": "a"})), "Done."]),
        state=FOLDER / "state",
        policy={"dangerous": "allow"},
        limits=Limits(poll=0.02, grace=grace, patience=patience),
    )


def drive(rt, *, first):
    """Drive the session and say how it ended."""

    async def main():
        async with rt:
            try:
                run = await (rt.run("Do it.", session="s") if first else rt.resume("s"))
            except CallslipError as error:
                say(f"{type(error).__name__} {error}")
            else:
                say(f"{run.status} {run.reason or run.text}")

    asyncio.run(main())


def kill_at(name):
    """Begin, and be killed at a failpoint."""
    failpoint.listen(lambda met: die() if met == name else None)


match MODE:
    case "die":  # the tool, the failpoint
        kill_at(REST[1])
        drive(runtime(REST[0]), first=True)
    case (
        "die-remote"
    ):  # as die, and the tool's request may still be on its way: the tool, the failpoint, the quiet time
        kill_at(REST[1])
        drive(runtime(REST[0], local=False, quiet=float(REST[2])), first=True)
    case "leave-child":  # die amid the call, leaving a process behind: the tool, its seconds, or until it is told
        done, told = FOLDER / "child-done", FOLDER / "child-told"
        seconds = 120.0 if REST[1] == "told" else float(REST[1])
        code = (
            f"import os, time\nuntil = time.monotonic() + {seconds}\n"
            f"while time.monotonic() < until and not os.path.exists({str(told)!r}): time.sleep(0.01)\n"
            f"open({str(done)!r}, 'w').write(str(time.time()))"
        )

        def leave():
            subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            die()

        drive(runtime(REST[0], before=leave), first=True)
    case "freeze":  # stop like a machine that sleeps, at a failpoint: the tool, the failpoint
        failpoint.listen(lambda met: os.kill(os.getpid(), signal.SIGSTOP) if met == REST[1] else None)
        drive(runtime(REST[0]), first=True)
    case "resume":  # the tool, seconds of grace, the quiet time
        grace, quiet = [*REST[1:], "0.3", "0"][:2]
        rt = runtime(REST[0], grace=float(grace), quiet=float(quiet), local=not float(quiet))
        say("ready")
        sys.stdin.readline()
        drive(rt, first=False)
    case "hold":  # resume, and stay in the effect until told otherwise: the tool

        def hold():
            say("holding")
            sys.stdin.readline()

        drive(runtime(REST[0], before=hold), first=False)
    case _:
        raise SystemExit(f"unknown mode {MODE}")
