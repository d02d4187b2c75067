"""What `callslip stats` costs: records of a long session, and short sessions, counted by second of CPU.

    python bench/stats.py [--records 100000] [--sessions 2000] [--rounds 3] [--data-dir DIR]

The long session is one as agents make them, the short ones hold one call each. Reading is part of it: the stored bytes,
their chain, their records.
"""

import argparse
import asyncio
import json
from pathlib import Path

from callslip import Runtime
from callslip.ledgers.sqlite import SqliteLedger
from callslip.stats.collect import collect
from made_session import make_session
from measure import Cpu, Figures, at_least, noop, proposals, scratch


async def make_short(state: Path, sessions: int) -> None:
    async with Runtime(tools=[noop], state=state) as runtime:
        for number in range(sessions):
            await runtime.dispatch(proposals(1), session=f"short-{number}", step="1")
            await runtime.release(f"short-{number}")


async def measured(state: Path, rounds: int) -> tuple[int, float]:
    """How many records there are, and how many of them were counted in a second of CPU, at best."""
    ledger = SqliteLedger(state / "ledger.db")
    records, fastest = 0, 0.0
    for _ in range(rounds):
        cpu = Cpu()
        records = (await collect(ledger)).records
        fastest = max(fastest, 1e6 / cpu.per(records))
    await ledger.aclose()
    return records, fastest


def document(folder: Path, *, records: int, sessions: int, rounds: int) -> Figures:
    asyncio.run(make_session(folder / "long", events=records, tail=200))
    asyncio.run(make_short(folder / "short", sessions))
    many, rate = asyncio.run(measured(folder / "long", rounds))
    few, slow = asyncio.run(measured(folder / "short", rounds))
    return {
        "long_session_records_by_cpu_second": at_least(round(rate), 100_000) | {"records": many},
        "short_sessions": {"sessions": sessions, "by_cpu_second": round(slow * sessions / few)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what statistics cost.")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data-dir", type=Path, help="on a real disk, not in memory; default: /var/tmp")
    args = parser.parse_args()
    with scratch(args.data_dir) as folder:
        figures = document(folder, records=args.records, sessions=args.sessions, rounds=args.rounds)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
