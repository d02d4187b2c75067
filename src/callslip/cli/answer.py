"""``callslip answer``: the user's words to a question of the model."""

from __future__ import annotations

import sys

import click

from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.options import Given
from callslip.cli.resolve import session_of, tell
from callslip.core.wait import WaitKind
from callslip.errors import UsageError
from callslip.runtime.questions import GIVERS


@command
@click.argument("wait")
@click.argument("text")
async def answer(given: Given, wait: str, text: str) -> None:
    """Answer the question of WAIT with TEXT, in your own words; - takes them from standard input.

    Choices that the question names are suggestions: any other words will do. The model reads them as the user's.
    """
    said = _read() if text == "-" else text
    async with runtime_for(given, "answer") as runtime:
        session = await session_of(given, runtime, wait, WaitKind.QUESTION)
        check_hand(runtime, *GIVERS)
        await runtime.answer(wait, said, by=acting(runtime, quiet=True))
    tell(given, wait, session, "answered")


def _read() -> str:
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError("Standard input is no UTF-8 text. Nothing was written.") from error
