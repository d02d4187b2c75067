"""Stands between a runtime and the process of one of its tools, and lets nothing of it live on.

It is a program, started anew for each call, and knows nothing of Callslip: it forks the process that runs the tool
(``child_worker``), and adopts whatever that one leaves behind (``PR_SET_CHILD_SUBREAPER``), so that a daemon that has
left its session and lost its parents is still found below it. It ends them all when it is told to, when the tool's
process has ended, and when the runtime is gone, which it sees by the end of its control channel.

    child_supervisor.py CONTROL CALL ROOT

``CONTROL`` and ``CALL`` are sockets that were handed over, ``ROOT`` is the folder Callslip is imported from. On the
control channel come ``T`` (ask everything to end) and ``K`` (end it), and one line goes back: the worker's exit status.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from typing import Any

MARK = "CALLSLIP_CALL"
"""In the environment of everything that runs for one call: found even where the supervisor was killed."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PATIENCE = 0.3
"""Seconds that what outlives the tool has to end when asked to."""
_PASS, _LONGEST_PASS = 0.002, 0.2


# Looking


def descendants(root: int) -> list[int]:
    """Every process below ``root`` that still runs, by the parents that the kernel names."""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        found = _parent(pid)
        if found is not None:
            children.setdefault(found, []).append(pid)
    below, look = [], [root]
    while look:
        for pid in children.get(look.pop(), ()):
            below.append(pid)
            look.append(pid)
    return below


def marked(mark: str) -> list[int]:
    """Every process that was started with this mark in its environment, except the current one."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in _processes():
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - pathlib would cost more than the rest
                there = wanted in file.read().split(b"\0")
            if there and pid != os.getpid() and _parent(pid) is not None:
                found.append(pid)
    return found


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _parent(pid: int) -> int | None:
    """Its parent; ``None`` when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return None
    return None if state in {b"Z", b"X"} else int(parent)


# Ending


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal all of them; whoever is gone or belongs to somebody else is left out."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_all(worker: int) -> None:
    """Return when nothing runs below this process any more."""
    pause = _PASS
    while pids := descendants(os.getpid()):
        # Held first, or one that forks quickly is never caught.
        send(pids, signal.SIGSTOP)
        if set(descendants(os.getpid())) <= set(pids):
            send(pids, signal.SIGKILL)
        _reap(worker)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PASS)  # what belongs to another user may take its time
    _reap(worker)


_status: int | None = None


def _reap(worker: int) -> None:
    global _status  # noqa: PLW0603 - one process, one worker
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid == worker:
                _status = os.waitstatus_to_exitcode(status)


def _gently(worker: int) -> None:
    """Ask what outlives the tool to end, and wait a little for it."""
    send(descendants(os.getpid()), signal.SIGTERM)
    until = time.monotonic() + _PATIENCE
    while descendants(os.getpid()) and time.monotonic() < until:
        time.sleep(_PASS)
        _reap(worker)


# Standing between


def supervise(control: socket.socket, worker: int, woken: int) -> None:
    """Until the worker has ended, or is to be ended; then end everything below."""
    while _status is None:
        watched: list[Any] = [control, woken]
        ready, _, _ = select.select(watched, [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            _reap(worker)
        if control in ready:
            try:
                told = control.recv(64)
            except OSError:
                told = b""
            if not told or b"K" in told:  # the runtime is gone, or has no patience left
                break
            if b"T" in told:
                send(descendants(os.getpid()), signal.SIGTERM)
    if _status is not None and descendants(os.getpid()):
        _gently(worker)
    end_all(worker)
    with contextlib.suppress(OSError):
        control.sendall(f"{_status}\n".encode())


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    call = socket.socket(fileno=int(sys.argv[2]))
    for one in (control, call):
        one.set_inheritable(False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A signal to the whole group of the tool reaches this process as well; it has its own ways of ending.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write)
    supervisor = os.getpid()
    worker = os.fork()  # alone, and with a single thread: nothing is held
    if worker:
        call.close()
        _let_go_of_output()
        supervise(control, worker, read)
        return
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    control.close()
    os.close(read)
    os.close(write)
    os.setsid()
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(1)
    sys.path.insert(0, sys.argv[3])
    from callslip.sources.child_worker import work  # noqa: PLC0415 - only here is there anything of Callslip

    work(call)


def _let_go_of_output() -> None:
    """The tool's output ends with the last process that is the tool's."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(null, number)
    os.close(null)


if __name__ == "__main__":
    main()
