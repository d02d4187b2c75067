import asyncio
import sqlite3

import pytest

from callslip.application import Runtime
from callslip.core.event import draft, genesis, link
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.user_message import UserMessage
from callslip.errors import NotFound
from callslip.sessions import verify as module
from callslip.sessions.checkpoint import save_state
from callslip.sessions.verify import broken_links, verify


@pytest.fixture
def told(project):
    """A finished session, and what verify says of it."""
    project("run", 'call shout {"size": 9000}\ncall pay {"amount": 1}', "--session", "s")
    project("run", "and now?", "--session", "s")

    def problems(*words, code=5):
        report = project.json("verify", *words, code=code)
        assert report["ok"] == (code == 0)
        return [(one["kind"], one["seq"], one["message"]) for one in report["sessions"][0]["problems"]]

    return problems


def rechain(project, changed):
    """Write records anew from a position on, as somebody would who knows how the chain is made."""
    rows = project.sql("select seq, text from records order by seq")
    previous = genesis("s")
    for seq, written in rows:
        text = changed.get(seq, written)
        previous = link(previous, text)
        project.sql("update records set text = ?, digest = ? where seq = ?", text, previous, seq)
    project.sql("update sessions set digest = ?", previous)


@pytest.mark.requirement("LEDG-06")
def test_a_whole_log(project, told):
    assert told(code=0) == []
    result = project("verify", "--payloads")
    assert "1 payload checked" in result.stdout
    assert "what was written" in result.stdout
    report = project.json("verify", "s")["sessions"][0]
    assert (report["records"], report["payloads"]) == (project.json("sessions")["sessions"][0]["records"], 1)
    assert report["digest"] == project.json("show", "s")["digest"]


def test_no_sessions_and_unknown_ones(project):
    assert "no sessions" in project("verify").stdout
    assert "no session 'gone'" in project("verify", "gone", code=2).stderr


@pytest.mark.requirement("LEDG-06")
def test_altered_text_is_named(project, told):
    project.sql("update records set text = cast(replace(text, 'amount', 'amounT') as blob) where seq = 7")
    (problem,) = told()
    assert problem == ("chain", 7, "record 7 is not what was written: its text does not fit the chain")
    result = project("verify", code=5)
    assert "✗ s" in result.stdout
    assert "1 of 1 session can't be trusted" in result.stdout


def test_several_faults_are_all_named_the_first_one_first(project, told):
    project.sql("update records set text = cast(replace(text, 'root', 'toor') as blob) where seq = 3")
    project.sql("update records set text = cast('nonsense' as blob) where seq = 9")
    project.sql("update sessions set digest = zeroblob(32)")
    assert [(kind, seq) for kind, seq, _ in told()][:3] == [("chain", 3), ("chain", 9), ("unreadable", 9)]
    assert told()[-1][0] == "head"


def test_an_altered_digest_is_told_from_altered_text(project, told):
    project.sql("update records set digest = zeroblob(32) where seq = 5")
    assert [(kind, seq, "digest of record 5" in text) for kind, seq, text in told()] == [("chain", 5, True)]


def test_text_that_is_no_bytes_any_more(project, told):
    project.sql("update records set text = cast(text as text) where seq = 5")
    assert told()[0][:2] == ("chain", 5)


@pytest.mark.requirement("LEDG-06")
def test_missing_records(project, told):
    project.sql("delete from records where seq = 5")
    problems = told()
    assert problems[0] == ("gap", 5, "record 5 is missing")
    project.sql("delete from records where seq in (6, 7)")
    assert told()[0][2] == "records 5 to 7 are missing"


@pytest.mark.requirement("LEDG-06")
def test_a_log_that_was_cut(project, told):
    last = project.json("show", "s")["records"][-1]["seq"]
    project.sql("delete from records where seq > ?", last - 2)
    assert told() == [("head", last - 1, f"records {last - 1} to {last} are missing at the end: the log was cut")]


def test_a_head_that_lags_behind(project, told):
    last = project.json("show", "s")["records"][-1]["seq"]
    project.sql("update sessions set seq = seq - 1")
    assert told()[0][:2] == ("head", last)


def test_facts_that_cant_be_true_under_a_chain_that_fits(project, told):
    rows = dict(project.sql("select seq, text from records"))
    rechain(project, {8: rows[8].replace(b'"attempt":1', b'"attempt":4')})
    problems = told()
    assert problems[0][:2] == ("impossible", 8)
    assert "attempt 4" in problems[0][2]


def test_a_run_built_on_another_log(project, told):
    rows = dict(project.sql("select seq, text from records"))
    second = max(seq for seq, text in rows.items() if b'"type":"run_started"' in text)
    rechain(project, {3: rows[3].replace(b"amount", b"amounT")})
    assert told() == [
        ("chain", second, f"the run in record {second} was built on another log than the one that stands before it")
    ]


@pytest.mark.requirement("LEDG-06")
def test_a_newer_version(project, told):
    rows = dict(project.sql("select seq, text from records"))
    last = max(rows)
    rechain(project, {last: rows[last].replace(b'"v":1', b'"v":9')})
    assert told()[0][:2] == ("unreadable", last)


