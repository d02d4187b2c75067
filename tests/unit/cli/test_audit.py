"""``callslip audit``."""

import asyncio
import inspect
import itertools
import json
import re

import pytest

from callslip.audit import telling
from callslip.audit.anchors import Anchors, FilePlace
from callslip.audit.book import Book
from callslip.audit.entry import READ
from callslip.audit.follow import Follower
from callslip.blobs.files import FileBlobs
from callslip.cli import audit_words, look
from callslip.clocks.system import SystemClock
from callslip.ledgers.sqlite import SqliteLedger
from callslip.runtime.redact import Redactor

pytestmark = pytest.mark.requirement("OBSV-01")


@pytest.fixture
def told(project):
    """A session with a payment, followed and anchored."""
    heads = project.folder / "heads"
    project.configure(f'app = "app.py:rt"\nstate = "state"\n\n[audit]\nanchor = "{heads}"\n')
    project("run", 'call pay {"amount": 12}\ncall erase_all', "--session", "inv-17", code=None)
    asyncio.run(follow(project, heads, every=4))
    return project


async def follow(project, heads, every):
    ledger = SqliteLedger(project.state / "ledger.db")
    book = Book(project.state / "audit")
    clock = SystemClock()
    anchors = Anchors(book, FilePlace(heads), clock, every=every)
    follower = Follower(ledger, FileBlobs(project.state / "blobs"), book, Redactor(), clock, anchors=anchors)
    await follower.catch_up()
    assert follower.failure() == ""
    follower.close()
    await ledger.aclose()


def test_nothing_yet(project):
    for words in (("tail",), ("query",), ("verify",)):
        assert "no audit yet" in project("audit", *words, code=2).stderr


def test_who_what_when_why(told):
    shown = told("audit", "tail").stdout
    lines = shown.splitlines()
    assert lines[0].split()[:4] == ["WHEN", "SESSION", "WHO", "WHAT"]
    (paid,) = [line for line in lines if "dispatched pay" in line]
    assert '{"amount": 12}' in paid
    assert "inv-17" in paid
    (settled,) = [line for line in lines if "settled pay" in line]
    assert "success; effect done" in settled
    one = next(line for line in told.lines("audit", "tail", "-n", "50") if line["kind"] == "tool_dispatch")
    assert one["detail"] == {"arguments": {"amount": 12}}
    assert (one["tool"], one["session"]) == ("pay", "inv-17")


def test_the_latest_only(told):
    everything = told.lines("audit", "tail", "-n", "100")
    assert [one["n"] for one in everything] == list(range(1, len(everything) + 1))
    assert told.lines("audit", "tail", "-n", "2") == everything[-2:]


def test_queries(told):
    def kinds(*words):
        return [one["kind"] for one in told.lines("audit", "query", *words)]

    everything = kinds()
    assert kinds("--tool", "pay") == ["tool_dispatch", "function_response"]
    assert kinds("--effect", "done") == ["function_response"]
    call = told.lines("audit", "query", "--tool", "pay")[0]["call"]
    assert kinds("--call", call) == ["tool_dispatch", "function_response"]
    assert kinds("--session", "inv-17") == everything
    assert kinds("--since", "1h") == everything
    assert kinds("--until", "1h") == []
    assert kinds("--since", "2999-01-01T10:00+02:00") == []
    assert kinds("--since", "2020-01-01", "--until", "2020-01-01T10:00") == []
    requester = told.lines("audit", "query", "--tool", "pay")[0]["requester"]
    assert kinds("--actor", requester, "--kind", "tool_dispatch") == ["tool_dispatch"]
    assert "No entry is like that" in told("audit", "query", "--tool", "none").stdout
    assert "is no time" in told("audit", "query", "--since", "soon", code=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--session", "nope"), "There is no session 'nope'"),
        (("--kind", "nope"), "'tool_dispatch'"),
        (("--status", "nope"), "'invalid_arguments'"),
        (("--effect", "nope"), "'unknown'"),
    ],
)
def test_what_there_can_be_no_entry_of_is_refused(told, words, said):
    result = told("audit", "query", *words, code=2)
    assert "nope" in result.stderr
    assert said in result.stderr
    assert result.stdout == ""


def test_a_session_that_nothing_is_told_of_yet_is_no_mistake(told):
    told("run", "hello", "--session", "later")
    (told.state / "audit" / "book.jsonl").write_text("")
    assert "No entry is like that" in told("audit", "query", "--session", "later").stdout


