"""After a kill: the process of a tool ends with all it started, and a look for what is left finds what there is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callslip.authorities.table import Table
from callslip.core.claim import Claim, Kind
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.authority import Holder
from callslip.ports.ledger import Owner
from callslip.testing import crash_target
from callslip.testing.crash import Case, Harness, Kill, Report
from callslip.testing.crash_leftovers import leftovers

pytestmark = pytest.mark.requirement("RESI-03")

HAS_LEFT = """
import subprocess
from pathlib import Path
from callslip.testing import crash_worker
crash_worker._PATIENCE = 0.0
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
while b"600" not in Path("/proc", str(left.pid), "cmdline").read_bytes():
    pass
print(crash_worker._left() == [f"{left.pid}: sleep 600 "], crash_worker._left() == [])
"""


@pytest.mark.timeout(300)
def test_a_tool_in_a_process_of_its_own_leaves_nothing(memory_folder):
    """It has started one that has left its session, and the runtime is killed before, amid and after it."""
    kills = [Kill(at="dispatch.after"), Kill(at="settle.before"), Kill(at="settle.after", hit=2), Kill(after=0.2)]
    report = Report()
    with Harness(Path(crash_target.__file__), "scenario", memory_folder, workers=2) as harness:
        harness.run([Case(variant="elsewhere", kills=(kill,)) for kill in kills], report)
    assert report.faults == []
    assert report.kills >= 3


def test_a_process_that_went_on_is_found_and_ended():
    said = subprocess.check_output([sys.executable, "-c", HAS_LEFT], text=True)
    assert said.split() == ["True", "True"]


@pytest.fixture
def run_folder(tmp_path):
    for name in ("state/owners", "state/blobs/ab", "workspace/src", "temporary"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_temporary_files_are_found(run_folder):
    (run_folder / "state" / "ledger.db").touch()
    (run_folder / "workspace" / "src" / ".hidden").touch()
    assert leftovers(run_folder, 1) == []
    names = ["state/blobs/ab/.half", "workspace/src/.callslip-0a.tmp", "temporary/tmp123"]
    for name in names:
        (run_folder / name).touch()
    assert leftovers(run_folder, 1) == [f"the temporary file {name} is left" for name in names]


def test_claims_are_found(run_folder):
    """What the killed one held is free for whoever comes next; what the last one did not give back is a fault."""
    owners = OwnerLocks(run_folder / "state" / "owners")
    living = owners.me()
    table = Table(run_folder / "state" / "resources-0.db", {}, patience=10.0)
    try:
        for process, owner in ((1, Owner(id="own_1", host=living.host, boot=living.boot, process=1)), (2, living)):
            claim = Claim(text="a", kind=Kind.SLOT, shared=False, ids=("a",))
            table.enter(owner, Holder(session="s", call_id="c", tool="t", owner=owner.id, process=process), [claim])
        assert leftovers(run_folder, 2) == [
            "t still claims what its process has not given back",
            "t still claims something, and its process 2 has ended",
        ]
        owners.close()
        assert leftovers(run_folder, os.getpid()) == []
        assert table.line() == []
    finally:
        owners.close()
        table.close()
