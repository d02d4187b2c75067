"""A server on loopback that answers like the vendors and refuses what they refuse: for tests of adapters and agents.

It speaks real HTTP over a real socket, in every format at once, each under a base URL of its own. ::

    with ContractServer(script=[Says(calls=(Call("pay", {"cents": 5}),)), Says("Done.")]) as server:
        model = OpenAIChat("any", base_url=server.url("openai_chat"), api_key="k")
        ...
        assert server.violations == []

A request that breaks a rule of its format is refused in the vendor's words, whatever the script says, and takes no
answer of the script; what it broke, and who says that it is a rule, is in ``seen``. Every other request takes the next
answer, in the order of arrival; past the script's end the server says 500. On leaving the block every connection is
closed and every thread has ended. Not for anything but loopback.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, get_args

from callslip.testing.contract import answering
from callslip.testing.contract.answers import Answer, Delays, Fails, Now, WrongKey
from callslip.testing.contract.format import Format
from callslip.testing.contract.formats import ALL, BASE
from callslip.testing.contract.handler import Handler
from callslip.testing.contract.request_body import NotAcceptable, read_body
from callslip.testing.contract.seen import Seen
from callslip.testing.contract.violation import Violation
from callslip.testing.loopback import Loopback

Scripted = Answer | Callable[[dict[str, Any]], Answer]
"""An answer, or a function of the request's body that gives one."""


class ScriptError(Exception):
    """The script gave something that is no answer, or a function of it failed, which is then the cause."""


class ContractServer:
    """The server, as a context manager.

    ``formats`` are classes, or anything that makes a format, so that what one server issued is unknown to the next; a
    format itself is taken as it is. ``script`` is a sequence of
    answers, or one function that answers every request. With ``key``, requests that don't bear it are refused.

    Raises:
        ScriptError: on leaving the block, unless it is left by another error: the script was wrong, and the request
            was answered with 500.
    """

    def __init__(
        self,
        script: Sequence[Scripted] | Callable[[dict[str, Any]], Answer] = (),
        *,
        formats: Sequence[Callable[[], Format] | Format] = ALL,
        key: str | None = None,
    ) -> None:
        if isinstance(script, str):
            raise ScriptError(f"A script is a list of answers, or one function of the request: [Says({script!r})].")
        self._script = script if callable(script) else tuple(script)
        self._formats = {made.name: made for made in (form() if callable(form) else form for form in formats)}
        self._key = key
        self._lock = threading.Lock()
        self._taken = 0
        self._wrong: ScriptError | None = None
        """The first thing that was wrong with the script."""
        self.seen: list[Seen] = []
        self.sent = 0
        """Bytes of bodies handed to the network so far."""
        self.closing = threading.Event()
        self.released = threading.Event()

    def url(self, name: str) -> str:
        """The base URL of a format, as its adapter takes it."""
        if name not in self._formats:
            raise KeyError(f"This server speaks {', '.join(self._formats)}, and not {name}.")
        return f"http://127.0.0.1:{self._server.server_port}/{name}{BASE.get(name, '')}"

    @property
    def violations(self) -> list[Violation]:
        """All that was wrong in all requests so far."""
        return [violation for seen in self.seen for violation in seen.violations]

    def release(self) -> None:
        """Let the answers go that were delayed until now."""
        self.released.set()

    def __enter__(self) -> Self:
        self._server = Loopback(type("_Handler", (Handler,), {"owner": self}))
        self._server.begin("contract-server")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self.released.set()
        self._server.end()
        if self._wrong is not None and error is None:
            raise self._wrong
        if self._wrong is not None and error is not None:
            error.add_note(f"The script of the server was wrong as well: {self._wrong}")

    def respond(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> answering.Response:
        """Judge a request and say what is sent for it."""
        form, path = self._route(method, path)
        if form is None:
            asked = f"{method} {path}"
            return answering.text(404, f"No format of this server answers {asked}.")
        body: Any = raw
        violations: list[Violation] = []
        try:
            body = read_body(raw)
            violations = form.check(body, headers, path)
        except NotAcceptable as error:
            violations = [error.violation]
        self._note(Seen(format=form.name, path=path, headers=dict(headers), body=body, violations=tuple(violations)))
        if self._key is not None and answering.key_of(headers, path) != self._key:
            return answering.answer(WrongKey(), form, body, path)
        if violations:
            return answering.refusal(form, violations)
        try:
            return answering.answer(_checked(self._due(body)), form, body, path)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test that wrote the script must see it
            wrong = error if isinstance(error, ScriptError) else _failed(error)
            with self._lock:
                self._wrong = self._wrong or wrong
            return answering.answer(Fails(500, str(wrong)), form, body, path)

    def count(self, size: int) -> None:
        with self._lock:
            self.sent += size

    def _route(self, method: str, path: str) -> tuple[Format | None, str]:
        """The format by the first step of the path; without one, the first that knows the rest."""
        _, _, rest = path.removeprefix("/").partition("/")
        named = self._formats.get(path.removeprefix("/").partition("/")[0])
        if named is not None:
            return (named if named.asks(method, f"/{rest}") else None), f"/{rest}"
        return next((form for form in self._formats.values() if form.asks(method, path)), None), path

    def _note(self, seen: Seen) -> None:
        with self._lock:
            self.seen.append(seen)

    def _due(self, body: dict[str, Any]) -> Answer:
        if callable(self._script):
            return self._script(body)
        with self._lock:
            place = self._taken
            self._taken += 1
        if place >= len(self._script):
            return Fails(500, f"The script holds {len(self._script)} answers, and this is the request after the last.")
        due = self._script[place]
        return due(body) if callable(due) else due


def _checked(due: Any) -> Answer:
    inner = due.then if isinstance(due, Delays) else due
    if not isinstance(inner, get_args(Now)):
        raise ScriptError(f"The script gave {inner!r}, which is no answer. Give Says({inner!r}), Fails() or the like.")
    answer: Answer = due
    return answer


def _failed(error: Exception) -> ScriptError:
    wrong = ScriptError(f"The script failed: {type(error).__name__}: {error}")
    wrong.__cause__ = error
    return wrong