def test_all_kinds_and_statuses_are_known():
    silent = {telling._silent, telling._run_started, telling._model_requested, telling._function_call}
    silent.add(telling._wait_opened)
    told = {event.__struct_config__.tag for event, function in telling._TELL.items() if function not in silent}
    assert set(audit_words.KINDS) == told | {READ}
    written = set(re.findall(r'status="([^"]+)"', inspect.getsource(telling)))
    assert written
    assert written <= set(audit_words.STATUSES)


def test_a_narrow_terminal_gets_all_of_it_in_several_lines(told, monkeypatch):
    monkeypatch.setattr(look, "columns", lambda: 60)
    lines = told("audit", "tail").stdout.splitlines()
    assert "WHEN" not in lines[0]
    at = next(place for place, line in enumerate(lines) if line.endswith("dispatched pay"))
    assert "  inv-17  " in lines[at]
    under = list(itertools.takewhile(lambda line: line.startswith("    "), lines[at + 1 :]))
    assert under
    assert all(len(line) <= 60 for line in under)
    assert '{"amount": 12}' in " ".join(line.strip() for line in under)
    monkeypatch.setattr(look, "columns", lambda: 120)
    assert "WHEN" in told("audit", "tail").stdout.splitlines()[0]
    monkeypatch.setattr(look, "columns", lambda: None)
    assert "…" not in told("audit", "tail").stdout
    assert '{"amount": 12}' in told("audit", "tail").stdout


def test_what_a_verification_says_is_wrapped(told, monkeypatch):
    told.configure('app = "app.py:rt"\n')
    monkeypatch.setattr(look, "columns", lambda: 60)
    lines = told("audit", "verify").stdout.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("  ! Nothing of it is anchored"))
    assert lines[at + 1].startswith("    ")
    assert all(len(line) <= 60 for line in lines[at:])


def test_what_is_wrong_is_named_and_the_exit_code_says_so(told):
    result = told("audit", "verify")
    assert "✓ audit" in result.stdout
    report = told.json("audit", "verify")
    assert (report["ok"], report["problems"]) == (True, [])
    path = told.state / "audit" / "book.jsonl"
    good = path.read_bytes()
    path.write_bytes(good.replace(b'"amount":12', b'"amount":99'))
    assert "altered: the detail of entry" in told("audit", "verify", code=5).stdout
    lines = good.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b"tool_dispatch" in line)
    path.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
    result = told("audit", "verify", code=5)
    assert "session 'inv-17' has no entry for record" in result.stdout
    gap = next(one for one in told.json("audit", "verify", code=5)["problems"] if one["kind"] == "gap")
    assert (gap["session"], len(gap["positions"])) == ("inv-17", 1)
    path.write_bytes(b"".join(lines[:-2]))
    assert "was cut" in told("audit", "verify", code=5).stdout


def test_the_tail_that_is_not_anchored_is_said_to_be(told):
    count = len(told.lines("audit", "tail", "-n", "100"))
    heads = (told.folder / "heads").read_text().splitlines()
    assert [json.loads(line)["count"] for line in heads] == [count]
    assert "All of it is anchored" in told("audit", "verify").stdout
    told("send", "inv-17", "and now?")
    asyncio.run(follow(told, told.folder / "heads", every=100))
    shown = told("audit", "verify").stdout
    assert f"The last 1 entries ({count + 1} to {count + 1}) are not anchored" in shown
    assert "callslip audit anchor" in shown
    assert told.json("audit", "verify")["unanchored"] == 1
    made = told.json("audit", "anchor")
    assert made["count"] == count + 1
    assert told.json("audit", "verify")["unanchored"] == 0


def test_heads_that_were_kept_in_other_ways(told, tmp_path):
    told.configure('app = "app.py:rt"\n')
    (told.folder / "heads").rename(tmp_path / "copy")
    shown = told("audit", "verify").stdout
    assert "Nothing of it is anchored: no place for its heads is named" in shown
    assert "All of it is anchored" in told("audit", "verify", "--anchors", str(tmp_path / "copy")).stdout
    (tmp_path / "copy").write_text('{"at":1,"count":1,"digest":"00"}\n')
    assert "anchor: the first 1 entries" in told("audit", "verify", "--anchors", str(tmp_path / "copy"), code=5).stdout
    assert "No place for anchors" in told("audit", "anchor", code=2).stderr


def test_looking_writes_nothing(told):
    def state():
        return {path: path.stat().st_mtime_ns for path in (told.state / "audit").iterdir() if "db-" not in path.name}

    before = state()
    told("audit", "tail")
    told("audit", "verify")
    assert state() == before


def test_help_and_shared_options_in_any_place(told):
    assert "tail" in told("audit", "--help").stdout
    assert told("audit", "--json", "tail").stdout == told("audit", "tail", "--json").stdout
    assert told("--json", "audit", "tail").stdout == told("audit", "tail", "--json").stdout
