"""Attacks on the audit, and on the log behind it. Each class begins with a control: the same scene, unharmed."""

import json

import msgspec
import pytest

from callslip.audit.entry import GENESIS, read, write
from callslip.audit.lines import readable
from callslip.core import canon
from callslip.core.payload import inline
from callslip.testing.log_builder import LogBuilder

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("OBSV-01")]


@pytest.fixture
async def told(scene, paid):
    """Two sessions, told and anchored after 8 of 10 entries."""
    log, other = paid(), paid("other")
    await scene.log(log, other)
    await scene.catch_up(every=8)
    await scene.log(log.step("erase", step="1.2").dispatch(tool="erase").settle())
    await scene.catch_up(every=8)
    return scene


class TestTheBook:
    async def test_control(self, told):
        report = await told.verify()
        assert (report.problems, report.notices) == ([], [])
        assert (report.entries, report.anchored, report.unanchored, report.anchors) == (10, 8, 2, 1)
        assert (report.sessions, report.anchored_at) == (2, told.clock.now())
        assert report.digest == list(readable(told.path))[-1].digest.hex()
        assert (await told.verify(anchored=False)).unanchored == 10

    async def test_an_entry_edited(self, told):
        told.write_lines([line.replace(b'"tool":"pay"', b'"tool":"get"') for line in told.lines()])
        report = await told.verify()
        assert {problem.kind for problem in report.problems} == {"chain", "altered", "anchor"}
        assert "entry 3 is not what was written" in report.problems[0].message
        named = [problem.message for problem in report.problems if problem.kind == "altered"]
        assert "entry 3 does not say what record 7 of session 's' says (tool)" in named

    async def test_arguments_edited(self, told):
        lines = told.lines()
        lines[2] = lines[2].replace(b'{"n":0}', b'{"n":9}')
        told.write_lines(lines)
        (problem,) = (await told.verify()).problems
        assert (problem.kind, problem.n) == ("altered", 3)
        assert "detail of entry 3 is not what was written" in problem.message

    async def test_the_last_entry_edited_before_anybody_anchored_it(self, told):
        *before, last = told.lines()
        told.write_lines([*before, last.replace(b'"effect":"done"', b'"effect":"none"')])
        told.forget_index()
        assert await told.problems() == ["altered"]

    async def test_an_entry_taken_out(self, told):
        lines = told.lines()
        del lines[2]
        told.write_lines(lines)
        report = await told.verify()
        assert "entry 3 is missing" in [problem.message for problem in report.problems]
        gap = next(problem for problem in report.problems if problem.kind == "gap")
        assert (gap.session, gap.positions) == ("s", (7,))
        assert gap.message == "session 's' has no entry for record 7"

    async def test_an_entry_taken_out_and_the_rest_chained_anew(self, told):
        told.rewrite(
            lambda entry, detail: None if entry.kind == "tool_dispatch" and entry.seq == 7 else (entry, detail)
        )
        kinds = await told.problems()
        assert "gap" in kinds, "the log has it"
        assert "anchor" in kinds, "and the anchor knows another head"
        assert await told.problems(anchored=False) == ["gap", "gap"]

    async def test_the_tail_cut(self, told):
        told.write_lines(told.lines()[:-3])
        report = await told.verify()
        assert "cut" in [problem.kind for problem in report.problems]
        assert "the index beside it knows 10 entries, and 7 are there" in report.problems[0].message + str(report)
        told.forget_index()
        report = await told.verify()
        assert [problem.kind for problem in report.problems] == ["cut"], "the anchor still knows of 8"
        assert "has the head of 8 entries, and 7 are there" in report.problems[0].message

    async def test_the_tail_cut_after_the_last_anchor(self, told):
        told.write_lines(told.lines()[:-1])
        told.forget_index()
        report = await told.verify()
        assert report.problems == []
        assert report.notices == ["Session 's' is not in the audit yet from record 13 on."]
        assert report.unanchored == 1

    async def test_the_whole_book_rewritten_with_a_chain_that_is_right(self, told):
        def lie(entry, detail):
            if entry.tool == "pay" and entry.kind == "tool_dispatch":
                return entry, detail.replace(b'"n":0', b'"n":7')
            return entry, detail

        told.rewrite(lie)
        kinds = await told.problems()
        assert kinds.count("anchor") == 1
        assert kinds.count("altered") == 2, "and the log says something else"

    async def test_book_and_log_rewritten_alike(self, told):
        """Only what was kept elsewhere can tell."""
        told.rechain_log(lambda seq, text: text.replace(b'"tool":"pay"', b'"tool":"get"'))
        told.path.unlink()
        told.forget_index()
        await told.catch_up()
        assert "get" in [entry.tool for entry in told.entries]
        report = await told.verify(anchored=False)
        assert (report.problems, report.unanchored) == ([], 10), "control: without the anchor nothing is seen"
        assert await told.problems() == ["anchor"]

    async def test_an_entry_put_in(self, told):
        told.rewrite(lambda entry, detail: (entry, detail))
        *_, last = readable(told.path)
        forged = msgspec.structs.replace(last.line.entry, seq=12, kind="tool_dispatch", digest="0" * 64)
        line, _ = write(forged, b"", n=11, prev=last.digest)
        told.write_lines([*told.lines(), line])
        kinds = await told.problems()
        assert "double" in kinds
        assert "log" in kinds

    async def test_an_entry_of_a_record_that_tells_nothing_and_of_a_session_that_never_was(self, told):
        *_, last = readable(told.path)
        digest, lines = last.digest, told.lines()
        for n, changes in ((11, {"seq": 4}), (12, {"session": "ghost"}), (13, {"seq": 99})):
            entry = msgspec.structs.replace(last.line.entry, detail_sha256="", detail_size=0, **changes)
            line, digest = write(entry, b"", n=n, prev=digest)
            lines.append(line)
        told.write_lines(lines)
        messages = [problem.message for problem in (await told.verify()).problems]
        assert messages == [
            "entry 11 tells of record 4 of session 's', which is nothing to tell of",
            "1 entry is about session 'ghost', which the log does not have",
            "the audit tells of record 99 of session 's', and its log ends at record 13: it was cut, or put back",
        ]

    async def test_two_entries_exchanged(self, told):
        lines = told.lines()
        lines[3], lines[4] = lines[4], lines[3]
        told.write_lines(lines)
        assert await told.problems() == ["cut", "cut", "cut"]

    async def test_a_detail_taken_away_that_nobody_erased(self, told):
        lines = told.lines()
        size = read(lines[2]).line.entry.detail_size
        lines[2] = lines[2][: -size - 1] + b"null" + b" " * (size - 4) + b"}"
        told.write_lines(lines)
        (problem,) = (await told.verify()).problems
        assert problem.message == "the detail of entry 3 was taken away, and the log does not say so"

    async def test_rubbish_in_the_middle_and_half_a_line_at_the_end(self, told):
        lines = told.lines()
        lines[4] = b"rubbish"
        told.write_lines(lines)
        with told.path.open("ab") as file:
            file.write(b'{"n":11')
        report = await told.verify()
        assert "entry 5 can't be read" in [problem.message for problem in report.problems]
        assert "half written" in report.notices[0]

    async def test_no_book_at_all(self, told):
        told.path.unlink()
        assert "cut" in await told.problems()
        told.forget_index()
        told.anchor_path.unlink()
        assert await told.problems() == ["anchor", "cut"], "the folder itself knows that heads were kept"
        (told.audit / "anchors.jsonl").unlink()
        report = await told.verify()
        assert (report.problems, report.entries) == ([], 0)
        assert len(report.notices) == 2


