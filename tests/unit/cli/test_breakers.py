"""``callslip breakers``, while other processes drive sessions."""

import json

import pytest

from callslip.breakers.shared import SharedBreakers
from callslip.clocks.system import SystemClock
from callslip.core.breaker import BreakerRules, Heard
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.breakers import Barred, Pass

pytestmark = pytest.mark.requirement("RESI-04")


@pytest.fixture
def worker(project):
    """The breakers as a worker has them that uses the project's state folder meanwhile."""
    project.configure('app = "app.py:rt"\nstate = "state"\n')
    assert project("run", "hello", "--session", "s").exit_code == 0
    state = project.folder / "state"
    owners = OwnerLocks(state / "owners")
    breakers = SharedBreakers(state / "breakers.db", owners, BreakerRules(), SystemClock().monotonic)
    yield breakers
    breakers.close()
    owners.close()


def fail(breakers, key, times=10):
    for _ in range(times):
        way = breakers.enter(key, 60)
        assert isinstance(way, Pass)
        breakers.leave(way, Heard.FAILURE)


def test_there_is_nothing_to_list(project, worker):
    done = project("breakers")
    assert (done.exit_code, done.stdout) == (0, "No tool is left alone, and none has failed lately.\n")
    worker.leave(worker.enter("fine", 60), Heard.SUCCESS)
    worker.close()
    assert project("breakers").stdout == done.stdout


def test_one_that_does_well_is_only_listed_among_all(project, worker):
    none = "No tool is left alone, and none has failed or succeeded lately.\n"
    assert project("breakers", "--all").stdout == none
    fail(worker, "pay", 2)
    worker.leave(worker.enter("fine", 60), Heard.SUCCESS)
    worker.close()
    listed, every = (json.loads(project("breakers", *more, "--json").stdout)["breakers"] for more in ((), ("--all",)))
    assert [one["key"] for one in listed] == ["pay"]
    assert [one["key"] for one in every] == ["fine", "pay"]
    lines = project("breakers", "--all").stdout.splitlines()
    assert lines[1].split() == ["fine", "closed", "0", "of", "1"]
    assert "fine" not in project("breakers").stdout
    assert "doesn't go with reset" in project("breakers", "reset", "--all", code=2).stderr


def test_they_are_listed_with_what_people_need(project, worker):
    fail(worker, "fetch@one.example")
    fail(worker, "pay", 2)
    lines = project("breakers").stdout.splitlines()
    assert lines[0].split() == ["BREAKER", "STATE", "FAILED", "OPEN", "FOR", "TRIED", "WHY"]
    assert lines[1].startswith("fetch@one.example  open    10 of 10")
    assert lines[1].endswith("10 of its last 10 calls failed")
    assert lines[2].split() == ["pay", "closed", "2", "of", "2"]
    assert "breakers reset fetch@one.example" in lines[3]
    listed = json.loads(project("breakers", "--json").stdout)["breakers"]
    assert [(one["key"], one["phase"], one["bad"]) for one in listed] == [
        ("fetch@one.example", "open", 10),
        ("pay", "closed", 2),
    ]
    assert 0 < listed[0]["again_in"] <= 30


def test_a_reset_is_seen_by_whoever_works(project, worker):
    fail(worker, "fetch")
    fail(worker, "look")
    assert isinstance(worker.enter("fetch", 60), Barred)
    done = project("breakers", "reset", "fetch")
    assert (done.exit_code, done.stdout) == (0, "✓ fetch is called again.\n")
    assert worker.enter("fetch", 60) == Pass("fetch")
    assert isinstance(worker.enter("look", 60), Barred)
    assert json.loads(project("breakers", "reset", "--json").stdout)["reset"] == ["look"]
    assert worker.enter("look", 60) == Pass("look")


def test_of_one_that_is_not_there_it_says_so(project, worker):
    done = project("breakers", "reset", "nobody", code=2)
    assert "There is no breaker 'nobody'" in done.stderr


def test_a_target_cant_steer_the_terminal(project, worker):
    fail(worker, "fetch@\x1b[31mred")
    for arguments in (("breakers",), ("breakers", "reset")):
        assert "\x1b[31m" not in project(*arguments).stdout


def test_where_there_are_none_it_says_why(project):
    project.configure('app = "app.py:rt"\nstate = "state"\n[breakers]\non = false\n')
    done = project("breakers", code=2)
    assert "`on` in [breakers] is false" in done.stderr
