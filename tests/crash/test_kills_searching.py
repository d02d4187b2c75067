"""kill -9 at every boundary of a turn that finds its tools: what was found stays found (DEFR-03)."""

from pathlib import Path

import pytest

from callslip.testing.crash import Harness

TARGET = Path(__file__).parent / "programs" / "searching.py"


@pytest.mark.requirement("DEFR-03")
@pytest.mark.timeout(300)
def test_what_was_found_outlives_its_process(memory_folder):
    with Harness(TARGET, "scenario", memory_folder, workers=2) as harness:
        report = harness.check(["idempotent", "never"], each=1, random=6, seed=6)
    assert report.faults == []
    assert report.kills >= 20
    assert {"settle.before", "settle.after", "reply.before", "dispatch.after"} <= set(report.boundaries)
