"""Measures one dispatch of a no-op tool by Callslip: the dispatch record, the effect, the outcome record.

Unlike the peers it commits twice for each step, once before the effect and once after it. A stub until the
public interface is there: it exits with the reason, and bench/peers.py reports it as skipped. `step` is to
make a Runtime with a ledger in the folder and one tool whose body is `meter.effect()`, dispatch one call
`meter.total` times under one session, and return `meter.report("callslip", ["callslip"], <what the ledger
says of its syncs>)`; `worker` is to dispatch one call whose tool calls `peer_common.crash_once(folder)` and,
run again, to recover the session. It runs in the interpreter that runs bench/peers.py.
"""

from pathlib import Path
from typing import Any

import peer_common

TO_DO = "bench/peers/callslip_step.py is still to be written for the public interface"


def step(_folder: Path, _meter: peer_common.Meter, _server: peer_common.Server) -> dict[str, Any]:
    raise SystemExit(TO_DO)


def worker(_folder: Path, _url: str) -> None:
    raise SystemExit(TO_DO)


if __name__ == "__main__":
    peer_common.main("callslip", step, worker)
