"""Answer in a chat what its session waits for: shown and decided on as ``approve``, ``answer``, ``submit`` and
``resolve`` would, by whoever's key is on hand.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

import msgspec

from callslip.answering.question import Question
from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.causes import Said, causes
from callslip.cli.chat_command import Command
from callslip.cli.chat_typing import Instead, Typing, forget_typed
from callslip.cli.deciding import find_question, tell_decision
from callslip.cli.edit import changed, in_editor
from callslip.cli.failure import report
from callslip.cli.json_value import read_value
from callslip.cli.options import Given
from callslip.cli.prompt import STAYS_OPEN, Interrupted
from callslip.cli.question import answers, change_lines, grant_lines, show_question
from callslip.cli.safe_text import doubts, exact
from callslip.cli.values import compact, texts_in
from callslip.cli.waiting import print_waits
from callslip.core.events.call_resolved import Verdict
from callslip.core.principal import Role
from callslip.core.result import Effect
from callslip.core.shown import visible
from callslip.core.wait import Wait, WaitKind
from callslip.errors import CallslipError, UsageError
from callslip.ports.trust import Identity
from callslip.runtime.questions import GIVERS
from callslip.trust.on_hand import PASSPHRASE_FILE

_NOT_HERE = (
    f"{PASSPHRASE_FILE} is in the environment, where the tools that run here could read it and sign with your key. "
    "Nothing is answered here; answer from another terminal."
)
_VERDICTS: dict[str, str] = {"happened": "happened", "did_not_happen": "did not happen", "give_up": "give up"}
_KINDS_OF_EFFECT = {"none": "nothing", "done": "took effect", "unknown": "unknown"}


class Answered(NamedTuple):
    """What came of asking."""

    goes_on: bool
    """Whether the session may go on by any of the answers."""
    left: list[str]
    """The waits that are left open."""
    command: Command | None = None
    """Typed instead of an answer."""


class Answering:
    """What is waited for in a chat's session, answered in place."""

    def __init__(self, given: Given, runtime: Runtime, typing: Typing) -> None:
        self._given = given
        self._runtime = runtime
        self._typing = typing
        self._warned = False
        """It was said that answers prove nothing."""

    async def answer(self, waits: list[Wait]) -> Answered:
        """Show each wait and ask for its answer.

        Raises:
            Ended: the system asks the chat to end.
        """
        said = await causes(self._runtime, waits)
        going_on, left = False, [wait.id for wait in waits]
        if waits and os.environ.get(PASSPHRASE_FILE):
            look.say(f"{look.mark('warn')} {_NOT_HERE}")
            print_waits(self._given, waits, said=said)
            return Answered(False, left)
        for wait in waits:
            try:
                if await self._one(wait, said):
                    going_on = True
                    left.remove(wait.id)
            except Interrupted:
                look.say(STAYS_OPEN)
                break
            except Instead as typed:
                look.say(STAYS_OPEN)
                return Answered(going_on, left, typed.command)
            except CallslipError as error:
                report(error, as_json=False, debug=self._given.debug)
        return Answered(going_on, left)

    async def _one(self, wait: Wait, said: Mapping[str, Said]) -> bool:
        """Whether it was answered, so that the session may go on."""
        if wait.kind is WaitKind.APPROVAL:
            return await self._approval(wait)
        if wait.kind is WaitKind.QUESTION:
            return await self._question(wait)
        answered_here = wait.kind not in {WaitKind.TIME, WaitKind.BACKGROUND}
        print_waits(self._given, [wait], said=said, here=answered_here)
        match wait.kind:
            case WaitKind.CLIENT:
                return await self._client(wait)
            case WaitKind.PARKED:
                return await self._parked(wait)
            case WaitKind.WORKSPACE | WaitKind.COPY:
                return await self._accepted(wait)
        return False  # a clock, or a job that goes on: nobody needs to answer

    def _by(self) -> Identity:
        """Who decides; once in a chat it is said when that proves nothing."""
        by = acting(self._runtime, quiet=self._warned)
        self._warned = True
        return by

    def _told(self, wait: Wait, said: str) -> bool:
        look.say(f"{look.mark('ok')} {visible(wait.id)}: {said}. It stands in the log.")
        return True

    # Approvals

    async def _approval(self, wait: Wait) -> bool:
        asked = await find_question(self._given, self._runtime, wait.id)
        shown = show_question(asked)
        for line in shown.lines:
            look.say(line)
        check_hand(self._runtime, Role.APPROVER)
        if not shown.whole:
            self._say_elsewhere(asked)
        choices = {"yes": "yes", "no": "no"} if shown.whole else {"no": "no"}
        if shown.whole and asked.approvers == 1:
            choices |= {"edit": "edit", "session": "session"}
        while True:
            match self._typing.choice("Approve it?", choices):
                case "yes":
                    return await self._approve(asked)
                case "no":
                    return await self._deny(asked)
                case "edit":
                    edited = self._edited(asked)
                    if edited is not None:
                        return await self._approve_edited(asked, *edited)
                case "session":
                    return await self._approve(asked, rule=True)
                case _:
                    return False

    def _say_elsewhere(self, asked: Question) -> None:
        """It takes a digest, and so a command of its own."""
        warn = "Not all of it can be shown here, and what was not seen can't be approved. From another terminal:"
        look.say(f"{look.mark('warn')} {warn}")
        for line in answers(self._given, asked, whole=False):
            look.say(f"  {line}")

    async def _approve(self, asked: Question, *, rule: bool = False) -> bool:
        grant = await self._runtime.rule(asked.id, scope="session") if rule else None
        if grant is not None:
            for line in grant_lines(self._given, grant):
                look.say(line)
            if not self._typing.confirm("Approve it, and the rule?"):
                look.say(STAYS_OPEN)
                return False
        enough = await self._runtime.approvals.approve(
            asked.id, by=self._by(), grant=grant, via="cli", shown=asked.binding
        )
        tell_decision(self._given, asked, "approved", enough=enough, line=True)
        return enough

    async def _deny(self, asked: Question) -> bool:
        reason = self._typing.words("Why? The model is told it; Enter gives no reason:")
        by = self._by()
        await self._runtime.approvals.deny(asked.id, by=by, reason=reason, via="cli", shown=asked.binding)
        tell_decision(self._given, asked, "denied", line=True)
        return True

    def _edited(self, asked: Question) -> tuple[dict[str, Any], tuple[str, ...]] | None:
        """Other arguments, and how they differ; ``None``, which is told, where that came to nothing."""
        try:
            with self._typing.reading():
                return changed(asked, in_editor(self._given, asked))
        except UsageError as error:
            report(error, as_json=False, debug=self._given.debug)
            return None

    async def _approve_edited(self, asked: Question, arguments: dict[str, Any], changes: tuple[str, ...]) -> bool:
        shown = show_question(msgspec.structs.replace(asked, arguments=arguments))
        for line in (*shown.lines, *change_lines(changes)):
            look.say(line)
        if not shown.whole:
            raise UsageError("Not all of it could be shown here. Nothing was written; the question stays open.")
        if not self._typing.confirm("Approve it with these arguments?"):
            look.say(STAYS_OPEN)
            return False
        enough = await self._runtime.approvals.approve(
            asked.id, by=self._by(), arguments=arguments, via="cli", shown=asked.binding
        )
        tell_decision(self._given, asked, "edited", enough=enough, line=True)
        return enough

    # Everything else

    async def _question(self, wait: Wait) -> bool:
        check_hand(self._runtime, *GIVERS)
        asked = wait.arguments if isinstance(wait.arguments, Mapping) else {}
        choices = _choices(asked)
        tool = exact(wait.tool or "")
        words = exact(str(asked.get("question", wait.reason)))
        look.hang(f"{look.mark('wait')} {look.paint(tool + ' asks:', bold=True)} ", words)
        for name, value in asked.items():
            if name != "question" and value is not None and not (name == "choices" and choices):
                look.say(f"  {exact(name)}: {compact(value)}")
        for note in doubts(texts_in(asked)):
            look.say(f"  {look.mark('warn')} {note}")
        for number, choice in enumerate(choices, 1):
            look.say(f"  {look.paint(str(number), bold=True)}  {exact(choice)}")
        forget_typed()
        also = ", or the number of a choice" if choices else ""
        while (answer := chosen(self._typing.words(f"Your answer{also}; Enter leaves it open:"), choices)) is None:
            look.murmur(f"There is no such choice. Give a number from 1 to {len(choices)}, or say it in words.")
        if not answer:
            return False
        await self._runtime.answer(wait.id, answer, by=acting(self._runtime, quiet=True))
        return self._told(wait, "answered")

    async def _client(self, wait: Wait) -> bool:
        """A call that its client runs: here that is whoever sits at the terminal."""
        check_hand(self._runtime, Role.CALLER, Role.OPERATOR)
        match self._typing.choice("What became of it?", {"result": "result", "failed": "failed"}):
            case "result":
                value = self._value("Its result, in JSON; Enter leaves it open:")
                if value is msgspec.UNSET:
                    return False
                await self._runtime.submit(wait.id, value, by=acting(self._runtime, quiet=True))
            case "failed":
                error = self._typing.words("What went wrong? The model is told it:")
                effect = self._typing.choice("What did it do to the world?", _KINDS_OF_EFFECT)
                if not (error and effect):
                    look.say(STAYS_OPEN)
                    return False
                await self._runtime.submit(
                    wait.id, error=error, effect=Effect(effect), by=acting(self._runtime, quiet=True)
                )
            case _:
                return False
        return self._told(wait, "submitted")

    async def _parked(self, wait: Wait) -> bool:
        """A call whose outcome nobody knows."""
        check_hand(self._runtime, Role.OPERATOR)
        key = self._typing.choice("What became of it?", _VERDICTS)
        verdict: Verdict | None = next((one for one in get_args(Verdict) if one == key), None)
        if verdict is None:
            return False
        reason = self._typing.words("How do you know? It stays in the log:")
        if not reason:
            raise UsageError("A verdict needs a reason. Nothing was written; the question stays open.")
        result = self._value("What it returned, in JSON; Enter if nobody knows:") if key == "happened" else None
        result = None if result is msgspec.UNSET else result
        await self._runtime.resolve(
            wait.id, verdict, reason=reason, result=result, by=acting(self._runtime, quiet=True)
        )
        return self._told(wait, _VERDICTS[key])

    async def _accepted(self, wait: Wait) -> bool:
        check_hand(self._runtime, Role.OPERATOR)
        forget_typed()
        if not self._typing.confirm("Accept it?"):
            return False
        if wait.kind is WaitKind.COPY:
            await self._runtime.accept_copy(wait.id, by=acting(self._runtime, quiet=True))
        else:
            await self._runtime.accept_workspace(wait.id, by=acting(self._runtime, quiet=True))
        return self._told(wait, "accepted")

    def _value(self, ask: str) -> Any:
        """A JSON value; ``UNSET`` for an empty line."""
        while True:
            text = self._typing.words(ask)
            if not text:
                return msgspec.UNSET
            try:
                return read_value("This", text)
            except UsageError as error:
                report(error, as_json=False, debug=False)


def chosen(said: str, choices: list[str]) -> str | None:
    """The answer: a choice by its number, unless the number is itself one of the choices; or the words as they are.

    ``None``: a number that no choice has, which nobody can have meant as words.
    """
    if said in choices or not choices or not said.isdecimal():
        return said
    number = int(said)
    return choices[number - 1] if 1 <= number <= len(choices) else None


def _choices(asked: Mapping[str, Any]) -> list[str]:
    """The answers that are suggested, if that is what they are."""
    choices = asked.get("choices")
    texts = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    return list(choices) if texts and choices else []
