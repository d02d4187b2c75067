"""Tools that run in a process of their own, and what they leave in a folder: played with by the tests beside it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from callslip import Conflict, Context, ToolFailed, ToolResult, tool


@tool(risk="read", process=True)
def add(a: int, b: int = 1) -> dict:
    """Add, and tell where."""
    return {"sum": a + b, "pid": os.getpid()}


@tool(risk="read", process=True)
async def later(day: datetime.date) -> datetime.date:
    """A day later."""
    await asyncio.sleep(0)
    return day + datetime.timedelta(days=1)


@tool(risk="read", process=True)
async def tell(name: str):
    """Tell a story in pieces."""
    yield "Once "
    yield name


@tool(risk="read", process=True)
def talk(context: Context) -> ToolResult:
    """Use all of the context."""
    context.progress("half", 0.5)
    context.partial("a piece")
    reference = context.artifact("chart.txt", b"bars and lines", media_type="text/plain")
    print("printed by the tool")
    print("and complained about", file=sys.stderr)
    known = [context.session, context.call_id, context.attempt, context.idempotency_key]
    return ToolResult(summary="All of it.", structured={"known": known, "at": reference.address, "raw": b"\0\1"})


def _raise(kind: str) -> None:
    if kind == "failed":
        raise ToolFailed("Not there.", code="no_such", effect="done", retryable=True, not_found=True)
    if kind == "transient":
        raise ToolFailed("Later.", transient=True, retry_after=7)
    if kind == "os":
        raise FileNotFoundError(2, "No such file", "/srv/secret")
    if kind == "own":
        raise type("HouseRules", (ConnectionError,), {})("no dogs")
    if kind == "unicode":
        b"\xff".decode()
    if kind == "exit":
        raise SystemExit(3)
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "generator":
        raise GeneratorExit
    if kind == "cancelled":
        raise asyncio.CancelledError
    if kind == "os._exit":
        os._exit(7)
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


@tool(risk="write", process=True)
def fail(kind: str) -> None:
    """Fail in some way."""
    _raise(kind)


@tool(risk="read", process=True)
def look_and_fail(kind: str) -> None:
    """Fail in some way, having changed nothing."""
    _raise(kind)


def _note(folder: str, name: str, text: str = "") -> None:
    path = Path(folder, name)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


@tool(risk="write", process=True, timeout=0.5)
def sleep_deaf(folder: str) -> str:
    """Sleep in a C call, deaf to every polite request."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _note(folder, "begun", str(os.getpid()))
    while True:
        time.sleep(3600)


@tool(risk="write", process=True, timeout=0.5)
def spin(folder: str) -> str:
    """Keep the processor busy for ever."""
    _note(folder, "begun", str(os.getpid()))
    while True:
        pass


@tool(risk="write", process=True, timeout=3600)
def heed(folder: str, context: Context) -> str:
    """Look at what the context says, and end in order."""
    _note(folder, "begun", str(os.getpid()))
    while not context.cancelled:
        time.sleep(0.005)
    _note(folder, "heard")
    raise ToolFailed("Undone again.", code="undone", effect="none")


@tool(risk="write", process=True, timeout=3600)
async def heed_async(folder: str) -> str:
    """Clean up when cancelled."""
    _note(folder, "begun", str(os.getpid()))
    try:
        await asyncio.sleep(3600)
    finally:
        _note(folder, "heard")
    return ""


@tool(risk="write", process=True, timeout=3600)
def answer_late(folder: str, context: Context) -> str:
    """Go on to the end although told to stop, and give a result."""
    _note(folder, "begun", str(os.getpid()))
    while not context.cancelled:
        time.sleep(0.005)
    return "late, but done"


DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
path = sys.argv[1]
with open(path + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(path + ".new", path)
time.sleep(3600)
"""


def _daemon(folder: str, environment: dict[str, str] | None = None) -> None:
    """A process that has left session, group and parents, and is deaf."""
    path = Path(folder, "daemon")
    subprocess.run([sys.executable, "-c", DAEMON, str(path)], check=True, env=environment, close_fds=True)
    while not path.exists():
        time.sleep(0.005)


@tool(risk="write", process=True, timeout=3600)
def start_daemon(folder: str, stay: bool = False, bare: bool = False) -> str:
    """Start a daemon; return, or stay."""
    _daemon(folder, {} if bare else None)
    _note(folder, "begun", str(os.getpid()))
    while stay:
        time.sleep(3600)
    return "started"


@tool(risk="write", process=True, timeout=3600)
def kill_supervisor(folder: str) -> str:
    """Start a daemon, then kill whoever would end it."""
    _daemon(folder)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)
    return ""


@tool(risk="write", process=True, timeout=3600)
def kill_supervisor_when_told(folder: str) -> str:
    """Start a daemon, and kill whoever would end it as soon as asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGKILL))
    _daemon(folder)
    _note(folder, "begun", str(os.getpid()))
    while True:
        time.sleep(3600)


@tool(risk="read", process=True)
def leave_thread() -> str:
    """Leave a thread that never ends."""
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return "done"


@tool(risk="write", process=True)
def large(megabytes: int) -> str:
    """Give a large result."""
    return "x" * (megabytes << 20)


@tool(risk="read", process=True)
def chatter(megabytes: int) -> str:
    """Write a lot to the output, and a little to every descriptor that is not its own."""
    for _ in range(megabytes):
        sys.stdout.write("y" * (1 << 20))
    sys.stdout.write("the end of it")
    return "done"


@tool(risk="write", process=True)
def garble() -> str:
    """Write nonsense to the runtime."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), b"\xff" * 64)
    time.sleep(3600)
    return ""


@tool(risk="read", process=True)
def environment() -> dict:
    """What is there of descriptors, environment and arguments."""
    links = {name: os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) < 3}
    return {"links": links, "group": os.getpgid(0) == os.getpid(), "cwd": os.getcwd()}


def plain(a: int) -> int:
    """Declared elsewhere by its function."""
    return a * 2


plain_tool = tool(risk="read", process=True)(plain)


@tool(risk="write", process=True, claims=["it"], version=lambda: "v1")
def change(now: str, context: Context) -> str:
    """Change what has a version, unless it has another one now."""
    if now != context.version:
        raise Conflict(now)
    return f"changed {context.version}"
