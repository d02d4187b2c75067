"""Who is told, and how: the ``[[notify]]`` tables of callslip.toml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from callslip.core import canon
from callslip.core.shown import visible
from callslip.errors import ConfigError
from callslip.notify.dial import target_of
from callslip.notify.notice import NoticeKind


class _Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    name: str = ""
    """What messages call it; made up where there is none."""
    only: tuple[NoticeKind, ...] = ()
    """Kinds of notices; empty: all."""
    include_arguments: bool = False
    """Whether arguments of calls are told, with known secrets taken out."""


class WebhookEndpoint(_Endpoint, frozen=True, kw_only=True, tag="webhook"):
    """A signed POST to an address."""

    url: str
    secret_file: str = ""
    """A file with one ``whsec_…`` a line, mode 0600, yours. One of this and ``secret_env``."""
    secret_env: str = ""
    """A variable that holds them, separated by blanks."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts, as they stand in ``url``, that may have an address that is not a public one."""


class CommandEndpoint(_Endpoint, frozen=True, kw_only=True, tag="command"):
    """A program that is given the notice as JSON on its standard input."""

    argv: tuple[str, ...]


class LogEndpoint(_Endpoint, frozen=True, kw_only=True, tag="log"):
    """A line to a file, as JSON; without one, to standard error, as text."""

    path: str = ""


Endpoint = WebhookEndpoint | CommandEndpoint | LogEndpoint


def label(endpoint: Endpoint) -> str:
    """What messages call it. Never the whole address: some hold a token."""
    if endpoint.name:
        return visible(endpoint.name)
    if isinstance(endpoint, WebhookEndpoint):
        return visible(f"webhook {urlsplit(endpoint.url).hostname or '?'}")
    if isinstance(endpoint, CommandEndpoint):
        return visible(f"command {Path(endpoint.argv[0]).name}")
    return visible(f"log {Path(endpoint.path).name or 'stderr'}")


def place(endpoint: Endpoint) -> str:
    """Identity of where it leads: what waits for it stays its own while the rest of its settings changes."""
    if isinstance(endpoint, WebhookEndpoint):
        where: object = ["webhook", endpoint.url]
    elif isinstance(endpoint, CommandEndpoint):
        where = ["command", list(endpoint.argv)]
    else:
        where = ["log", endpoint.path]
    return canon.digest(canon.canonical(where))


def fingerprint(endpoint: Endpoint) -> str:
    """Identity of all its settings."""
    return canon.digest(canon.canonical(msgspec.to_builtins(endpoint)))


def check(endpoints: Sequence[Endpoint]) -> None:
    """Refuse settings that could never work.

    Raises:
        ConfigError: says which one, and why.
    """
    seen: set[str] = set()
    for endpoint in endpoints:
        if isinstance(endpoint, WebhookEndpoint):
            _check_webhook(endpoint)
        elif isinstance(endpoint, CommandEndpoint):
            _check_command(endpoint)
        elif endpoint.path and not Path(endpoint.path).expanduser().is_absolute():
            raise _refused(endpoint, f"the path {endpoint.path!r} is not absolute", "Write it from / or ~")
        if place(endpoint) in seen:
            raise _refused(endpoint, "it leads where another one leads", "Make one of the two, or write another path")
        seen.add(place(endpoint))


def _check_webhook(endpoint: WebhookEndpoint) -> None:
    target_of(endpoint.url, endpoint.allow_hosts)
    if bool(endpoint.secret_file) == bool(endpoint.secret_env):
        raise _refused(
            endpoint, "it needs a secret to sign with, from one place", "Give either secret_file or secret_env"
        )
    if endpoint.secret_file and not Path(endpoint.secret_file).expanduser().is_absolute():
        raise _refused(endpoint, "secret_file is not an absolute path", "Write it from / or ~")


def _check_command(endpoint: CommandEndpoint) -> None:
    if not endpoint.argv or not endpoint.argv[0] or any("\0" in part for part in endpoint.argv):
        raise _refused(CommandEndpoint(argv=("?",)), "argv names no program", "Give a list: the program, then words")
    program = endpoint.argv[0]
    # Anything relative would be looked for in some folder, perhaps one that tools may write.
    if "/" in program and not program.startswith("/"):
        raise _refused(endpoint, f"the program {program!r} is a relative path", "Write it from /, or its bare name")


def _refused(endpoint: Endpoint, why: str, advice: str) -> ConfigError:
    return ConfigError(f"[[notify]] {label(endpoint)}: {why}. Nothing was started. {advice}.")
