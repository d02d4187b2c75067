"""Break each required behaviour on purpose, one small change at a time, and see a test of it fail (``make mutants``).

A mutant is a copy of the package with one text replaced. Its tests are run against the copy, which is seen to be what
they import; they must fail there, and pass on an unchanged copy. A mutant that survives names a missing test.

    python tests/requirements/mutants.py [--id LEDG-02] [--json] [--jobs 2]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mutant import Mutant
from mutants_anthropic import ANTHROPIC
from mutants_arguments import ARGUMENTS
from mutants_authorities import AUTHORITIES
from mutants_breakers import BREAKERS
from mutants_budgets import BUDGETS
from mutants_constrained import CONSTRAINED_CALLS
from mutants_declared import DECLARED
from mutants_finding import FINDING
from mutants_gemini import GEMINI
from mutants_hedge import HEDGE
from mutants_holding import HOLDING
from mutants_kernel import KERNEL
from mutants_leftovers import LEFTOVERS
from mutants_mistral import MISTRAL
from mutants_native_search import NATIVE_SEARCH
from mutants_people import PEOPLE
from mutants_project import PROJECT
from mutants_ranking import RANKING
from mutants_responses import RESPONSES
from mutants_retry import RETRY
from mutants_routing import ROUTING
from mutants_routing_report import ROUTING_REPORT
from mutants_schemas import SCHEMAS
from mutants_search_trouble import SEARCH_TROUBLE
from mutants_stats import STATS
from mutants_time import TIME
from mutants_version import VERSION
from mutants_wire import WIRE

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "callslip"
FAILED = 1
"""pytest: tests were collected and run, and some failed."""
SECONDS = 30
"""Given to one test; a mutant may hang what it breaks."""

GUARD = '''"""Makes sure that what is tested is the copy beside this file."""

from pathlib import Path

import callslip
import pytest


def pytest_configure(config):
    if not Path(callslip.__file__).is_relative_to(Path(__file__).parent):
        raise pytest.UsageError(f"the tests import {callslip.__file__}, not the mutant")
'''


WIRES = (*WIRE, *ANTHROPIC, *CONSTRAINED_CALLS, *GEMINI, *MISTRAL, *RESPONSES)
CALM = (
    *AUTHORITIES,
    *BREAKERS,
    *BUDGETS,
    *FINDING,
    *SEARCH_TROUBLE,
    *HEDGE,
    *HOLDING,
    *NATIVE_SEARCH,
    *DECLARED,
    *LEFTOVERS,
    *RANKING,
    *RETRY,
    *ROUTING,
    *ROUTING_REPORT,
    *STATS,
    *TIME,
    *VERSION,
)
MUTANTS: Sequence[Mutant] = (*KERNEL, *ARGUMENTS, *PEOPLE, *PROJECT, *SCHEMAS, *WIRES, *CALM)


class Result(NamedTuple):
    """What became of a mutant: ``killed``, ``survived``, or why it could not be tried."""

    id: str
    name: str
    outcome: str
    seconds: float


def copy(folder: Path) -> None:
    """The package and the guard, in a folder that can be put on the path."""
    shutil.copytree(PACKAGE, folder / "callslip", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (folder / "mutant_guard.py").write_text(GUARD)


def run(folder: Path, tests: Sequence[str], *more: str) -> subprocess.CompletedProcess[str]:
    """Run tests against the package in the folder."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "mutant_guard", "-p", "no:cacheprovider", "-o", f"timeout={SECONDS}",
        *more, *tests,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def try_one(mutant: Mutant) -> Result:
    """Make the mutant and see whether its tests notice."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy(folder)
        target = folder / "callslip" / mutant.file
        text = target.read_text()
        if text.count(mutant.old) != 1:
            return Result(mutant.id, mutant.name, f"its text occurs {text.count(mutant.old)} times", 0.0)
        target.write_text(text.replace(mutant.old, mutant.new))
        ended = run(folder, mutant.tests, "-x")
    outcome = {FAILED: "killed", 0: "survived"}.get(ended.returncode, f"pytest ended with {ended.returncode}")
    return Result(mutant.id, mutant.name, outcome, time.monotonic() - began)


def unchanged(mutants: Sequence[Mutant]) -> str | None:
    """Run every test once on an unchanged copy: ``None``, or what pytest said."""
    with tempfile.TemporaryDirectory() as name:
        copy(Path(name))
        ended = run(Path(name), sorted({test for mutant in mutants for test in mutant.tests}))
    return None if ended.returncode == 0 else ended.stdout[-4000:] + ended.stderr[-2000:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--id", action="append", help="only mutants of this requirement (or whose id begins so)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    chosen = [one for one in MUTANTS if not given.id or one.id.startswith(tuple(given.id))]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        green = pool.submit(unchanged, chosen)
        results = list(pool.map(try_one, chosen))
    complaint = green.result()
    killed = sum(result.outcome == "killed" for result in results)
    good = complaint is None and killed == len(results)
    if given.json:
        print(json.dumps({"ok": good, "unchanged": complaint or "passed", "killed": killed, "made": len(results),
                          "mutants": [result._asdict() for result in results]}))  # fmt: skip
    else:
        for result in results:
            print(f"{result.id}  {result.outcome:<10} {result.seconds:5.1f} s  {result.name}")
        print(
            f"{killed} of {len(results)} mutants killed; the same tests on the unchanged package: {complaint or 'passed'}"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
