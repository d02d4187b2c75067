"""The options that every command takes, and what was given of them."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class _Folder(click.Path):
    """A folder's name; nothing at all must not come to mean the folder one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("A folder's name can't be empty. Nothing was started.", param, ctx)
        return super().convert(value, param, ctx)


_FOLDER = _Folder(path_type=Path)

SHARED: tuple[Callable[[Any], Any], ...] = (
    click.option("--app", metavar="NAME", help="The Runtime: module:attribute or file.py:attribute."),
    click.option("--state", type=_FOLDER, metavar="FOLDER", help="The state folder."),
    click.option("--project", type=_FOLDER, metavar="FOLDER", help="The folder of callslip.toml; default: upwards."),
    click.option("--json", "as_json", is_flag=True, help="Answer in JSON."),
    click.option("--debug", is_flag=True, help="Show the whole traceback of an error."),
)
NAMES = ("app", "state", "project", "as_json", "debug")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was said on the command line beside the command's own options."""

    app: str | None = None
    state: Path | None = None
    project: Path | None = None
    as_json: bool = False
    debug: bool = False

    def __or__(self, later: Given) -> Given:
        """This, with what ``later`` says put over it: an option may stand before the command or after it."""
        return Given(**{name: getattr(later, name) or getattr(self, name) for name in NAMES})

    def command(self, *words: str, tail: str = "") -> str:
        """A command line that reaches the same project, for the user to copy; ``tail`` is put in as it stands."""
        places = {"--app": self.app, "--state": self.state, "--project": self.project}
        options = [part for name, value in places.items() if value is not None for part in (name, str(value))]
        return " ".join(part for part in (shlex.join(["callslip", *words]), tail, shlex.join(options)) if part)


def take(values: dict[str, Any]) -> Given:
    """Take the shared options out of a command's values."""
    return Given(**{name: values.pop(name) for name in NAMES})
