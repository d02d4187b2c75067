"""Real replies kept as files and played again: a model whose answers are a provider's own bytes.

A recording is a JSON-lines file, or a folder of JSON files taken in the order of their names. Each reply is one of:

- ``{"model": …, "body": {…}}``: a plain Chat Completions body, as ``OpenAIChat`` hands it to ``on_raw``;
- ``{"model": …, "chunks": [{…}, …], "broken": false}``: the chunks of a streamed one;
- a bare body (an object with ``choices``), or a bare list of chunks, as other tools save them.

They are read by the same code as live ones, so a recording also tests the reading. The reply is picked by the
number of assistant messages in the request, as in ``scripted``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from callslip.errors import ConfigError
from callslip.ports.model import OnDelta, Reply, Request
from callslip.providers.loose import as_text
from callslip.providers.offered import Offered
from callslip.providers.openai_chat_reply import plain_reply
from callslip.providers.openai_chat_request import Settings, offer
from callslip.providers.openai_chat_stream import ChatAssembly
from callslip.providers.scripted import at_position, show


class Recording(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded reply: a plain ``body``, or the ``chunks`` of a stream."""

    model: str = ""
    """As it was asked for."""
    body: dict[str, Any] | None = None
    chunks: tuple[dict[str, Any], ...] = ()
    broken: bool = False
    """The connection failed before the stream's end."""


class Recorded:
    """Plays a recording. Named ``recorded:`` and the model that was recorded, unless another name is given.

    Raises:
        ConfigError: there is no recording at ``path``, or it can't be read.
    """

    def __init__(
        self, path: str | Path, name: str | None = None, *, read: Callable[[Path], bytes] = Path.read_bytes
    ) -> None:
        self._recordings = load(Path(path), read)
        self._name = name or f"recorded:{_model_of(self._recordings[0]) or Path(path).stem}"

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """The recorded reply that is due, with this request's tool names.

        Raises:
            ModelUnavailable: the recording is at its end.
        """
        recording = at_position(self._recordings, request, self._name)
        reply = _read(recording, offer(request, Settings(model=recording.model)))
        if on_delta is not None and request.stream:
            show(reply, on_delta)
        return reply


class Recorder:
    """Adds every raw reply it is handed to a JSON-lines file: ``OpenAIChat(…, on_raw=Recorder(path))``.

    A reply holds what the model wrote, which may quote the user and the tools; the request and the key are not in
    it.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def __call__(self, raw: dict[str, Any]) -> None:
        # ASCII escapes: a provider may send a lone surrogate, which has no other form in a file.
        line = json.dumps(raw, ensure_ascii=True, separators=(",", ":"))
        with self._path.open("a", encoding="ascii") as file:
            file.write(line + "\n")


def load(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> tuple[Recording, ...]:
    """All recordings at ``path``, in order; at least one. ``read`` gives a file's bytes."""
    if path.is_dir():
        sources = [(str(file), file) for file in sorted(path.glob("*.json"))]
        texts = [(label, _text(file, read)) for label, file in sources]
    else:
        lines = _text(path, read).split("\n")
        texts = [(f"{path}, line {number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    recordings = tuple(_recording(text, label) for label, text in texts)
    if not recordings:
        raise ConfigError(f"There is no recorded reply in {path}. Nothing was run. Record one, or name another.")
    return recordings


def _text(file: Path, read: Callable[[Path], bytes]) -> str:
    try:
        return read(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The recording {file} can't be read ({type(error).__name__}). Nothing was run. Name another file."
        ) from error


def _recording(text: str, label: str) -> Recording:
    try:
        # The standard library's reader, as for live replies: it takes what providers send, lone surrogates too.
        value = json.loads(text)
        if isinstance(value, list):
            value = {"chunks": value}
        elif isinstance(value, dict) and "choices" in value:
            value = {"body": value}
        recording = msgspec.convert(value, Recording)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"The recorded reply in {label} is none: {error}. Nothing was run. Record it again, or take it out."
        ) from error
    if recording.body is None and not recording.chunks:
        raise ConfigError(
            f"The recorded reply in {label} holds neither a body nor chunks. Nothing was run. Record it again."
        )
    return recording


def _model_of(recording: Recording) -> str:
    held = (recording.body or {}, *recording.chunks)
    return recording.model or next((name for name in (as_text(one.get("model")) for one in held) if name), "")


def _read(recording: Recording, offered: Offered) -> Reply:
    if recording.body is not None:
        reply = plain_reply(recording.body, offered)
        if reply is None:
            raise ConfigError("A recorded body is no chat completion. Nothing was executed. Record it again.")
        return reply
    assembly = ChatAssembly(offered)
    for chunk in recording.chunks:
        assembly.add("message", chunk)
    return assembly.reply(broken=recording.broken)
