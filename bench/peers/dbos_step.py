"""Measures one @DBOS.step within a @DBOS.workflow, on DBOS's SQLite system database.

As shipped DBOS sets neither journal_mode nor synchronous, so SQLite's own defaults hold: a rollback journal
(DELETE) and FULL, four syncs a commit. Here the connection hook of SQLAlchemy sets WAL and FULL: one sync a
commit, just as durable and the faster of the two. CALLSLIP_BENCH_AS_SHIPPED=1 leaves the defaults.
"""

import os
from pathlib import Path
from typing import Any

import peer_common
import sqlalchemy  # type: ignore[import-not-found]
from dbos import DBOS, SetWorkflowID  # type: ignore[import-not-found]

AS_SHIPPED = os.environ.get("CALLSLIP_BENCH_AS_SHIPPED") == "1"
PEER = "dbos-as-shipped" if AS_SHIPPED else "dbos"
durability: dict[str, str] = {}


def set_pragmas(connection: Any, _record: Any) -> None:
    """For each new connection of DBOS: WAL and FULL; notes what SQLite then says it does."""
    if not AS_SHIPPED:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    for name in ("journal_mode", "synchronous"):
        durability[f"sqlite_{name}"] = str(connection.execute(f"PRAGMA {name}").fetchone()[0])


def configure(folder: Path) -> None:
    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", set_pragmas)
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}",
            "application_version": "1",
            "log_level": "ERROR",
        }
    )


def step(folder: Path, meter: peer_common.Meter, _server: peer_common.Server) -> dict[str, Any]:
    configure(folder)

    def noop() -> int:
        return meter.effect()

    noop_step = DBOS.step()(noop)

    def workflow(steps: int) -> None:
        for _ in range(steps):
            noop_step()

    registered = DBOS.workflow()(workflow)
    DBOS.launch()
    registered(meter.total)
    DBOS.destroy()
    return meter.report(PEER, ["dbos"], durability)


def worker(folder: Path, _url: str) -> None:
    """Starts the workflow, or lets DBOS recover it at launch and waits for it."""
    configure(folder)
    effect = DBOS.step()(crash)

    def kill_workflow(path: str) -> int:
        return int(effect(path))

    registered = DBOS.workflow()(kill_workflow)
    crashed = (folder / "effects").exists()
    DBOS.launch()
    if crashed:
        DBOS.retrieve_workflow("kill").get_result()
    else:
        with SetWorkflowID("kill"):
            registered(str(folder))
    DBOS.destroy()


def crash(path: str) -> int:
    return peer_common.crash_once(Path(path))


if __name__ == "__main__":
    peer_common.main(PEER, step, worker)
