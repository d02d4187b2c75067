"""From an exception to what the user reads and the shell gets: one sentence, one exit code."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback

import click

from callslip.cli import early
from callslip.core.shown import visible
from callslip.errors import (
    Busy,
    CallslipError,
    CommitUnknown,
    Fenced,
    LogBroken,
    ModelError,
    Moved,
    NotAccepted,
    NotAuthorised,
    StateRefused,
    UsageError,
)

DONE, ERROR, USAGE, WAITING, BUSY, BROKEN, MODEL, STOPPED, DENIED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 130

EXIT_CODES = {
    DONE: "done",
    ERROR: "it failed; the message says what is safe and what to do",
    USAGE: "it can't be done as asked: an option, the configuration, an unknown name",
    WAITING: "the session waits for an answer (`callslip waits`)",
    BUSY: "another process drives the session",
    BROKEN: "closed: the log is broken, the state folder not safe, or a file of the project not accepted",
    MODEL: "the model gave no usable answer; resume to ask again",
    STOPPED: "the session was stopped, or used up its steps",
    DENIED: "you have not shown that you may",
    INTERRUPTED: "interrupted",
}

RUN_CODES = {"finished": DONE, "waiting": WAITING, "stopped": STOPPED}
"""Exit codes by how a run ended."""

_BY_CLASS: tuple[tuple[tuple[type[CallslipError], ...], int], ...] = (
    ((Busy, Fenced, Moved), BUSY),
    ((LogBroken, CommitUnknown, StateRefused, NotAccepted), BROKEN),
    ((ModelError,), MODEL),
    ((NotAuthorised,), DENIED),
    ((UsageError,), USAGE),
)


class NothingStarted(click.Abort):
    """Interrupted before anything had begun."""


def code_of(name: str) -> int:
    """The exit code of an error that is known by its code only."""
    known: list[type[CallslipError]] = [CallslipError]
    for one in known:
        known += one.__subclasses__()
    found = next((one for one in known if one.code == name), CallslipError)
    return next((code for classes, code in _BY_CLASS if issubclass(found, classes)), ERROR)


def exit_code(error: BaseException) -> int:
    """The exit code by the error's class."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, click.UsageError):
        return USAGE
    return next((code for classes, code in _BY_CLASS if isinstance(error, classes)), ERROR)


def report(error: BaseException, *, as_json: bool, debug: bool) -> int:
    """Tell of the error, and give its exit code.

    In JSON it goes to standard output, so that a program reading it always finds one document there. Notes of the
    error are lines of their own. That nobody can read it changes nothing of the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        _tell(error, as_json=as_json, debug=debug)
    return exit_code(error)


def _tell(error: BaseException, *, as_json: bool, debug: bool) -> None:
    if debug:
        click.echo("".join(visible(line, lines=True) for line in traceback.format_exception(error)), err=True, nl=False)
    if as_json:
        click.echo(json.dumps({"error": described(error)}))
        return
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    click.echo(f"{_bold('callslip:')} {_sentence(error, debug=debug)}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"  {visible(note)}", err=True)


def _bold(text: str) -> str:
    """As ``callslip.cli.look`` would, which costs more than an error before any command should."""
    return text if "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb" else click.style(text, bold=True)


def described(error: BaseException) -> dict[str, object]:
    """The error in JSON: its code, layer and sentence."""
    if isinstance(error, CallslipError):
        retryable = bool(getattr(error, "can_retry", error.retryable))
        return {"code": error.code, "message": str(error), "layer": error.layer, "retryable": retryable}
    names = {USAGE: "usage", INTERRUPTED: "interrupted"}
    name = names.get(exit_code(error), "unexpected")
    return {"code": name, "message": _message(error), "layer": "runtime", "retryable": False}


def _sentence(error: BaseException, *, debug: bool) -> str:
    text = visible(" ".join(_message(error).split()))
    if isinstance(error, click.UsageError) and error.ctx is not None:
        stop = "" if text.endswith((".", "?", "!")) else "."
        return f"{text}{stop} See `{error.ctx.command_path} --help`."
    if isinstance(error, CallslipError | click.ClickException | click.Abort | KeyboardInterrupt) or debug:
        return text
    return f"{text} Whatever is in the log stays safe. Run it again with --debug to see where it happened."


def _message(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, NothingStarted):
        return early.SENTENCE
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return str(error) or "Interrupted."
    if isinstance(error, CallslipError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused: {error.strerror}{where}."
    return f"Something unexpected happened ({type(error).__name__}: {str(error)[:300]})."


def flush() -> None:
    """Write out what is still held back; a reader that has gone is no error, now or when Python itself ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), stream.fileno())
