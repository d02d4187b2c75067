"""What a test leaves is found, whatever it is; a check that finds nothing proves nothing before it has found some."""

import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from callslip.testing.nothing_left import MARK, NothingLeft

pytestmark = pytest.mark.requirement("RESI-03")


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """A test within the test begins."""

    def begun():
        made = NothingLeft(tmp_path)
        monkeypatch.setenv(MARK, made.mark)
        return made

    return begun


def test_nothing_is_nothing(begin):
    assert begin().left() == []


def test_a_thread(begin):
    end = threading.Event()
    made = begin()
    thread = threading.Thread(target=end.wait, name="lasting")
    thread.start()
    try:
        assert made.left() == ["the thread lasting"]
    finally:
        end.set()
        thread.join()
    assert made.left() == []


def test_a_process_and_one_that_nobody_waited_for(begin):
    made = begin()
    with subprocess.Popen(["sleep", "600"]) as process:
        assert made.left() == [f"the process {process.pid}: sleep 600"]
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert made.left() == [f"the process {process.pid}: ended, and not waited for"]
    assert made.left() == []


def test_a_process_that_has_lost_its_parents(begin):
    made = begin()
    number = int(subprocess.check_output(["sh", "-c", "setsid sleep 600 >/dev/null & echo $!"]))
    try:
        while made.left() == [f"the process {number}: sh -c setsid sleep 600 >/dev/null & echo $!"]:
            os.sched_yield()  # not yet what it is to be
        assert made.left() == [f"the process {number}: sleep 600"]
    finally:
        os.kill(number, 9)
    while made.left():
        os.sched_yield()


def test_a_child_of_a_wider_scope_is_not_the_tests(begin):
    with subprocess.Popen(["sleep", "600"]) as process:
        made = begin()
        assert made.left() == []
        with subprocess.Popen(["sleep", "601"]) as another:
            assert made.left() == [f"the process {another.pid}: sleep 601"]
            another.kill()
        process.kill()


def test_a_file_that_is_open(begin, tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere") / "log"
    made = begin()
    with path.open("w"):
        assert made.left() == [f"the open file {path}"]
    assert made.left() == []


def test_a_temporary_file(begin, tmp_path):
    (tmp_path / "before").touch()
    made = begin()
    (tmp_path / "after").touch()
    assert made.left() == ["the temporary file after"]


def test_temporary_files_are_made_where_they_are_looked_for(nothing_left):
    assert Path(tempfile.gettempdir()) == nothing_left.temporary
    assert subprocess.check_output(["sh", "-c", "echo $TMPDIR"], text=True).strip() == str(nothing_left.temporary)


def test_what_ends_a_moment_later_is_waited_for(begin):
    made, looks = begin(), [[], ["one more"], ["two more"]]
    made.also(looks.pop)
    made.check()
    assert looks == []


def test_what_does_not_end_fails_the_test(begin):
    made = begin()
    made.also(lambda: ["a lease"])
    with pytest.raises(pytest.fail.Exception, match="Something is left of this test: a lease"):
        made.check(patience=0.0)
