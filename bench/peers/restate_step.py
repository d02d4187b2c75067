"""Measures one ctx.run of a Restate handler, on a restate-server of its own.

The server's settings are its defaults but for one partition (as in the SDK's own test harness: the other 23
would only add idle work), ports of its own, an empty folder and no telemetry. Each append goes to the log
server's RocksDB, whose write-ahead log is synced unless rocksdb-disable-wal-fsync is set; the script reads
that back from the server's own dump of its settings. The handler is served by hypercorn, as the SDK's manual
has it, in this process: its CPU is the application's.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypercorn  # type: ignore[import-not-found]
import hypercorn.asyncio  # type: ignore[import-not-found]
import peer_common
import restate  # type: ignore[import-not-found]


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def settings(folder: Path, node: int, ingress: int, admin: int) -> dict[str, str]:
    return {
        "RESTATE_BASE_DIR": str(folder / "restate"),
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_BIND_PORT": str(node),
        "RESTATE_INGRESS__BIND_PORT": str(ingress),
        "RESTATE_ADMIN__BIND_PORT": str(admin),
        "RESTATE_DEFAULT_NUM_PARTITIONS": "1",
        "RESTATE_ADMIN__DISABLE_WEB_UI": "true",
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_LOG_FILTER": "error,octocrab=off",
    }


def facts(binary: Path, environment: dict[str, str]) -> dict[str, str]:
    dump = subprocess.check_output([binary, "--dump-config"], env=environment, text=True)
    tables = tomllib.loads(dump)
    version = subprocess.check_output([binary, "--version"], text=True).split()[-1]
    return {
        "server": version,
        "bifrost.default-provider": str(tables["bifrost"]["default-provider"]),
        "log-server.rocksdb-disable-wal-fsync": str(tables["log-server"]["rocksdb-disable-wal-fsync"]),
    }


@contextlib.contextmanager
def server(folder: Path) -> Iterator[peer_common.Server]:
    (binary,) = Path(sys.prefix).glob("node_modules/@restatedev/restate-server-*/bin/restate-server")
    node, ingress, admin, service = free_ports(4)
    environment = {**os.environ, **settings(folder, node, ingress, admin)}
    process = subprocess.Popen([binary, "--no-logo"], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{admin}/health")
        wait_for(f"http://127.0.0.1:{ingress}/restate/health")
        url = f"{ingress},{admin},{service}"
        yield peer_common.Server(url, process.pid, facts(binary, environment))
    finally:
        process.terminate()
        process.wait(timeout=60)


def wait_for(url: str) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    raise SystemExit("restate-server did not start")


def post(url: str, body: Any, headers: dict[str, str]) -> None:
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    urllib.request.urlopen(request, timeout=120).close()


async def serve_and_call(url: str, effect: Any, steps: int) -> None:
    """Serve the handler, register it, call it; a call with a known idempotency key joins the first one."""
    ingress, admin, port = url.split(",")
    service = restate.Service("bench")

    async def run(ctx: restate.Context, count: int) -> int:
        for number in range(count):
            await ctx.run_typed(f"noop-{number}", effect)
        return count

    service.handler()(run)
    config, stop = hypercorn.Config(), asyncio.Event()
    config.bind = [f"127.0.0.1:{port}"]
    app = restate.app(services=[service])
    serving = asyncio.create_task(hypercorn.asyncio.serve(app, config, shutdown_trigger=stop.wait))
    await asyncio.sleep(0.3)
    deployment = {"uri": f"http://127.0.0.1:{port}"}
    await asyncio.to_thread(post, f"http://127.0.0.1:{admin}/deployments", deployment, {})
    call = f"http://127.0.0.1:{ingress}/bench/run"
    await asyncio.to_thread(post, call, steps, {"idempotency-key": "one"})
    stop.set()
    await serving


def step(_folder: Path, meter: peer_common.Meter, started: peer_common.Server) -> dict[str, Any]:
    async def noop() -> int:
        return meter.effect()

    asyncio.run(serve_and_call(started.url, noop, meter.total))
    return meter.report("restate", ["restate-sdk", "hypercorn"], started.facts)


def worker(folder: Path, url: str) -> None:
    """Calls the handler, or serves it again for the server's retry and joins that call."""

    async def crash() -> int:
        return peer_common.crash_once(folder)

    asyncio.run(serve_and_call(url, crash, 1))


if __name__ == "__main__":
    peer_common.main("restate", step, worker, server)
