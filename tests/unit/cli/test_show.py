import re

import click
import msgspec
import pytest

from callslip.cli import look
from callslip.cli.live import LiveView
from callslip.cli.timeline import Timeline
from callslip.core.event import Record, Stored
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import Evidence, ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.instead import Fallback, Instead
from callslip.core.payload import inline
from callslip.core.principal import Proof
from callslip.core.result import Effect, Status
from callslip.core.version import Version
from callslip.core.wait import WaitKind
from callslip.runtime.live import Recorded


def test_each_record_is_a_line_in_the_order_of_the_log(project):
    project.configure('app = "app.py:rt"\nstate = "state"\n[policy]\ndangerous = "deny"\n')
    project("run", 'call find_thing {"name": "x"}\ncall erase_all', "--session", "s")
    lines = project("show", "s").stdout.splitlines()
    assert lines[0].startswith("s  finished  ")
    deeds = [line[44:55].strip() for line in lines[1:-2] if re.match(r" *\d+ ", line)]
    assert deeds == [
        "session", "run 1", "said", "asked", "replied", "proposed", "proposed", *deeds[7:10], "asked", "replied",
        "run ended",
    ]  # fmt: skip
    assert sorted(deeds[7:10]) == ["dispatched", "refused", "settled"]
    assert lines[-2] == "2 calls: 1 settled, 1 refused, 0 parked"
    assert re.fullmatch(r"used in all: 2 calls, [\d.,]+ seconds", lines[-1])


def test_a_narrow_terminal_gets_what_is_said_below(project, monkeypatch):
    project("run", 'call pay {"amount": 1}', "--session", "s")
    whole = project("show", "s").stdout
    monkeypatch.setattr(look, "columns", lambda: 80)
    lines = project("show", "s").stdout.splitlines()
    at = next(place for place, line in enumerate(lines) if line.endswith(" ▸ pay dispatched"))
    assert lines[at + 1].startswith("       attempt 1, risk write")
    assert all(line.startswith("       ") and len(line) <= 80 for line in lines[at + 1 : at + 3])
    assert any(re.fullmatch(r" +2  \S+  ▸ run 1", line) for line in lines)  # no column where there is no name
    monkeypatch.setattr(look, "columns", lambda: 109)
    assert any(line.endswith(" ▸ pay dispatched") for line in project("show", "s").stdout.splitlines())
    monkeypatch.setattr(look, "columns", lambda: 110)
    wide = project("show", "s").stdout
    assert re.search(r"▸ pay {18}dispatched attempt 1", wide)
    assert re.search(r"▸ pay {18}dispatched attempt 1", whole)


def test_a_call_that_there_is_not_is_named(project):
    project("run", 'call pay {"amount": 1}', "--session", "s")
    records = project.json("show", "s")["records"]
    call = next(one["record"]["event"]["call_id"] for one in records if "call_id" in one["record"]["event"])
    result = project("show", "s", "--payload", "nope", code=2)
    assert "Session 's' has no call 'nope'." in result.stderr
    assert call in result.stderr
    assert result.stdout == ""
    project("show", "s", "--payload", "nope", "--json", code=2)
    assert '"amount":1' in project("show", "s", "--payload", call).stdout
    project("run", "hello", "--session", "t")
    assert "It has none at all" in project("show", "t", "--payload", "nope", code=2).stderr
    project.sql("update records set text = cast(replace(text, 'amount', 'amounT') as blob) where seq = 7")
    assert "not what was written" in project("show", "s", "--payload", "nope", code=5).stderr


def test_payloads_are_shown_on_request_and_from_blobs(project):
    project("run", 'call shout {"size": 9000}', "--session", "s")
    assert "red" not in project("show", "s").stdout
    shown = project("show", "s", "--payloads").stdout
    assert '"size":9000' in shown
    assert re.search(r"result sha256:[0-9a-f]{64}  ", shown)
    next((project.state / "blobs").glob("*/*")).unlink()
    assert "it is not there" in project("show", "s", "--payloads").stdout


def test_json_gives_the_records_themselves(project):
    project("run", "hello", "--session", "s")
    shown = project.json("show", "s")
    assert set(shown) == {
        "session",
        "status",
        "records",
        "digest",
        "epoch",
        "woken",
        "updated_at",
        "owner",
        "waits",
        "spent",
    }
    assert [one["seq"] for one in shown["records"]] == list(range(1, len(shown["records"]) + 1))
    assert shown["records"][-1]["digest"] == shown["digest"]
    assert set(shown["records"][0]["record"]) == {"at", "by", "epoch", "event", "run", "v"}


