"""The operating system's account this process runs as: all that is known of somebody without a key."""

from __future__ import annotations

import os
import pwd

from callslip.ports.trust import Identity


def account() -> Identity:
    """By the kernel's word and the password database; variables such as ``USER`` are anybody's to set."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid-{uid}"
    return Identity(name=name, uid=uid)
