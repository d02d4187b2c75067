"""Make a command: its own options and the shared ones, synchronous or not, an exit code as its result."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

from callslip.cli import early
from callslip.cli.options import SHARED, Given, take


def command(function: Callable[..., Any]) -> click.Command:
    """A command named as its function, which is given what the shared options say and then its own values."""
    return _made(function, drives=False)


def driving_command(function: Callable[..., Any]) -> click.Command:
    """The same for one that takes signals into its own hands before it starts anything."""
    return _made(function, drives=True)


def _made(function: Callable[..., Any], *, drives: bool) -> click.Command:

    @functools.wraps(function)
    def callback(**values: Any) -> int:
        if not drives:
            early.give_back()
        before = click.get_current_context().find_object(Given) or Given()
        result = function(before | take(values), **values)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return int(result or 0)

    decorated: Callable[..., Any] = callback
    for option in reversed(SHARED):
        decorated = option(decorated)
    return click.command(function.__name__.rstrip("_"))(decorated)


def group(name: str, help_text: str, *commands: click.Command) -> click.Group:
    """Commands under one name. What the shared options say may stand before the name, behind it, or behind theirs."""

    def callback(**values: Any) -> None:
        context = click.get_current_context()
        before = context.parent.find_object(Given) if context.parent is not None else None
        context.obj = (before or Given()) | take(values)

    decorated: Callable[..., Any] = callback
    for option in reversed(SHARED):
        decorated = option(decorated)
    made: click.Group = click.group(name, help=help_text)(decorated)
    for one in commands:
        made.add_command(one)
    return made
