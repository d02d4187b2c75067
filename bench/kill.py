"""kill -9 at every commit and effect boundary, and at random instants, for every way to recover.

    python bench/kill.py [--each 10] [--random 500] [--seed 1] [--jobs 2] [--on-disk]

Each boundary of each kind of tool is hit at least ``--each`` times, every commit of a session among them; effects are
counted by another process; the log of every session is held against the crash table. Prints the histogram to standard
error and the whole report as JSON to standard output; the exit status is 1 when anything was lost, repeated without
being declared safe, or concluded otherwise than the table says. Sessions live in memory unless ``--on-disk``: a kill
leaves what was written, synced or not. What fsync promises, ``tests/property/test_power_cut.py`` shows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from callslip.failpoint import NAMES
from callslip.testing import crash_target
from callslip.testing.crash import Harness, Report
from callslip.testing.crash_worker import BOUNDARIES

MEMORY = Path("/dev/shm")


def main() -> int:
    options = _options()
    memory = MEMORY if not options.on_disk and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="kill-") as folder:
        target = Path(crash_target.__file__)
        with Harness(target, "scenario", Path(folder), workers=options.jobs) as harness:
            report = harness.check(options.variants, each=options.each, random=options.random, seed=options.seed)
    _histogram(report, options.variants)
    bars = _bars(report, options)
    body = {"bars": bars, "on_disk": memory is None, **json.loads(msgspec.json.encode(report))}
    print(json.dumps(body, indent=2))
    return 0 if all(bars.values()) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10, help="times each boundary is hit, per kind of tool")
    parser.add_argument("--random", type=int, default=500, help="kills at random instants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="sessions at a time")
    parser.add_argument("--on-disk", action="store_true", help="where temporary files go, not in memory")
    parser.add_argument("--variants", nargs="+", default=list(crash_target.TOOLS), choices=crash_target.TOOLS)
    return parser.parse_args()


def _bars(report: Report, options: argparse.Namespace) -> dict[str, bool]:
    hits = {
        name: sum(report.boundaries.get(name, {}).values()) for name in NAMES if not name.startswith("poll.")
    }  # jobs: tests/crash
    whole = set(options.variants) >= set(crash_target.VARIANTS)
    return {
        "every boundary hit often enough": not whole or min(hits.values()) >= options.each,
        "every boundary hit often enough by every kind that meets it": report.least_of_a_variant() >= options.each,
        "enough random instants": sum(report.instants.values()) >= options.random,
        "nothing lost, no undeclared repeat, every conclusion as in the table, nothing left": not report.faults,
    }


def _histogram(report: Report, variants: list[str]) -> None:
    def say(*columns: Any) -> None:
        print(f"{columns[0]:<18}", *(f"{column!s:>12}" for column in columns[1:]), file=sys.stderr)

    say("killed at", *variants, "instants")
    for name in ("start", *BOUNDARIES):
        hits = report.boundaries.get(name, {})
        say(name, *(hits.get(variant, "-") for variant in variants), report.instants.get(name, "-"))
    print(f"{report.kills} kills in {report.cases} sessions, {report.seconds} s", file=sys.stderr)
    for row, count in sorted(report.conclusions.items()):
        print(f"{count:>6}  {row}", file=sys.stderr)
    for fault in report.faults:
        print(f"FAULT  {fault.what}  {msgspec.json.encode(fault.case).decode()}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
