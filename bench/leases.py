"""What it costs to hold a file, in this process and over all that share a state folder; and, on demand, a long history.

    python bench/leases.py [--rounds 7] [--calls 2000] [--data-dir DIR]
    python bench/leases.py --history [--processes 8] [--times 10000] [--crowd 200] [--seed 1] [--every 4000]

CPU of one acquire and release that nobody contends, in rounds, each beside a bare SQLite transaction of a file that is
never synced. To know which file a path means is told apart: it looks at the disk, once for each folder.

``--history`` lets processes acquire at random and kills them at random with SIGKILL; what they hold is written where an
overlap shows at once (tests/crash/programs/leases.py). Then a crowd of processes wants one path. Violations must be 0.
"""

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.resources import Resources
from callslip.authorities.shared import SharedAuthority
from callslip.core.claim import Claim
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.authority import Authority, Holder
from measure import BODY, Cpu, Figures, at_most, middle, scratch

PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "crash" / "programs" / "leases.py"
BAR = 30
"""CPU microseconds in process."""
ME = Holder(session="s", call_id="c", tool="t")


def bare_pairs(folder: Path, count: int) -> float:
    """CPU microseconds of two transactions, an insert and a delete, that are never synced."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = off")
        connection.execute("create table if not exists bare (seq integer primary key, body blob)")
        cpu = Cpu()
        for number in range(count):
            connection.execute("begin immediate")
            connection.execute("insert into bare values (?, ?)", (number, BODY))
            connection.execute("commit")
            connection.execute("begin immediate")
            connection.execute("delete from bare where seq = ?", (number,))
            connection.execute("commit")
        return cpu.per(count)
    finally:
        connection.close()


async def pairs(authority: Authority, claims: Sequence[Claim], count: int) -> float:
    """CPU microseconds of one acquire and release."""
    cpu = Cpu()
    for _ in range(count):
        async with authority.holding(claims, ME, lambda _: None):
            pass
    return cpu.per(count)


def resolving(resources: Resources, count: int) -> float:
    cpu = Cpu()
    for _ in range(count):
        resources.claim("file:src/pkg/module.py")
    return cpu.per(count)


def measured(folder: Path, *, rounds: int, calls: int) -> Figures:
    (folder / "src" / "pkg").mkdir(parents=True)
    (folder / "src" / "pkg" / "module.py").touch()
    resources = Resources(folder)
    claims = [resources.claim("file:src/pkg/module.py")]
    owners = OwnerLocks(folder)
    memory, shared = MemoryAuthority(), SharedAuthority(folder / "resources.db", owners)
    bare: list[float] = []
    here: list[float] = []
    everywhere: list[float] = []
    known: list[float] = []
    for number in range(rounds + 1):
        figures = (
            bare_pairs(folder, calls),
            asyncio.run(pairs(memory, claims, calls)),
            asyncio.run(pairs(shared, claims, calls)),
            resolving(resources, calls),
        )
        if number:  # the first round warms up
            for figure, gathered in zip(figures, (bare, here, everywhere, known), strict=True):
                gathered.append(figure)
    shared.close()
    owners.close()
    return {
        "in_process_us": at_most(middle(here), BAR),
        "path_resolved_us": middle(known),
        "shared_us": middle(everywhere),
        "bare_sqlite_us": middle(bare),
        "shared_to_bare": round(middle(everywhere) / middle(bare), 2),
    }


def seen(folder: Path, what: str, *arguments: int) -> Figures:
    """What the program reports."""
    (folder / what).mkdir()
    command = [sys.executable, str(PROGRAM), str(folder / what), what, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--times", type=int, default=10_000)
    parser.add_argument("--crowd", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=4000, help="milliseconds between two kills, more or less")
    args = parser.parse_args()
    with scratch(args.data_dir) as folder:
        if args.history:
            figures = {
                "history": seen(folder, "history", args.processes, args.times, args.seed, args.every),
                "crowd": seen(folder, "crowd", args.crowd, 1),
            }
        else:
            figures = measured(folder, rounds=args.rounds, calls=args.calls)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
