"""A person's yes to exactly what was shown; never assumed."""

from __future__ import annotations

import sys
from typing import NamedTuple

from callslip.cli import look
from callslip.cli.options import Given
from callslip.cli.prompt import STAYS_OPEN, confirm
from callslip.cli.question import DIGEST
from callslip.errors import UsageError


def on_terminal() -> bool:
    """Whether a person can read what is shown and type an answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class Reading(NamedTuple):
    """What has to be read before a yes counts, when it can't all be shown here."""

    whole: bool
    """All of it was shown."""
    digest: str
    """By which one says that it was read elsewhere; as much of it as is asked for is enough."""
    where: str
    """Where the whole can be read, as half a sentence."""


def consented(given: Given, ask: str, reading: Reading, *, yes: bool, digest: str | None) -> bool:
    """Whether they say yes.

    Raises:
        UsageError: nobody can be asked, or not all of it was shown. Interrupted: Ctrl-C.
    """
    wanted = reading.digest[:DIGEST]
    if digest is not None:
        if digest.lower() != wanted:
            raise UsageError(
                f"--digest {digest} does not belong to this. Nothing was written. Read it whole: {reading.where}."
            )
        return True
    if not reading.whole:
        raise UsageError(
            "Not all of it could be shown here, and what was not seen can't be approved. Nothing was written. Read it "
            f"whole: {reading.where}. Then say so with --digest {wanted}."
        )
    if yes:
        return True
    if given.as_json or not on_terminal():
        raise UsageError("There is no terminal to ask on. Nothing was written. Say --yes if that is meant.")
    if confirm(ask, kept=STAYS_OPEN):
        return True
    look.say(STAYS_OPEN)
    return False
