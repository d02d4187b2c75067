"""Run one call of a tool in a process of its own, which can be ended whatever it does (RESI-03).

What can be ended this way is all that the function starts, too: a supervisor stands between (``child_supervisor``),
adopts whatever leaves its parents, and ends everything when the call is over, however it is over, and when this process
is gone. Arguments, progress and results go as JSON over a socket. The function is imported anew in there, under the
same guards as here.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from callslip.core.result import BlobRef, ToolResult
from callslip.core.version import unusable
from callslip.errors import Conflict, ToolDefinitionError, ToolFailed, UsageError
from callslip.ports.context import Context
from callslip.sources import child_worker
from callslip.sources.child_frames import LENGTHS, BadFrame, decode, encode, lengths
from callslip.sources.child_supervisor import MARK, marked, send

_SUPERVISOR = str(Path(__file__).with_name("child_supervisor.py"))
_ROOT = str(Path(__file__).parents[2])
_SHOWN = 4_000
"""Bytes of each of the tool's output streams that are kept: the last ones."""
_ASKED = 1.0
"""The most seconds between the request to end (SIGTERM) and the end (SIGKILL); less where the grace time is less."""

_FIRST_LOOK, _LOOK = 0.0005, 0.01
"""Seconds between two looks whether a process has ended."""


class Place(NamedTuple):
    """Where a function is found by another process."""

    module: str
    file: str | None
    name: str


