"""Other arguments in the place of those asked about: from the command line, from a file, or written in an editor."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from callslip.answering.question import Question
from callslip.cli.json_value import read_file, read_value
from callslip.cli.prompt import STAYS_OPEN, Interrupted, on_interrupt
from callslip.cli.safe_text import visible_json
from callslip.errors import UsageError

_INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)
"""How an editor ends that Ctrl-C has ended: itself, or as a shell says it."""


def given_arguments(asked: Question, *, whole: str | None, single: Sequence[str]) -> dict[str, Any] | None:
    """The arguments as options say: all of them (``JSON`` or ``@FILE``), or some (``NAME=JSON``) and the rest as they
    are; ``None`` when no option says anything.

    Raises:
        UsageError: they can't be understood.
    """
    if whole is not None and single:
        raise UsageError("--arguments and --set exclude each other. Nothing was written. Give one of them.")
    if whole is not None:
        value = read_file("--arguments", Path(whole[1:])) if whole.startswith("@") else read_value("--arguments", whole)
        return _object(value, "--arguments")
    if not single:
        return None
    return {**asked.arguments, **_singles(single)}


def _singles(said: Sequence[str]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for one in said:
        name, equals, text = one.partition("=")
        if not (name and equals):
            raise UsageError(f"--set {one} names no value. Nothing was written. Say NAME=JSON.")
        if name in changed:
            raise UsageError(f"--set names {name} twice. Nothing was written.")
        changed[name] = read_value(f"--set {name}", text)
    return changed


def editable(arguments: dict[str, Any]) -> str:
    """The arguments as text for an editor: JSON whose doubtful characters are spelled out."""
    return visible_json(json.dumps(arguments, ensure_ascii=False, indent=2)) + "\n"


def edited(text: str) -> str:
    """The text as the person's editor (``VISUAL``, ``EDITOR``, else ``vi``) leaves it.

    Ctrl-C belongs to the editor, and ends this only if it ends that.

    Raises:
        UsageError: the editor can't be started or fails. Interrupted: Ctrl-C has ended it.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="callslip-") as folder:  # mode 0700
        path = Path(folder) / "arguments.json"
        path.write_text(text)
        try:
            with on_interrupt(_left_to_it):
                done = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603 - the person's own
            if done.returncode in _INTERRUPTED:
                raise Interrupted(STAYS_OPEN)
            if done.returncode:
                raise UsageError(f"The editor {editor!r} ended with {done.returncode}. Nothing was written.")
            return path.read_text()
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The editor {editor!r} can't be used ({error}). Nothing was written. Name another in EDITOR, or use "
                "--set or --arguments."
            ) from error


def _left_to_it(_number: int, _frame: FrameType | None) -> None:
    """Unlike a signal that is ignored, one that is taken is the editor's own again."""


def read_object(text: str, what: str) -> dict[str, Any]:
    """The arguments in a text.

    Raises:
        UsageError: it is no JSON object.
    """
    return _object(read_value(what, text), what)


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{what} is no JSON object. Nothing was written. Arguments are an object with their names.")
    return value