def test_of_a_broken_log_it_shows_what_comes_before(project):
    project("run", 'call pay {"amount": 1}', "--session", "s")
    project.sql("update records set text = cast(replace(text, 'amount', 'amounT') as blob) where seq = 7")
    result = project("show", "s", code=5)
    assert re.findall(r"^ +(\d+) ", result.stdout, re.MULTILINE) == [str(n) for n in range(1, 7)]
    assert "Record 7 of session 's' is not what was written" in result.stderr
    shown = project.json("show", "s", code=5)
    assert len(shown["records"]) == 6
    assert (shown["error"]["code"], shown["error"]["seq"]) == ("log_broken", 7)


def test_nothing_there(project):
    assert "no session 'gone'" in project("show", "gone", code=2).stderr


def tell(*events, at=1_000_000):
    timeline = Timeline()
    lines = []
    for seq, event in enumerate(events, 1):
        record = Record(at=at + seq * 1000, by="own", epoch=1, event=event, run="run")
        lines.append(timeline.tell(Stored(seq=seq, digest=b"", record=record)))
    return lines


def dispatch(attempt=1):
    return ToolDispatch(
        call_id="c", attempt=attempt, nonce="n", tool="pay", tool_version="v", arguments=inline(b"{}"),
        arguments_digest="", idempotency_key="k", risk="write", recovery="never", rules=("risk.write",), deadline=0,
        quiet_ms=0, changed=("empty",), client_owned=True,
    )  # fmt: skip


PROPOSED = FunctionCall(call_id="c", step="1.1", position=0, tool="pay", arguments=inline(b"{}"))


def test_a_parked_call_its_verdict_and_a_late_outcome():
    lines = tell(
        PROPOSED,
        dispatch(),
        AttemptFailed(call_id="c", attempt=1, nonce="n", effect=Effect.UNKNOWN, code="interrupted"),
        CallParked(call_id="c", reason="nobody can tell", code="unknown_outcome"),
        WaitOpened(wait_id="w", kind=WaitKind.PARKED, reason="nobody can tell", call_id="c"),
        CallResolved(call_id="c", verdict="did_not_happen", reason="looked at the bank", actor="ada"),
        WaitClosed(wait_id="w", how="resolved", actor="ada"),
        LateOutcome(call_id="c", attempt=1, nonce="n", ok=True, result=inline(b"1")),
        LateOutcome(call_id="c", attempt=1, nonce="n", ok=False, internal="boom"),
        FunctionResponse(
            call_id="c", lane="settled", status=Status.SUCCESS, effect=Effect.DONE, resolved=6, truncated=True
        ),
    )
    assert {line.subject for line in lines} == {"pay"}
    details = [line.detail for line in lines]
    assert "1.0 s after its proposal" in details[1]
    assert "arguments changed (empty)" in details[1]
    assert "run by its client" in details[1]
    assert details[2] == "attempt 1 ended without an answer: interrupted, effect unknown, after 1.0 s"
    assert details[5] == "did not happen, by ada: looked at the bank, parked for 2.0 s"
    assert details[6] == "resolved by ada after 2.0 s, w"
    assert "succeeded" in details[7]
    assert "failed: boom" in details[8]
    assert details[9] == "success, effect done, cut for the model; by the verdict in record 6"


ASKED = ApprovalRequested(
    call_id="c", approval_id="appr_1", binding="b", tool="pay", tool_version="v", executor="x", arguments=inline(b"{}"),
    arguments_digest="", requester="ada", rules=("risk.dangerous", "tool.pay"), reason="so it is set", schema=inline(b"{}"),
)  # fmt: skip


def decided(word="approved", *, principal="bob", signature="", behalf="", **more):
    proof = Proof(principal=principal, signature=signature, on_behalf_of=behalf)
    return ApprovalDecided(call_id="c", approval_id="appr_1", binding="b", decision=word, proof=proof, **more)


@pytest.mark.requirement("PARA-02")
def test_the_version_that_is_asked_about_and_changed():
    version, new = Version(of="ticket:7", value=3), Version(of="ticket:8")
    asks, again, t1 = tell(
        msgspec.structs.replace(ASKED, version=version), msgspec.structs.replace(ASKED, version=new),
        msgspec.structs.replace(dispatch(), version=version),
    )  # fmt: skip
    assert asks.detail.endswith("tool.pay, changes version 3 of ticket:7")
    assert again.detail.endswith("tool.pay, changes ticket:8, which is not there yet")
    assert "changes version 3 of ticket:7, rules risk.write" in t1.detail