def place_of(function: Any, tool: str) -> Place:
    """Where the function is found.

    Raises:
        ToolDefinitionError: nowhere: another process could not import it.
    """
    name, module = getattr(function, "__qualname__", None), getattr(function, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name or hasattr(function, "__self__"):
        raise ToolDefinitionError(
            f"{tool}: process=True needs a function at the top of a module: another process has to find it by its name."
        )
    there = sys.modules.get(module)
    spec, file = getattr(there, "__spec__", None), getattr(there, "__file__", None)
    if module == "__main__":
        if spec is not None:
            return Place(spec.name, file, name)
        if file is None or not os.path.isfile(file):  # noqa: PTH113 - as it stands there
            raise ToolDefinitionError(
                f"{tool}: process=True needs a function in a file: another process can't import what was typed in."
            )
        module = "callslip_main"  # what it does only when it is run as a program, it does not do in there
    return Place(module, None if file is None else os.path.abspath(file), name)  # noqa: PTH100


async def run_in_child(place: Place, arguments: Mapping[str, Any], context: Context, *, reads: bool) -> Any:
    """What the function returns, in the form of JSON.

    Args:
        place: where it is found.
        arguments: JSON values.
        context: the call's own; progress and artifacts of the process arrive in it.
        reads: whether the tool only reads, so that a process that dies has changed nothing.

    Raises:
        ToolFailed: as the function raised it; or the process could not be started, or ended without a word. Whatever
        else the function raised comes as an error of the same name.
    """
    if child_worker.loading:
        raise UsageError(
            "A tool's process tried to run tools while it imported the application. Nothing was executed. Put what "
            "starts the work under: if __name__ == '__main__'."
        )
    child = _Child(context, reads=reads)
    try:
        await child.start()
        return await child.converse(place, arguments)
    finally:
        await _whatever_comes(child.end())


async def _whatever_comes(work: Any) -> None:
    """Await work that must be done; a cancellation is passed on after it."""
    task, cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError


class _Child:
    """The process, its supervisor, and the channels to both."""

    def __init__(self, context: Context, *, reads: bool) -> None:
        self._context = context
        self._effect: Literal["none", "unknown"] = "none" if reads else "unknown"
        self._mark = f"{os.getpid()}-{secrets.token_hex(16)}"
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._output: list[asyncio.Task[bytes]] = []
        self._over = False
        """It has said what came of the call, and ends by itself."""

    async def start(self) -> None:
        control, theirs = socket.socketpair()
        call, worker = socket.socketpair()
        self._control = control
        control.setblocking(False)
        utf8 = ["-X", "utf8"] if sys.flags.utf8_mode else []
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", *utf8, _SUPERVISOR, str(theirs.fileno()), str(worker.fileno()), _ROOT,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(), worker.fileno()), start_new_session=True,
                env={**os.environ, MARK: self._mark},
            )  # fmt: skip
        except OSError as error:
            call.close()
            raise self._failed(f"could not be started ({error.strerror})") from error
        except BaseException:
            call.close()
            raise
        finally:
            theirs.close()
            worker.close()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._output = [asyncio.ensure_future(_tail(one)) for one in (self._process.stdout, self._process.stderr)]
        self._reader, self._writer = await asyncio.open_connection(sock=call)

    async def converse(self, place: Place, arguments: Mapping[str, Any]) -> Any:
        try:
            return await self._converse(place, arguments)
        except (BadFrame, KeyError, TypeError, ValueError) as error:
            raise ToolFailed(
                "The tool's process said something that can't be understood.", code="process_died", effect=self._effect
            ) from error

    async def _converse(self, place: Place, arguments: Mapping[str, Any]) -> Any:
        context = self._context
        self._send(kind="call", **place._asdict(), arguments=dict(arguments), paths=sys.path, guards=_guards(),
                   context=_told(context))  # fmt: skip
        message, _ = await self._receive()
        if message is None or message["kind"] != "ready":
            why = "" if message is None else f" ({message.get('type') or message['failed']['code']})"
            raise self._failed(f"could not be made ready{why}") from _error(message or {})
        context.begin()  # from here on it may have its effect; not before the word is sent
        self._send(kind="go")
        context.when_cancelled(lambda: self._send(kind="cancel"))
        blobs = []
        while True:
            message, data = await self._receive()
            if message is None:
                raise await self._died()
            match message["kind"]:
                case "progress":
                    context.progress(str(message["message"]), message["fraction"])
                case "partial":
                    context.partial(str(message["text"]))
                case "artifact":
                    context.artifact(str(message["name"]), data, media_type=str(message["media_type"]))
                case "blob":
                    blobs.append(data)
                case "raised":
                    self._over = True
                    raise _error(message) or ValueError("no error")
                case "returned":
                    self._over = True
                    for one in blobs:
                        context.artifact("", one)
                    context.notes = (*context.notes, *(str(note) for note in message["notes"]))
                    return _value(message)
                case _:
                    raise BadFrame("an unknown kind of message")

    def _send(self, **message: Any) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))

    async def _receive(self) -> tuple[dict[str, Any] | None, bytes]:
        try:
            text, data = lengths(await self._reader.readexactly(LENGTHS.size))
            body = await self._reader.readexactly(text + data)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None, b""
        return decode(body[:text]), body[text:]

    def _failed(self, what: str) -> ToolFailed:
        """Nothing has begun."""
        return ToolFailed(f"The tool's process {what}. Nothing was executed.", code="process_failed")

    async def _died(self) -> ToolFailed:
        status = await self._status()
        how = "" if status is None else f" (status {status})"
        if status is not None and status < 0:
            with contextlib.suppress(ValueError):
                how = f" ({signal.Signals(-status).name})"
        return ToolFailed(f"The tool's process ended without a result{how}.", code="process_died", effect=self._effect)

    async def _status(self) -> int | None:
        """How the tool's process ended, by its supervisor; ``None``: that one is gone as well."""
        assert self._control is not None
        loop, said = asyncio.get_running_loop(), b""
        while not said.endswith(b"\n"):
            try:
                piece = await loop.sock_recv(self._control, 64)
            except OSError:
                return None
            if not piece:
                return None
            said += piece
        return int(said) if said.strip().lstrip(b"-").isdigit() else None

    # Ending

    async def end(self) -> None:
        """Return when nothing of the call runs any more. What has not said its last word is asked to end first."""
        if self._writer is not None:
            self._writer.close()
        process, control = self._process, self._control
        if process is not None and control is not None:
            exited = asyncio.ensure_future(_exit(process))
            if not self._over and not exited.done():
                self._tell(b"T")
                await self._within(exited, min(self._context.grace, _ASKED))
            if self._over:  # it ends by itself; a thread that it left must not keep it
                await self._within(exited, min(self._context.grace, _ASKED))
            if not exited.done():
                self._tell(b"K")
            if await exited:  # its supervisor did not end as it should: somebody ended it
                await self._end_marked()
        if control is not None:
            control.close()
        await self._take_output()

    def _tell(self, word: bytes) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(word)

    async def _within(self, exited: asyncio.Future[int], seconds: float) -> None:
        timer = asyncio.ensure_future(self._context.sleep(seconds))
        try:
            waiting: list[asyncio.Future[Any]] = [exited, timer]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    async def _end_marked(self) -> None:
        while pids := marked(self._mark):
            send(pids, signal.SIGKILL)
            await asyncio.sleep(0.01)

    async def _take_output(self) -> None:
        if not self._output:
            return
        # It ends with the last process of the tool. One of another user may hold it still.
        await asyncio.wait(self._output, timeout=1)
        for task in self._output:
            task.cancel()
        await asyncio.wait(self._output)
        shown = [b"" if task.cancelled() else task.result() for task in self._output]
        self._context.printed = "\n".join(
            f"{name}:\n{text.decode(errors='replace')}" for name, text in zip(("stdout", "stderr"), shown, strict=True)
            if text
        )  # fmt: skip
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()


