"""The one system call that resolves a path beneath a directory without a race: ``openat2`` (Linux 5.6).

It is not the check itself: :mod:`callslip.workspace.root` decides what may be opened. Invariant: a descriptor that
comes out of here was reached from the given directory without ever leaving it, however fast somebody swaps links
meanwhile, because the kernel resolves and opens in one step. Source: ``openat2(2)``, ``linux/openat2.h``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import ClassVar

_SYSCALL = 437  # the same on every architecture but alpha
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_ATTEMPTS = 64


class _OpenHow(ctypes.Structure):
    """``struct open_how``."""

    _fields_: ClassVar = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(directory: int, path: str, flags: int, *, symlinks: bool = True) -> int:
    """Open ``path`` beneath the descriptor ``directory``; a link may be crossed only if it stays beneath.

    With ``symlinks=False`` no link is crossed at all. The descriptor is closed on exec, never blocks on a FIFO and
    never becomes a controlling terminal. It creates nothing.

    Raises:
        OSError: as the kernel says. ``EXDEV``: the path leads out. ``ELOOP``: a refused link. ``ENOSYS`` or
            ``EPERM``: no such call here. ``EAGAIN``: the path was moved about all the while.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | (0 if symlinks else _RESOLVE_NO_SYMLINKS)
    how = _OpenHow(flags=flags | os.O_CLOEXEC | _quiet(flags), mode=0, resolve=resolve)
    encoded = os.fsencode(path)
    failure = errno.EAGAIN
    for _ in range(_ATTEMPTS):
        descriptor: int = _libc.syscall(
            ctypes.c_long(_SYSCALL),
            ctypes.c_int(directory),
            ctypes.c_char_p(encoded),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return descriptor
        failure = ctypes.get_errno()
        # The kernel gives up with EAGAIN when a rename anywhere crosses its walk through "..": ask again.
        if failure not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(failure, os.strerror(failure))


def _quiet(flags: int) -> int:
    # openat2 refuses what openat ignored: these two mean nothing beside O_PATH.
    return 0 if flags & os.O_PATH else os.O_NONBLOCK | os.O_NOCTTY