@pytest.mark.requirement("APPR-07")
def test_a_question_and_what_people_say_to_it():
    evidence = Evidence(target="file:x", before="1", after="2")
    lines = tell(
        PROPOSED,
        ASKED,
        msgspec.structs.replace(ASKED, rules=(), approvers=2, evidence=evidence, again=("file:x has changed since",)),
        decided(signature="s", via="cli"),
        decided(signature="s", behalf="ada", via="http", reason="looked"),
        decided(edited=inline(b'{"a":1}'), changes=("a: 2 → 1", "b: removed"), via="api", grant="grant_1"),
        decided("denied", reason="too much", via="cli"),
        ApprovalExpired(call_id="c", approval_id="appr_1"),
    )
    assert {line.subject for line in lines} == {"pay"}
    assert [(line.mark, line.deed, line.detail) for line in lines[1:]] == [
        ("wait", "asks", "appr_1, by risk.dangerous and tool.pay"),
        (
            "wait",
            "asks",
            "appr_1, so it is set, 2 people must approve, target file:x, again: file:x has changed since",
        ),
        ("ok", "approved", "by bob"),
        ("ok", "approved", "by bob, for ada, over HTTP: looked"),
        ("ok", "edited", "by bob, over the API, unsigned, with grant grant_1; changed a: 2 → 1; b: removed"),
        ("bad", "denied", "by bob, unsigned: too much"),
        ("warn", "expired", "nobody answered appr_1 in time; it was not denied"),
    ]
    assert ", expires " in tell(msgspec.structs.replace(ASKED, expires_at=1))[0].detail


@pytest.mark.requirement("APPR-02")
def test_what_a_dispatch_rests_on():
    for approval, told in (("appr_1", ", on approval appr_1"), ("grant_1", ", on grant grant_1"), ("", "")):
        (line,) = tell(msgspec.structs.replace(dispatch(), approval=approval, client_owned=False))
        assert line.detail.startswith(f"attempt 1, risk write, recovery never{told}, rules")


@pytest.mark.requirement("APPR-01")
def test_the_same_live(capsys):
    view = LiveView(as_json=False)
    events = [
        ASKED,
        msgspec.structs.replace(ASKED, tool="pay_again"),
        decided("denied", reason="no"),
        decided(edited=inline(b"{}"), changes=("a: 2 → 1",)),
        ApprovalExpired(call_id="c", approval_id="appr_1"),
    ]
    view(Recorded(session="s", seq=1, record=Record(at=1, by="own", epoch=1, event=PROPOSED, run="run")))
    for seq, event in enumerate(events, 2):
        view(Recorded(session="s", seq=seq, record=Record(at=1, by="own", epoch=1, event=event, run="run")))
    told = capsys.readouterr().err
    for line in (
        "‖ pay              asks       by risk.dangerous and tool.pay",
        "‖ pay_again        asks       by risk.dangerous and tool.pay",
        "✗ pay              denied     by bob, over the API, unsigned: no",
        "✓ pay              edited     by bob, over the API, unsigned; changed a: 2 → 1",
        "! pay              expired    nobody answered in time",
    ):
        assert line in told


def test_a_question_at_the_runs_end_is_left_to_the_waits_but_not_while_something_runs(capsys):
    ended = RunEnded(status="waiting", reason="approval")
    for before, told in (([], 0), ([dispatch()], 1)):
        view = LiveView(as_json=False)
        for seq, event in enumerate([PROPOSED, *before, ASKED, ended], 1):
            view(Recorded(session="s", seq=seq, record=Record(at=1, by="own", epoch=1, event=event, run="run")))
        view.line("dot", "", "later", "")
        assert capsys.readouterr().err.count(" asks ") == told


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("first", "the first run"),
        ("released", "had ended"),
        ("lock_free", "after a crash"),
        ("rebooted", "restarted"),
        ("elsewhere", "another machine"),
        ("still_running", "still runs"),
    ],
)
def test_how_the_owner_before_was_seen_to_have_ended(ended, told):
    (line,) = tell(RunStarted(owner="o", host="h", boot="b", process=7, parent_ended=ended))
    assert told in line.detail
    assert "process 7" in line.detail
    assert line.mark == ("next" if ended in {"first", "released"} else "warn")


def test_a_run_without_the_marker_or_in_another_workspace_says_so():
    place = WorkspaceIdentity(path="/w", device=1, inode=2)
    (line,) = tell(RunStarted(owner="o", host="h", boot="b", process=7, marker=False, workspace=place))
    assert "without the promise" in line.detail
    assert "/w" in line.detail


