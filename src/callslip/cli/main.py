"""The command line. Each command is a module of its own, read only when it is used.

Nothing here may import what a command needs: ``callslip --help`` must cost next to nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import keyword
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import click

from callslip.cli import early
from callslip.cli.failure import EXIT_CODES, flush, report
from callslip.cli.options import SHARED, take

SECTIONS = {
    "Begin": {
        "init": "Write a small project that runs at once.",
        "doctor": "Check this installation, and say what is wrong.",
        "tools": "List the tools, look at one, or have advice on them.",
    },
    "Drive": {
        "run": "Say something to a session, and watch it work.",
        "chat": "Talk with a session, and answer what it asks.",
        "resume": "Go on after a crash, a stop or an answer.",
        "worker": "Drive every session that can go on.",
        "send": "Leave a message for a session.",
        "stop": "Ask a session to stop, wherever it is driven.",
    },
    "Look": {
        "sessions": "List the sessions.",
        "show": "Show a session's timeline.",
        "verify": "Check that the log is what was written.",
        "resources": "Say who holds what, and who waits for it.",
        "breakers": "Say which tools are left alone, and have them called again.",
        "stats": "Say how well tools and models do, and why they fail.",
        "routing": "Say how well the model's tools are found, and what was missed.",
        "audit": "Say who did what, when and why, and check that nobody changed it.",
    },
    "Answer": {
        "inbox": "List what waits for a person, with all they need to decide.",
        "approve": "Let a call be made, after being shown all of it.",
        "deny": "Don't let a call be made.",
        "edit": "Let a call be made with other arguments.",
        "waits": "List what is waited for.",
        "answer": "Answer a question of the model.",
        "resolve": "Give a verdict on a call whose outcome is unknown.",
        "submit": "Hand in the result of a call that its client runs.",
        "revert": "Undo what a turn did.",
        "serve": "Take answers over HTTP.",
    },
    "Keep": {
        "export": "Write a session into a file, to move it or keep a copy.",
        "import": "Take a session in that was exported.",
        "seal": "End a session here, for good.",
        "restore": "Say that a state folder was put back from a backup.",
        "erase": "Erase what was said in a session.",
    },
    "Trust": {
        "trust": "Accept what the project is made of.",
        "enrol": "Bring somebody's key into force.",
        "principals": "List who is enrolled; revoke, or hand deciding on.",
        "grants": "List what needs no further asking, and take it back.",
    },
}
NAMES = tuple(name for section in SECTIONS.values() for name in section)
EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
_LINGER = 0.2
"""Seconds for worker threads to end by themselves."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and imports each one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NAMES:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        found: click.Command = getattr(importlib.import_module(f"callslip.cli.{name}"), name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in NAMES and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=NAMES, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()), col_max=12)

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and end the process with the command's exit code; every error becomes a sentence."""
        words = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(words, prog_name, standalone_mode=False, **extra)
        said = words[: words.index("--")] if "--" in words else words
        try:
            code = super().main(words, prog_name, standalone_mode=False, **extra)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the one place where all of them end
            code = report(error, as_json="--json" in said, debug="--debug" in said)
        sys.exit(code)


def _group(**values: Any) -> None:
    click.get_current_context().obj = take(values)


def _build() -> click.Group:
    callback: Any = _group
    for option in reversed(SHARED):
        callback = option(callback)
    callback = click.version_option(package_name="callslip")(callback)
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    return click.command(
        "callslip",
        cls=LazyGroup,
        context_settings=settings,
        help="Callslip stands between your model and your tools: every call is recorded before it runs and after, "
        "and a crash never silently repeats it.",
        epilog=EPILOG,
    )(callback)


cli = _build()


def main() -> None:
    """The program ``callslip``."""
    early.install()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code: object = 0
    try:
        cli.main(prog_name="callslip")
    except SystemExit as leaving:
        code = leaving.code
    # A tool's thread that was given up, and recorded as such, must neither hold the process nor go on in secret.
    left = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    for thread in left:
        thread.join(_LINGER)
    flush()
    if any(thread.is_alive() for thread in left):
        os._exit(code if isinstance(code, int) else 1)
    sys.exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
