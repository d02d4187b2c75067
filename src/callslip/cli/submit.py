"""``callslip submit``: the result of a call that its client runs."""

from __future__ import annotations

from pathlib import Path

import click

from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.json_value import read_file, read_value
from callslip.cli.options import Given
from callslip.cli.resolve import session_of, tell
from callslip.core.principal import Role
from callslip.core.wait import WaitKind
from callslip.errors import UsageError


@command
@click.argument("wait")
@click.option("--result", metavar="JSON", help="What the call returned.")
@click.option(
    "--result-file", type=click.Path(path_type=Path), metavar="FILE", help="The same, from a file; - for stdin."
)
@click.option("--error", metavar="TEXT", help="The call failed: what the model is told.")
@click.option(
    "--effect", type=click.Choice(["none", "done", "unknown"]), help="With --error: what it did to the world."
)
async def submit(
    given: Given, wait: str, result: str | None, result_file: Path | None, error: str | None, effect: str | None
) -> None:
    """Hand in what became of the call that WAIT is about: one of --result, --result-file and --error."""
    if sum(one is not None for one in (result, result_file, error)) != 1:
        raise UsageError("Give exactly one of --result, --result-file and --error. Nothing was written.")
    if (error is None) != (effect is None):
        raise UsageError(
            "--error and --effect go together: say what the failed call did to the world (none, done or unknown). "
            "Nothing was written."
        )
    value = None
    if result is not None:
        value = read_value("--result", result)
    elif result_file is not None:
        value = read_file("--result-file", result_file)
    async with runtime_for(given, "answer") as runtime:
        session = await session_of(given, runtime, wait, WaitKind.CLIENT, WaitKind.BACKGROUND)
        check_hand(runtime, Role.CALLER, Role.OPERATOR)
        by = acting(runtime, quiet=True)
        if error is not None and effect is not None:
            await runtime.submit(wait, error=error, effect=effect, by=by)
        else:
            await runtime.submit(wait, value, by=by)
    tell(given, wait, session, "submitted")