class TestTheLog:
    async def test_control(self, told):
        assert (await told.verify()).ok

    async def test_a_record_altered_with_the_chain_made_right(self, told):
        told.rechain_log(lambda seq, text: text.replace(b'"n":0', b'"n":9') if seq == 7 else text)
        problems = (await told.verify()).problems
        assert {problem.kind for problem in problems} == {"log"}
        first = problems[0]
        assert (first.n, first.session, first.positions) == (3, "s", (7,))
        assert "record 7 of session 's' is not the one that entry 3 was written for" in first.message

    async def test_a_record_altered_in_its_bytes_alone(self, told):
        told.sql("update records set text = cast(replace(text, 'erase', 'erasE') as blob) where no = 1 and seq = 11")
        (problem,) = (await told.verify()).problems
        assert (problem.kind, problem.positions) == ("log", (11,))

    async def test_records_cut_off(self, told):
        told.sql("delete from records where no = 1 and seq > 6")
        digest = told.sql("select digest from records where no = 1 and seq = 6")[0][0]
        told.sql("update sessions set seq = 6, digest = ? where no = 1", digest)
        (problem,) = (await told.verify()).problems
        assert (problem.kind, problem.positions) == ("log", (7, 8, 12, 13))

    async def test_a_session_taken_out(self, told):
        told.sql("delete from records where no = 2")
        told.sql("delete from sessions where no = 2")
        (problem,) = (await told.verify()).problems
        assert problem.message == "4 entries are about session 'other', which the log does not have"