async def _exit(process: asyncio.subprocess.Process) -> int:
    """Its exit status. Its own ``wait()`` also waits for the end of the output (CPython before 3.12.4), which something
    of the tool may hold that is only ended after this.
    """
    pause = _FIRST_LOOK
    while process.returncode is None:
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LOOK)
    return process.returncode


async def _tail(stream: asyncio.StreamReader) -> bytes:
    """The last bytes of a stream that is read to its end."""
    kept, size = b"", 0
    while piece := await stream.read(65_536):
        size += len(piece)
        kept = (kept + piece)[-_SHOWN:]
    return kept if size <= _SHOWN else f"[… of {size:,} bytes, the last:]\n".encode() + kept


def _told(context: Context) -> dict[str, Any]:
    return {
        "session": context.session,
        "call_id": context.call_id,
        "attempt": context.attempt,
        "idempotency_key": context.idempotency_key,
        "deadline": context.deadline,
        "seconds": context.remaining(),
        "grace": context.grace,
        "version": context.version,
    }


def _guards() -> list[dict[str, Any]]:
    """Those who guard this process's imports and can stand in another: they say by which function, and with what."""
    return [one.elsewhere() for one in sys.meta_path if hasattr(one, "elsewhere")]


def _value(message: dict[str, Any]) -> Any:
    value = message["value"]
    if "summary" not in message:
        return value
    return ToolResult(
        summary=str(message["summary"]),
        structured=value,
        truncated=bool(message["truncated"]),
        evidence=tuple(
            BlobRef(
                address=str(one["address"]), size=int(one["size"]), media_type=str(one["media_type"]),
                name=str(one["name"]),
            )
            for one in message["evidence"]
        ),
    )  # fmt: skip


def _error(message: dict[str, Any]) -> BaseException | None:
    """What the function raised, as like to it as can be without taking anything but text from it."""
    failed = message.get("failed")
    if failed is not None:
        effect = failed["effect"]
        if "now" in failed:
            return Conflict(failed["now"] if unusable(failed["now"]) is None else None)
        return ToolFailed(
            str(failed["message"]),
            code=str(failed["code"]),
            effect=effect if effect in {"none", "done", "unknown"} else "unknown",
            retryable=bool(failed["retryable"]),
            not_found=bool(failed["not_found"]),
            transient=bool(failed["transient"]),
            retry_after=after if isinstance(after := failed["retry_after"], int | float) else None,
        )
    if "type" not in message:
        return None
    if message["type"] == "CancelledError":
        return asyncio.CancelledError()
    kind = getattr(builtins, str(message["builtin"]), Exception)
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        kind = Exception
    error = _made(kind, str(message["type"]), str(message["text"]))
    if isinstance(error, OSError) and isinstance(message.get("errno"), int):
        error.errno = message["errno"]
    error.add_note(f"In the tool's process:\n{message['trace']}")
    return error


def _made(kind: type[Exception], name: str, text: str) -> Exception:
    made: type[Exception] = kind if kind.__name__ == name else type(name, (kind,), {})
    try:
        return made(text)
    except TypeError:  # a builtin that wants more than a text, such as UnicodeDecodeError
        other: type[Exception] = type(name, (Exception,), {})
        return other(text)
