"""A Runtime for looking that also works where nothing can be written: a read-only mount, a full disk, a backup."""

from __future__ import annotations

import contextlib
import fcntl
import os

from callslip import build
from callslip.application import Runtime
from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.resources import Resources
from callslip.blobs.files import FileBlobs
from callslip.blobs.key_files import KeyFiles
from callslip.blobs.sealed import SealedBlobs
from callslip.blobs.vault import KeyVault
from callslip.clocks.system import SystemClock
from callslip.errors import LedgerUnavailable, StateRefused
from callslip.gate.catalogue import Catalogue
from callslip.ledgers.connection import why_refused
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ledgers.sealed import SealedLedger
from callslip.ledgers.sqlite_reader import SqliteReader
from callslip.policies.by_risk import RiskPolicy
from callslip.ports.ledger import Owner
from callslip.runtime.parts import Parts
from callslip.trust.file import FileTrust


class Reader(Runtime):
    """Opens as any other where that is possible, and otherwise to read only."""

    def __init__(self, settings: build.Settings) -> None:
        super().__init__()
        self.settings = settings

    @property
    def parts(self) -> Parts:
        if self._parts is None:
            try:
                self._parts = build.build_parts(self.settings)
            except (LedgerUnavailable, StateRefused, OSError) as error:
                self._parts = _to_read(self.settings, error)
        return self._parts


def _to_read(settings: build.Settings, error: Exception) -> Parts:
    folder = settings.state
    unsafe = isinstance(error, StateRefused) and not isinstance(error.__cause__, OSError)
    if folder is None or unsafe:
        raise error
    path = folder / build.LEDGER_FILE
    if not path.is_file() or (why_refused(path) is None and "full" not in str(error)):
        raise error
    vault = KeyVault(KeyFiles(folder / "keys"), encrypts=False)
    return Parts(
        ledger=SealedLedger(SqliteReader(path), vault),
        blobs=SealedBlobs(FileBlobs(folder / "blobs"), vault),
        vault=vault,
        keyring=vault,
        owners=_Seen(folder / "owners"),
        clock=SystemClock(),
        catalogue=Catalogue(()),
        policy=RiskPolicy(),
        key=b"",
        trust=FileTrust(folder, clock=SystemClock()),
        authority=MemoryAuthority(),
        claim=Resources(None).claim,
        limits=settings.limits,
        budgets=settings.budgets,
    )


class _Seen(OwnerLocks):
    """Looks at locks without opening them for writing."""

    def _held(self, owner: Owner) -> bool:
        try:
            fd = os.open(self._path(owner), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        with contextlib.closing(os.fdopen(fd, "rb")):
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:
                return False
        return False
