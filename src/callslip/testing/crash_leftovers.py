"""What is left of a session whose processes have all ended, the killed ones and the last one: nothing should be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from callslip.authorities.table import Table
from callslip.build import RESOURCES_FILE
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.owners import Liveness

_PATIENCE = 10.0
_GONE = frozenset({Liveness.LOCK_FREE, Liveness.REBOOTED})


def leftovers(folder: Path, last: int) -> list[str]:
    """In sentences. ``folder`` is the run's own, ``last`` the process that was not killed."""
    return [*_claims(folder / "state", last), *_temporary(folder)]


def _claims(state: Path, last: int) -> Iterator[str]:
    """What whoever comes next would have to wait for, and what the last process has not given back."""
    owners = OwnerLocks(state / "owners")
    name = Path(RESOURCES_FILE)
    for path in state.glob(f"{name.stem}*{name.suffix}"):
        table = Table(path, {}, patience=_PATIENCE)
        try:
            for ticket in table.line():
                if ticket.holder.process == last:
                    yield f"{ticket.holder.tool} still claims what its process has not given back"
            table.drop([owner for owner in table.owners() if owners.liveness(owner) in _GONE])
            for ticket in table.line():
                yield f"{ticket.holder.tool} still claims something, and its process {ticket.holder.process} has ended"
        finally:
            table.close()


def _temporary(folder: Path) -> Iterator[str]:
    places = {"state": ".*", "workspace": ".callslip-*", "temporary": "*"}
    for place, names in places.items():
        for path in sorted((folder / place).rglob(names)):
            yield f"the temporary file {path.relative_to(folder)} is left"