def test_records_of_unknown_calls_and_waits_are_still_told():
    lines = tell(
        AttemptFailed(call_id="c", attempt=1, nonce="n", effect=Effect.NONE, code="x"),
        WaitClosed(wait_id="w", how="elapsed", actor="clock"),
        WaitOpened(wait_id="t", kind=WaitKind.TIME, reason="quiet period", wake_at=5_000_000),
        dispatch(),
    )
    assert lines[0].subject == "c"
    assert "until" in lines[2].detail


def test_an_opened_breaker_and_what_answered_instead():
    instead = Instead(tool="backup", of="pay", why="breaker_open")
    fallback = Fallback(source="cache", of="pay", why="breaker_open", age_ms=720_000)
    failed, opened, answered = tell(
        AttemptFailed(call_id="c", attempt=1, nonce="n", effect=Effect.NONE, code="closed", instead=instead),
        BreakerOpened(call_id="c", tool="pay", target="bank", reason="6 of its last 10 calls failed", until=5),
        FunctionResponse(call_id="c", lane="refused", status=Status.SUCCESS, effect=Effect.NONE, fallback=fallback),
    )
    assert failed.detail.endswith("backup is to answer in its place")
    assert (opened.subject, opened.deed) == ("pay", "left alone")
    assert opened.detail.startswith("6 of its last 10 calls failed at bank; nobody calls it until ")
    assert (answered.deed, answered.mark) == ("answered", "ok")
    assert "an earlier answer, 12 min old, because pay fails (breaker_open)" in answered.detail


@pytest.mark.requirement("PARA-03")
def test_how_long_a_call_waited_and_for_whom():
    def waited(ms, *calls):
        return tell(
            PROPOSED,
            FunctionCall(call_id="e", step="1.1", position=1, tool="edit", arguments=inline(b"{}")),
            msgspec.structs.replace(dispatch(), waited_ms=ms, waited_for=calls),
        )[-1].detail

    assert "waited" not in waited(0)
    assert ", waited 2.1 s for edit, rules" in waited(2100, "e")
    assert ", waited 5 ms for edit and a call of another session, rules" in waited(5, "e", "e", "x")
    assert ", waited 5 ms for 2 calls of other sessions, rules" in waited(5, "x", "y")
    assert ", waited 5 ms for what is limited, rules" in waited(5)


def test_who_asked_for_a_stop_and_why():
    stop, revert = (
        StopRequested(actor="root", reason="enough"),
        RevertStarted(turn=2, actor="root", reason="wrong", prefix_seq=3),
    )
    assert [line.detail for line in tell(stop, revert)] == ["asked by root: enough", "turn 2, asked by root: wrong"]


def test_the_same_while_it_runs(capsys):
    view = LiveView(as_json=False)
    for event in (
        StopRequested(actor="root", reason="enough"),
        RevertStarted(turn=2, actor="root", reason="wrong", prefix_seq=3),
    ):
        view(Recorded(session="s", seq=1, record=Record(at=1000, by="o", epoch=1, run="r", event=event)))
    shown = " ".join(click.unstyle(capsys.readouterr().err).split())
    assert "asked by root: enough" in shown
    assert "turn 2, asked by root: wrong" in shown


@pytest.mark.requirement("DEFR-05")
def test_a_search_that_found_nothing_or_had_no_room_says_so(project):
    project.write(
        "found.py",
        "import json\nfrom callslip import Runtime, tool\nfrom callslip.core.routing import Routing\n"
        "from callslip.providers.scripted import Scripted, calling\n"
        "def made(name, said):\n    def run() -> str: ...\n    run.__doc__ = said\n"
        "    return tool(name=name, risk='read', deferred=True)(run)\n"
        "TOOLS = [made('pay.refund', 'Refund a payment.'), made('mail.send', 'Send an e-mail.')]\n"
        "def search(*queries):\n    return calling(('tool_search', {'queries': list(queries)}))\n"
        "SCRIPT = [search('castle a rook'), search('select:pay.refund,mail.send,mail.sned'), 'Done.']\n"
        "rt = Runtime(tools=TOOLS, model=Scripted(SCRIPT), routing=Routing(tools=1, preselect='off', embedder='off'))\n",
    )
    project("run", "hello", "--session", "s", "--app", "found.py:rt")
    shown = project("show", "s", "--app", "found.py:rt").stdout
    settled = [line for line in shown.splitlines() if "settled" in line and "tool_search" in line]
    assert settled[0].endswith("nothing fitted")
    assert settled[1].endswith("found pay.refund, 1 name that no tool has, no room for mail.send")