class TestAnchors:
    async def test_control(self, told):
        assert (await told.verify()).anchors == 1

    async def test_one_that_names_another_head(self, told):
        told.anchor_path.write_text(json.dumps({"at": 1, "count": 8, "digest": "0" * 64}) + "\n")
        report = await told.verify()
        assert [problem.kind for problem in report.problems] == ["anchor"]
        assert (report.anchored, report.unanchored) == (0, 10)

    async def test_one_that_is_none(self, told):
        with told.anchor_path.open("a") as file:
            file.write("oops\n")
        (problem,) = (await told.verify()).problems
        assert "a line that is no anchor" in problem.message

    async def test_a_file_that_is_gone(self, told):
        told.anchor_path.unlink()
        report = await told.verify()
        assert [problem.message for problem in report.problems] == [
            f"{told.anchor_path} is not there, though a head was kept in it"
        ]
        assert report.unanchored == 10

    async def test_a_file_that_lost_some_of_its_heads_is_noticed_where_they_no_longer_fit(self, told):
        told.anchor_path.write_text("")
        assert (await told.verify()).ok
        told.rewrite(lambda entry, detail: None if entry.seq == 3 else (entry, detail))
        assert "anchor" in await told.problems(), "the receipts beside the book"

    async def test_a_file_that_cant_be_read(self, told):
        told.anchor_path.unlink()
        told.anchor_path.mkdir()
        (problem,) = (await told.verify()).problems
        assert "can't be read" in problem.message

    async def test_of_nothing_at_all(self, told):
        line = json.dumps({"at": 1, "count": 0, "digest": GENESIS.hex()})
        told.anchor_path.write_text(line + "\n")
        report = await told.verify()
        assert (report.ok, report.unanchored) == (True, 10)


async def test_what_is_not_told_yet_is_no_gap(scene, paid):
    log = paid()
    await scene.log(log)
    await scene.catch_up()
    await scene.log(log.step("t", step="1.2").dispatch(), paid("later"))
    report = await scene.verify()
    assert report.problems == []
    assert report.notices == [
        "Session 'later' is not in the audit yet from record 1 on.",
        "Session 's' is not in the audit yet from record 12 on.",
    ]


async def test_a_gap_at_the_end_where_the_index_says_it_was_told(scene, paid):
    await scene.log(paid())
    await scene.catch_up()
    scene.rewrite(lambda entry, detail: None if entry.seq == 8 else (entry, detail), keep_index=True)
    report = await scene.verify()
    assert ("gap", (8,)) in [(problem.kind, problem.positions) for problem in report.problems]


async def test_what_stands_in_place_of_a_secret_may_be_no_lie(scene):
    """What stands around the mark must still be what the log says."""
    text = canon.canonical({"to": "account 1234", "cents": 5})
    await scene.log(LogBuilder().user().step("t").dispatch(arguments=inline(text), arguments_digest=canon.digest(text)))
    await scene.catch_up()

    def mark(value):
        return lambda entry, detail: (entry, canon.canonical({"arguments": value}) if detail else b"")

    scene.rewrite(mark({"to": "account [redacted]", "cents": 5}))
    assert await scene.problems() == []
    for lie in ({"to": "office [redacted]", "cents": 5}, {"to": "account [redacted]", "cents": 6}, {"to": "x"}):
        scene.rewrite(mark(lie))
        assert await scene.problems() == ["altered"]
