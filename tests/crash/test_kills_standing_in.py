"""kill -9 at every boundary of a call whose tool fails and for which another one stands in (RESI-05)."""

from pathlib import Path

import pytest

from callslip.testing.crash import Harness

TARGET = Path(__file__).parent / "programs" / "standing_in.py"


@pytest.mark.requirement("RESI-05")
@pytest.mark.timeout(300)
def test_what_stands_in_has_its_effect_once(memory_folder):
    with Harness(TARGET, "scenario", memory_folder, workers=2) as harness:
        report = harness.check(["idempotent", "never"], each=2, random=10, seed=5)
    assert report.faults == []
    assert report.kills >= 20
    assert {"settle.after", "dispatch.before", "dispatch.after"} <= set(report.boundaries)
