"""kill -9 at every boundary of calls that are made for one version of what they change (PARA-02)."""

from pathlib import Path

import pytest

from callslip.testing.crash import Harness

TARGET = Path(__file__).parent / "programs" / "versioned.py"


@pytest.mark.requirement("PARA-02")
@pytest.mark.timeout(300)
def test_each_version_is_changed_once_and_a_repeat_keeps_its_own(memory_folder):
    with Harness(TARGET, "scenario", memory_folder, workers=2) as harness:
        report = harness.check(["idempotent", "never"], each=1, random=10, seed=6)
    assert report.faults == []
    assert report.kills >= 20
    assert {"settle.after", "dispatch.before", "dispatch.after", "effect.sent"} <= set(report.boundaries)
