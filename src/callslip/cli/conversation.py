"""A conversation with a session at the terminal: say something, see it work, answer what it asks."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import click

from callslip.application import Run, Runtime
from callslip.cli import chat_shown, chat_typing, look
from callslip.cli.app import model_for
from callslip.cli.asking import Watched
from callslip.cli.chat_answers import Answering
from callslip.cli.chat_command import ONLY_SHOW, Command, read
from callslip.cli.chat_mode import enter_goes_on, hint, mode_of, steers
from callslip.cli.chat_typing import Ended, Typing
from callslip.cli.drive import Driven, drive_once, ending, print_answer
from callslip.cli.failure import BROKEN, DONE, STOPPED, NothingStarted, report
from callslip.cli.live import LiveView
from callslip.cli.options import Given
from callslip.cli.standing import standing
from callslip.cli.tools import list_tools
from callslip.core.shown import prose, visible
from callslip.core.state import SessionState
from callslip.errors import Busy, ConfigError
from callslip.models import NAMES

_Work = Callable[[], Coroutine[Any, Any, Run]]


class Conversation:
    """One chat. The runtime is open while it lasts; what it drives it drives between two prompts."""

    def __init__(self, given: Given, runtime: Runtime, session: str, view: LiveView, *, model: str | None) -> None:
        self._given = given
        self._runtime = runtime
        self._session = session
        self._view = view
        self._model = model
        """As it was named here; the project's goes without saying."""
        self._typing = Typing()
        self._answering = Answering(given, runtime, self._typing)
        self._left: set[str] = set()
        """Waits that were shown and left open: they are asked about again when somebody wants that."""
        self._code: int | None = None
        """Set: leave."""

    @property
    def then(self) -> str:
        """The command line that goes on."""
        model = ("--model", self._model) if self._model is not None else ()
        return self._given.command("chat", "--session", self._session, *model)

    async def hold(self, first: str | None) -> int:
        """Talk until they leave; ``first`` is said before anything is typed."""
        with self._typing.heeding():
            await self._guarded(self._open(first))
            while self._code is None and (message := await self._prompt()) is not None:
                await self._guarded(self._take(message))
        state = await self._state()
        with contextlib.suppress(OSError, ValueError):  # the terminal may be what has gone
            if self._typing.ended:
                look.say()
            chat_shown.leave(state, self.then)
        return self._code or DONE

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Do it; whatever goes wrong with it is told, and what was said so far stays."""
        try:
            await work
        except Ended:
            self._code = STOPPED
        except Exception as error:  # noqa: BLE001
            self._tell(error)

    async def _open(self, first: str | None) -> None:
        """Show where it stands, and go on with what a crash broke off."""
        state = await self._state()
        chat_shown.banner(self._runtime, self._session, known=bool(state.seq))
        chat_shown.said_before(state)
        if first is not None:
            look.say(f"\n{chat_typing.sign()}{prose(first)}")
            await self._say(first)
        elif mode_of(state) == "broken_off":
            await self._pick_up()
        elif mode_of(state) == "waiting":
            await self._answer_and_go_on()

    async def _pick_up(self) -> None:
        heads = await self._runtime.parts.ledger.heads(self._session)
        word = standing(heads[0], self._runtime.parts.owners)
        if word != "interrupted":
            look.say(f"{look.mark('warn')} It is {word}: another process drives it.")
            return
        look.say(f"{look.mark('warn')} It was broken off in the middle. It goes on.")
        await self._go_on()

    async def _prompt(self) -> str | None:
        """What they type next; ``None``: they leave, or are gone."""
        state = await self._state()
        said = hint(mode_of(state), [wait.kind for wait in state.waits.values()])
        try:
            look.say()
            if said:
                look.hang(f"{look.mark('wait')} ", said)
            return self._typing.message()
        except Ended:
            self._code = STOPPED
        except OSError:  # there is no terminal any more
            self._code = STOPPED if self._typing.ended else DONE
        return None

    def _tell(self, error: Exception) -> None:
        """An error is told like any command's. The chat goes on, unless nothing may be done in this state folder."""
        code = report(error, as_json=False, debug=self._given.debug)
        if code == BROKEN:
            self._code = code

    # What they type

    async def _take(self, message: str) -> None:
        said = read(message)
        if said is None:
            if enter_goes_on(mode_of(await self._state())):
                await self._go_on()
        elif isinstance(said, str):
            await self._say(said)
        else:
            await self._obey(said)

    async def _obey(self, command: Command) -> None:
        match command.name:
            case "model":
                self._use(command.words)
            case "tools":
                list_tools(self._given, self._runtime.catalogue, self._runtime.settings.routing)
            case "waits":
                self._left.clear()
                if not await self._runtime.waits(self._session):
                    look.say(f"{look.mark('dot')} Nothing is waited for.")
                await self._answer_and_go_on()
            case "session":
                chat_shown.about(self._runtime, await self._state())
            case "go":
                if mode_of(await self._state()) == "free":
                    look.say(f"{look.mark('dot')} Nothing is open: there is nothing to go on with.")
                else:
                    await self._go_on()
            case "stop":
                await self._stop()
            case "help":
                chat_shown.help_()
            case "quit":
                self._code = DONE

    def _use(self, name: str) -> None:
        """Have another model answer from now on."""
        if not name:
            look.say(f"  {chat_shown.model_name(self._runtime)} answers. Another one: /model {NAMES}.")
            return
        try:
            made = model_for(self._given, name)
        except ConfigError as error:
            error.add_note(f"{chat_shown.model_name(self._runtime)} goes on answering.")
            report(error, as_json=False, debug=self._given.debug)
            return
        self._runtime.use_model(Watched(made, self._view))
        self._model = name
        look.say(f"{look.mark('ok')} From now on {chat_shown.model_name(self._runtime)} answers.")

    async def _say(self, text: str) -> None:
        state = await self._state()
        try:
            if not steers(state):
                await self._drive(lambda: self._runtime.run(text, session=self._session), said=text)
                return
            await self._runtime.send(self._session, text, steer=True)
            await self._go_on()
        except Busy:
            if not steers(state):  # then nothing was said by it
                await self._runtime.send(self._session, text, steer=True)
            look.say(
                f"{look.mark('dot')} Your words are kept: another process drives the session, and reads them at its "
                "next step."
            )

    async def _go_on(self) -> None:
        await self._drive(self._resumed)

    async def _resumed(self) -> Run:
        return await self._runtime.resume(self._session)

    async def _stop(self) -> None:
        if await self._runtime.stop(self._session, reason="in the chat"):
            if mode_of(await self._state()) == "free":
                look.say(f"{look.mark('ok')} Your words are taken back: no model has read them, and none will.")
            else:
                await self._go_on()
        else:
            look.say(f"{look.mark('dot')} Nothing is open: there is nothing to stop.")

    # Runs

    async def _drive(self, work: _Work, *, said: str | None = None) -> None:
        """Do it, show it, and answer what it comes to wait for, until it needs nothing more or they leave it open."""
        while True:
            driven = await self._once(work, said)
            if driven is None or driven.run.status != "waiting" or self._code is not None:
                return
            if not await self._answer():
                return
            work, said = self._resumed, None

    async def _once(self, work: _Work, said: str | None) -> Driven | None:
        try:
            driven = await drive_once(self._given, self._runtime, self._session, work, self._view, self.then, said=said)
        except NothingStarted:
            look.say("Interrupted. Nothing was started, and nothing was said.")
            return None
        except click.Abort as error:
            look.say(str(error) or "Interrupted.")
            return None
        if any(number != signal.SIGINT for number in driven.heard):
            self._code = STOPPED
        await self._show(driven)
        return driven

    async def _show(self, driven: Driven) -> None:
        run = driven.run
        print_answer(self._view, run)
        if run.status == "finished":
            look.murmur(f"{look.mark('ok')} {look.paint(f'finished in {driven.took}', dim=True)}")
        elif run.status == "stopped":
            if not driven.heard:  # otherwise what can be done now is said next
                look.say(f"{look.mark('warn')} {look.paint('stopped', bold=True)}  {visible(run.reason)}")
        elif (await ending(self._runtime, driven, self.then)).kept:
            look.say(f"{look.mark('wait')} Your words are kept; they are read once what is waited for has come.")

    async def _answer(self) -> bool:
        """Ask about what is waited for and was not left open before. Whether the session can go on by an answer."""
        waits = [wait for wait in await self._runtime.waits(self._session) if wait.id not in self._left]
        answered = await self._answering.answer(waits)
        self._left.update(answered.left)
        if answered.command is None:
            return answered.goes_on
        await self._obey(answered.command)
        return answered.goes_on and answered.command.name in ONLY_SHOW

    async def _answer_and_go_on(self) -> None:
        if await self._answer():
            await self._go_on()

    async def _state(self) -> SessionState:
        return await self._runtime.state(self._session)
