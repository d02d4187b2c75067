"""Processes that share one file of leases and are killed at random: the board they write on must stay clean (PARA-03).

The program and its board: ``programs/leases.py``. In full: ``bench/leases.py --history``.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.requirement("PARA-02", "PARA-03")

PROGRAM = Path(__file__).with_name("programs") / "leases.py"


def ran(folder, *arguments):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def check_history(seen, said, processes, times):
    assert seen["violations"] == []
    assert not seen["stuck"], "a wake-up was lost, or what a dead one held was never freed"
    assert seen["failed"] == 0, said
    assert seen["acquisitions"] == processes * times, "all came to their end"
    assert seen["kills"] > 0
    assert seen["waited"] > 0
    assert seen["left_in_line"] == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_killed_nobody_meets_another_and_everybody_gets_there(memory_folder, seed):
    seen, said = ran(memory_folder, "history", 4, 200, seed, 1500)
    check_history(seen, said, 4, 200)


def test_a_crowd_that_wants_one_path_gets_it_one_after_the_other(memory_folder):
    seen, said = ran(memory_folder, "crowd", 20, 10)
    assert seen["failed"] == 0, said
    assert seen["had_it"] == seen["waiters"] == 200, "no update of the file was lost"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_long_history(memory_folder):
    seen, said = ran(memory_folder, "history", 8, 10_000, 2, 4000)
    check_history(seen, said, 8, 10_000)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_crowd_of_processes(memory_folder):
    seen, said = ran(memory_folder, "crowd", 200, 1)
    assert seen["failed"] == 0, said
    assert seen["had_it"] == 200
