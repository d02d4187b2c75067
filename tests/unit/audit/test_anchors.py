"""Heads of the audit, kept elsewhere."""

import json
import stat
import sys
from pathlib import Path

import pytest

from callslip.audit.anchors import Anchors, CommandPlace, FilePlace, place
from callslip.audit.book import Book
from callslip.audit.settings import AuditSettings
from callslip.errors import ConfigError, LedgerUnavailable, LogBroken

pytestmark = pytest.mark.anyio


class Away:
    """A place that can't be reached until somebody says so."""

    name = "away"

    def __init__(self):
        self.lines, self.reachable = [], False

    def put(self, line, fits):
        if not self.reachable:
            raise LedgerUnavailable("nobody answers")
        self.lines.append(line)


async def test_one_every_so_many_entries(scene, paid):
    follower = scene.follower(every=5)
    for number in range(4):
        await scene.log(paid(f"s{number}"))
        await follower.catch_up()
    assert [anchor.count for anchor in scene.anchors] == [8, 16]
    assert scene.anchors[0].at == scene.clock.now()
    assert stat.S_IMODE(scene.anchor_path.stat().st_mode) == 0o600
    assert follower.anchors.anchored() == 16


async def test_another_process_goes_on_counting(scene, paid):
    await scene.log(paid())
    await scene.catch_up(every=4)
    await scene.log(paid("b"))
    await scene.catch_up(every=5)
    assert [anchor.count for anchor in scene.anchors] == [4]
    await scene.log(paid("c"))
    await scene.catch_up(every=5)
    assert [anchor.count for anchor in scene.anchors] == [4, 12]


async def test_one_that_fails_stays_due_and_holds_up_nothing(scene, paid):
    away = Away()
    follower = scene.follower(every=1, place=away)
    await scene.log(paid())
    await follower.catch_up()
    assert (follower.failing_since(), follower.anchors.failure) == (None, "nobody answers")
    assert len(scene.entries) == 4
    away.reachable = True
    await follower.catch_up()
    assert away.lines == [], "not at once again"
    scene.clock.advance(6)
    await follower.catch_up()
    assert [json.loads(line)["count"] for line in away.lines] == [4]
    assert follower.anchors.failure == ""


async def test_it_is_tried_less_and_less_often(scene, paid):
    tried = []

    class Never(Away):
        def put(self, line, fits):
            tried.append(scene.clock.monotonic())
            raise LedgerUnavailable("no")

    follower = scene.follower(every=1, place=Never())
    await scene.log(paid())
    for _ in range(200):
        await follower.catch_up()
        scene.clock.advance(1)
    assert tried == [0, 5, 15, 35, 75, 155]


async def test_a_file_with_anchors_of_another_audit_takes_none_of_this(scene, paid):
    scene.anchor_path.write_text(json.dumps({"at": 1, "count": 2, "digest": "0" * 64}) + "\n")
    follower = scene.follower(every=1)
    await scene.log(paid())
    await follower.catch_up()
    assert "another audit" in follower.anchors.failure
    assert len(scene.anchors) == 1
    scene.anchor_path.write_text("what is this\n")
    scene.clock.advance(60)
    await follower.catch_up()
    assert "no anchor" in follower.anchors.failure


async def test_receipts_that_are_lost_do_no_harm(scene, paid):
    await scene.log(paid())
    await scene.catch_up(every=1)
    (scene.audit / "anchors.jsonl").unlink()
    await scene.log(paid("b"))
    await scene.catch_up(every=1)
    assert [anchor.count for anchor in scene.anchors] == [4, 8]
    assert (await scene.verify()).unanchored == 0


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="needs a shell")
async def test_a_command_is_given_the_line(scene, paid, tmp_path):
    kept = tmp_path / "kept"
    command = CommandPlace([sys.executable, "-c", f"import sys; open({str(kept)!r}, 'a').write(sys.stdin.read())"])
    follower = scene.follower(every=1, place=command)
    await scene.log(paid())
    await follower.catch_up()
    line = json.loads(kept.read_text())
    assert (line["count"], len(line["digest"])) == (4, 64)
    follower = scene.follower(every=1, place=CommandPlace([sys.executable, "-c", "raise SystemExit('no such bucket')"]))
    await scene.log(paid("b"))
    await follower.catch_up()
    assert "did not take the anchor (exit code 1): no such bucket" in follower.anchors.failure
    follower = scene.follower(every=1, place=CommandPlace([str(tmp_path / "nothing")]))
    await scene.log(paid("c"))
    await follower.catch_up()
    assert "could not be given" in follower.anchors.failure


async def test_a_pipe_that_nobody_reads_holds_up_nothing(scene, paid, tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    follower = scene.follower(every=1, place=FilePlace(tmp_path / "pipe"))
    await scene.log(paid())
    await follower.catch_up()
    assert "could not be written" in follower.anchors.failure


async def test_on_demand_and_without_a_place(scene, paid, tmp_path):
    await scene.log(paid())
    await scene.catch_up()
    book = Book(scene.audit)
    assert book.take()
    tip = book.ready()
    anchor = await Anchors(book, FilePlace(scene.anchor_path), scene.clock).put(tip)
    assert (anchor.count, anchor.digest) == (4, tip.digest.hex())
    assert scene.anchors == [anchor]
    with pytest.raises(ConfigError, match="No place for anchors"):
        await Anchors(book, None, scene.clock).put(tip)
    with pytest.raises(LedgerUnavailable):
        await Anchors(book, FilePlace(tmp_path / "no" / "folder"), scene.clock).put(tip)
    scene.anchor_path.write_text(json.dumps({"at": 1, "count": 9, "digest": "0" * 64}) + "\n")
    with pytest.raises(LogBroken):
        await Anchors(book, FilePlace(scene.anchor_path), scene.clock).put(tip)
    book.close()


def test_what_the_setting_means(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    assert place("", tmp_path, state) is None
    assert place("heads", tmp_path, state).name == str(tmp_path / "heads")
    assert place(("logger", "-t", "callslip"), tmp_path, state).name == "logger"
    (tmp_path / "link").symlink_to(state)
    for inside in ("state/heads", str(state / "a" / "heads"), "link/heads"):
        with pytest.raises(ConfigError, match="in the state folder"):
            place(inside, tmp_path, state)


def test_settings():
    assert (AuditSettings().anchor, AuditSettings().every, AuditSettings().patience) == ("", 100, 60.0)
    for wrong in ({"every": 0}, {"patience": -1.0}, {"anchor": ()}, {"anchor": ("",)}):
        with pytest.raises(ValueError, match=r"at least|not negative|is a file"):
            AuditSettings(**wrong)
