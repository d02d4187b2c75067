"""The secrets a webhook signs with: from a file that is its owner's alone, or from a variable.

They are read at each delivery, so that one can be replaced while everything runs: put the new one beside the old, give
it to the receiver, take the old one out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from callslip.errors import ConfigError, StateRefused
from callslip.notify.endpoint import Endpoint, WebhookEndpoint, label
from callslip.notify.signing import key_of

_LARGEST = 16 * 1024
_MOST_SECRETS = 8


def keys_of(endpoint: WebhookEndpoint) -> tuple[bytes, ...]:
    """What to sign with, in the order written.

    Raises:
        StateRefused: the file can be read or changed by others. ConfigError: there is no secret, or it is none.
    """
    return tuple(key_of(secret) for secret in _secrets(endpoint))


def held(endpoints: Sequence[Endpoint]) -> list[str]:
    """Every secret that these endpoints sign with: a tool's result must not give them away. Those that can't be read
    are left out; the check at the start says so.
    """
    found: list[str] = []
    for endpoint in endpoints:
        if isinstance(endpoint, WebhookEndpoint):
            try:
                found += _secrets(endpoint)
            except (ConfigError, StateRefused):
                continue
    return found


def _secrets(endpoint: WebhookEndpoint) -> list[str]:
    if endpoint.secret_env:
        text, source = os.environ.get(endpoint.secret_env, ""), f"The variable {endpoint.secret_env}"
    else:
        path = Path(endpoint.secret_file).expanduser()
        text, source = _read(path), f"The file {path}"
    found = text.split()
    if not 1 <= len(found) <= _MOST_SECRETS:
        raise ConfigError(
            f"{source} holds {len(found) or 'no'} secrets for {label(endpoint)}. Nothing was sent. "
            f"Put 1 to {_MOST_SECRETS} in it, each whsec_…, separated by blanks or line ends."
        )
    return found


def _read(path: Path) -> str:
    """The file's text, checked on the very file that is read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(
            f"The secret file {path} can't be read ({error.strerror}). Nothing was sent. "
            "Make it a plain file of yours, mode 0600."
        ) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise StateRefused(f"The secret file {path} is no plain file. Nothing was sent. Make it one.")
        if info.st_uid != os.geteuid():
            raise StateRefused(
                f"The secret file {path} belongs to user {info.st_uid}, not to you ({os.geteuid()}). Nothing was sent. "
                "Run as its owner, or make a file of your own."
            )
        mode = stat.S_IMODE(info.st_mode)
        if mode & 0o077:
            raise StateRefused(
                f"The secret file {path} is open to others (mode {mode:04o}). Nothing was sent. Replace the secret in "
                f"it if others could read it, and run: chmod 600 '{path}'."
            )
        return os.read(fd, _LARGEST).decode("ascii", "replace")
    finally:
        os.close(fd)