@pytest.mark.requirement("LEDG-05")
def test_payloads_gone_and_damaged(project, told):
    blob = next((project.state / "blobs").glob("*/*"))
    whole = blob.read_bytes()
    blob.unlink()
    assert "it is not there" in told()[0][2]
    assert "it is not there" in told("--payloads")[0][2]
    blob.write_bytes(b"garbage")
    blob.chmod(0o600)
    assert told(code=0) == []
    assert told("--payloads")[0][0] == "payload"
    blob.write_bytes(whole)
    assert told("--payloads", code=0) == []


def test_waits_beside_the_log(project, told):
    project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    assert told(code=0) == []
    project.sql("update waits set wait_id = 'wait_forged'")
    assert {text for kind, _, text in told() if kind == "waits"} >= {
        "wait wait_forged is listed, but not open by the log"
    }


def test_the_heads_other_marks(project, told):
    project.sql("update sessions set outsider_seq = 0")
    assert [kind for kind, _, _ in told()] == ["head"]


def test_a_checkpoint_that_tells_another_story(project, told):
    async def keep(**changes):
        async with Runtime(state=project.state) as runtime:
            state = await runtime.state("s")
            for name, value in changes.items():
                setattr(state, name, value)
            await save_state(runtime.parts, state)
            return state.segments

    asyncio.run(keep())
    assert told(code=0) == []
    asyncio.run(keep(turn=7))
    assert told() == [("checkpoint", None, told()[0][2])]
    assert "['turn']" in told()[0][2]
    asyncio.run(keep(turn=2, segments=("sha256:" + "0" * 64,)))
    assert told(code=0) == []  # a segment that is gone is made good from the log
    asyncio.run(keep(segments=(), items=[]))
    assert "['items']" in told()[0][2]
    asyncio.run(keep(queued=[], step=None))
    project("run", 'call pay {"amount": 1}', "--session", "s")  # believed by runs, so verify must not believe it
    assert told()[0][0] == "checkpoint"


def test_many_problems_are_counted(project, told):
    project.sql("update records set text = cast(text || ' ' as blob)")
    project("send", "s", "x", code=5)
    assert "more; --json lists them all" not in project("verify", code=5).stdout
    for _ in range(5):
        project("run", "more", "--session", "t")
    project.sql("update records set text = cast(text || ' ' as blob)")
    assert "more; --json lists them all" in project("verify", "t", code=5).stdout


@pytest.mark.parametrize("damage", ["head", "middle", "empty"])
def test_a_damaged_database_file_is_one_sentence(project, told, damage):
    path = project.state / "ledger.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    data = bytearray(path.read_bytes())
    if damage == "head":
        data[:100] = b"not a database" * 7 + b"xx"
    elif damage == "middle":
        data[4096:] = b"\xff" * (len(data) - 4096)
    else:
        data[:] = b"x" * 50
    path.write_bytes(data)
    result = project("verify", code=5)
    assert (result.stderr + result.stdout).count("damaged") == 1
    assert len(result.stderr.splitlines()) <= 1


# Without a command line


def test_pages_progress_and_a_session_that_is_written_meanwhile(monkeypatch):
    monkeypatch.setattr(module, "PAGE", 7)

    async def main():
        async with Runtime() as runtime:
            parts = runtime.parts
            me = parts.owners.me()
            await parts.ledger.claim("s", me, expected_epoch=0, at=1)
            events = [SessionStarted(requester="x"), RunStarted(owner="o", host="h", boot="b", process=1)]
            events += [UserMessage(text=str(n)) for n in range(39)]
            await parts.ledger.append("s", [draft(event, at=1, by="x", epoch=1, run="r") for event in events], epoch=1)
            seen = []

            def progress(done, whole):
                seen.append((done, whole))
                if len(seen) == 6:  # somebody writes while the last page is checked
                    last = draft(RunEnded(status="finished"), at=1, by="x", epoch=1, run="r")
                    asyncio.get_running_loop().create_task(parts.ledger.append("s", [last], epoch=1))

            report = await verify(parts, "s", progress=progress)
            assert report.ok, report.problems
            assert seen[:2] == [(7, 41), (14, 41)]
            assert report.records in {41, 42}
            with pytest.raises(NotFound):
                await verify(parts, "other")

    asyncio.run(main())


def test_a_ledger_that_gives_no_bytes_cant_be_verified():
    class Closed:
        async def heads(self, session=None):
            return [None]

    async def main():
        async with Runtime() as runtime:
            ledger, runtime.parts.ledger = runtime.parts.ledger, Closed()
            report = await verify(runtime.parts, "s")
            runtime.parts.ledger = ledger
            assert [problem.kind for problem in report.problems] == ["storage"]

    asyncio.run(main())


def test_the_chain_alone():
    rows, previous = [], genesis("s")
    for seq in range(1, 6):
        previous = link(previous, b"%d" % seq)
        rows.append((seq, previous, b"%d" % seq))
    assert broken_links(rows, 0, genesis("s")) == ([], previous)
    assert broken_links(rows[2:], 2, rows[1][1]) == ([], previous)
    assert broken_links(rows, 0, genesis("t"))[0] == [rows[0]]
    assert broken_links([rows[0], rows[4]], 0, genesis("s"))[0] == [range(2, 5)]
