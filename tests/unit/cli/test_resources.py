"""``callslip resources``: who holds what, since when, and what a process that is gone has left behind."""

import json

import pytest

from callslip.authorities.shared import SharedAuthority
from callslip.ports.authority import Holder, Standing

pytestmark = [pytest.mark.requirement("PARA-03")]

ONE = Holder(session="s", call_id="call_1", tool="edit", owner="own_1", process=4242)


@pytest.fixture
def shown(project, monkeypatch):
    """What the command says of these."""
    project.configure('app = "app.py:rt"\nstate = "state"\n')
    assert project("run", "hello", "--session", "s").exit_code == 0

    def show(*standing, as_json=False):
        monkeypatch.setattr(SharedAuthority, "standing", lambda self: list(standing))
        said = project("resources", *(["--json"] if as_json else []))
        return json.loads(said.stdout)["resources"] if as_json else said.stdout

    return show


def standing(**changed):
    facts = {"holder": ONE, "claims": ("file:a",), "granted": True, "seconds": 90.0, "held": 5.0}
    return Standing(**(facts | changed))


def test_what_is_held_counts_from_when_it_was_granted(shown):
    heading, held, waits = shown(standing(), standing(granted=False, held=None)).splitlines()
    assert heading.split()[-2:] == ["PROCESS", "FOR"]
    assert held.split()[0] == "holds"
    assert held.endswith("4242     5.0 s")
    assert waits.split()[0] == "waits"
    assert waits.endswith("4242     1 min")


def test_a_process_that_is_gone_and_its_child_that_holds(shown):
    said = shown(standing(gone=True))
    assert "4242 is gone, its child holds" in said
    assert "wait for it, or end it" in " ".join(said.split())
    assert "gone" not in shown(standing())


def test_the_same_in_json(shown):
    first, second = shown(standing(gone=True), standing(granted=False, held=None), as_json=True)
    assert (first["process_gone"], first["seconds"], first["held_seconds"]) == (True, 90.0, 5.0)
    assert (second["process_gone"], second["held_seconds"]) == (False, None)
