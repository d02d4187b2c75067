"""The process of one call of a tool that was declared with ``process=True``: find the function, run it, say what came
of it, end.

The supervisor that forked it sees to it that nothing is left. What is imported here is what the runtime itself may
import: whoever guards its imports stands here as well, before anything but Callslip is imported.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import functools
import importlib
import importlib.util
import os
import socket
import sys
import threading
import time
import traceback
from types import ModuleType
from typing import Any

from callslip.core.plain import to_plain
from callslip.core.result import ToolResult
from callslip.core.version import unusable
from callslip.errors import Conflict, ToolFailed
from callslip.ports.context import Context
from callslip.sources.child_frames import LARGEST, LENGTHS, decode, encode

loading = False
"""Whether the application is being imported in the process of a tool: nothing may be run there then."""
_LONGEST_TEXT = 8_000


class _Monotonic:
    """Implements ``Clock`` for the context: the deadline is counted from when the call came."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Channel:
    """The socket to the runtime; frames are sent whole, from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, data: bytes = b"", **message: Any) -> None:
        frame = encode(message, data)
        with self._lock, contextlib.suppress(OSError):  # the runtime is gone, and soon so are we
            self._connection.sendall(frame)

    def receive(self) -> dict[str, Any] | None:
        """The next message; ``None`` at the end."""
        head = self._exactly(LENGTHS.size)
        if head is None:
            return None
        text, data = LENGTHS.unpack(head)
        body = self._exactly(text + data)
        return None if body is None else decode(body[:text])

    def _exactly(self, size: int) -> bytes | None:
        pieces = bytearray()
        while len(pieces) < size:
            try:
                piece = self._connection.recv(size - len(pieces))
            except OSError:
                return None
            if not piece:
                return None
            pieces += piece
        return bytes(pieces)


def work(connection: socket.socket) -> None:
    """Serve one call; does not return."""
    channel = Channel(connection)
    code = 1
    try:
        call = channel.receive()
        if call is not None:
            _serve(channel, call)
            code = 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _serve(channel: Channel, call: dict[str, Any]) -> None:
    try:
        tool = _found(call)
        context = _context(channel, call["context"])
        tool.bound(call["arguments"], context)  # whatever is wrong with them comes up before it begins
        body = functools.partial(tool.run_here, call["arguments"], context)
    except BaseException as error:  # noqa: BLE001 - nothing has begun, and the runtime has to hear of it
        channel.send(kind="failed", **_told(error))
        return
    channel.send(kind="ready")
    if (go := channel.receive()) is None or go.get("kind") != "go":
        return
    running = _Running()
    threading.Thread(target=_listen, args=(channel, context, running), daemon=True).start()
    try:
        value = asyncio.run(running.watched(body())) if tool.is_async else body()
    except BaseException as error:  # noqa: BLE001 - as a result: it is for the runtime to say what it means
        _send_artifacts(channel, context)
        channel.send(kind="raised", **_told(error))
    else:
        _send_result(channel, context, value)


class _Running:
    """The task of an asynchronous function, to be cancelled from the thread that listens."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = False

    async def watched(self, body: Any) -> Any:
        self._task, self._loop = asyncio.current_task(), asyncio.get_running_loop()
        if self._told:
            assert self._task is not None
            self._task.cancel()
        return await body

    def cancel(self) -> None:
        self._told = True
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._task.cancel)


def _listen(channel: Channel, context: Context, running: _Running) -> None:
    while (message := channel.receive()) is not None:
        if message.get("kind") == "cancel":
            context.cancel()
            running.cancel()


def _context(channel: Channel, given: dict[str, Any]) -> Context:
    return Context(
        session=given["session"],
        call_id=given["call_id"],
        attempt=given["attempt"],
        idempotency_key=given["idempotency_key"],
        deadline=given["deadline"],
        until=time.monotonic() + given["seconds"],
        grace=given["grace"],
        version=given["version"],
        clock=_Monotonic(),
        on_progress=lambda message, fraction: channel.send(kind="progress", message=str(message), fraction=fraction),
        on_partial=lambda text: channel.send(kind="partial", text=str(text)),
    )


# What comes of it


def _send_artifacts(channel: Channel, context: Context) -> None:
    for reference, data in context.artifacts:
        channel.send(data, kind="artifact", name=reference.name, media_type=reference.media_type)


def _send_result(channel: Channel, context: Context, value: Any) -> None:
    own = isinstance(value, ToolResult)
    plain = to_plain(value.structured if own else value)
    message: dict[str, Any] = {"kind": "returned", "value": plain.value, "notes": plain.notes}
    if own:
        references = value.evidence if isinstance(value.evidence, tuple | list) else ()
        message["summary"] = value.summary if isinstance(value.summary, str) else str(to_plain(value.summary).value)
        message["truncated"] = bool(value.truncated)
        message["evidence"] = [
            {"address": one.address, "size": one.size, "media_type": one.media_type, "name": one.name}
            for one in references
        ]
    size = sum(len(data) for _, data in context.artifacts) + sum(map(len, plain.blobs)) + len(encode(message))
    if size > LARGEST:
        failed = ToolFailed(
            f"The tool did what it should, but its result of {size:,} bytes is too large to be taken.",
            code="result_too_large",
            effect="done",
        )
        channel.send(kind="raised", **_told(failed))
        return
    _send_artifacts(channel, context)
    for data in plain.blobs:
        channel.send(data, kind="blob")
    channel.send(**message)


def _told(error: BaseException) -> dict[str, Any]:
    text = _bounded(lambda: str(error))
    if isinstance(error, ToolFailed):
        conflict = {"now": error.now if unusable(error.now) is None else None} if isinstance(error, Conflict) else {}
        return {
            "failed": {
                **conflict,
                "message": text,
                "code": str(error.tool_code),
                "effect": str(error.effect),
                "retryable": bool(error.can_retry),
                "not_found": bool(error.not_found),
                "transient": bool(error.transient),
                "retry_after": error.retry_after if isinstance(error.retry_after, int | float) else None,
            }
        }
    kind = type(error)
    builtin = next((one.__name__ for one in kind.__mro__ if getattr(builtins, one.__name__, None) is one), "")
    trace = _bounded(lambda: "".join(traceback.format_exception(error)))
    return {"type": kind.__name__, "builtin": builtin, "errno": getattr(error, "errno", None), "text": text,
            "trace": trace}  # fmt: skip


def _bounded(text: Any) -> str:
    try:
        return str(text())[-_LONGEST_TEXT:]
    except Exception:  # noqa: BLE001 - a hostile __str__
        return "?"


# Finding the function


def _found(call: dict[str, Any]) -> Any:
    """The tool, from the module it was declared in, imported under the guards of the runtime."""
    global loading  # noqa: PLW0603 - a process that serves one call
    for one in call["guards"]:
        getattr(importlib.import_module(one["module"]), one["function"])(one["data"])
    sys.path[:] = call["paths"]
    loading = True
    try:
        module = _module(call["module"], call["file"])
    finally:
        loading = False
    from callslip.sources import functions  # noqa: PLC0415 - after the application, as in the runtime itself

    return functions.found_in(module, call["name"])


def _module(name: str, file: str | None) -> ModuleType:
    """By its name, if that leads to the same file; else from the file, as whoever loaded it there did."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # held, or a part of no package: the file decides, and whoever guards it
        spec = None
    if file is None or (spec is not None and spec.origin is not None and _same(spec.origin, file)):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        raise ImportError(f"{file} is no Python file")
    for finder in sys.meta_path:
        judged = getattr(finder, "judged", None)
        if judged is not None:
            spec = judged(spec)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
