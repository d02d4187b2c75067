"""Which records become a notice, and what it says and does not say."""

from __future__ import annotations

import json

import msgspec
import pytest

from callslip.core.event import Stored, draft
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import by_reference
from callslip.core.principal import Proof
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken, ModelUnavailable, TrustBroken
from callslip.notify.from_log import _WAITS, notices_of, unexplained
from callslip.notify.notice import Notice, NoticeKind, body, document, notice_id, of_error

AT = 1_700_000_000_000
pytestmark = pytest.mark.requirement("RESI-07")


def stored(*events, first=1):
    return [
        Stored(seq=seq, digest=b"", record=draft(event, at=AT, by="x", epoch=1, run="r").record)
        for seq, event in enumerate(events, start=first)
    ]


def told(*events, before=()):
    return notices_of("inv-17", stored(*events, first=1 + len(before)), stored(*before))


def shown(notice, include_private=False, clean=lambda text: text):
    return document(notice, include_private=include_private, clean=clean)


def decided(decision="approved", **changes):
    return ApprovalDecided(
        call_id="call_1",
        approval_id="wait_1",
        binding="b",
        decision=decision,
        proof=Proof(principal="grace"),
        **changes,
    )


@pytest.mark.requirement("APPR-01")
def test_a_call_that_waits_for_a_persons_word(asking):
    (notice,) = told(*asking(approvers=2, expires_at=AT + 1000, again=("the target is /srv/x",)))
    assert notice.kind is NoticeKind.APPROVAL_WAITING
    assert notice.id == notice_id("inv-17", 3, "approval_waiting")
    assert shown(notice) == {
        "id": notice.id,
        "type": "approval_waiting",
        "timestamp": "2023-11-14T22:13:20.000+00:00",
        "data": {
            "session": "inv-17",
            "text": "pay of session inv-17 waits for a person's word. 2 people must approve. `callslip inbox` shows it.",
            "wait": "wait_1",
            "call_id": "call_1",
            "tool": "pay",
            "reason": "the policy asks",
            "reasons": ["dangerous: ask"],
            "requester": "ada",
            "approvers": 2,
            "asked_again": True,
            "expires_at": "2023-11-14T22:13:21.000+00:00",
        },
    }


def test_arguments_are_told_only_where_that_is_asked_for(asking, parking):
    for events in (asking(arguments={"to": "Ada"}), parking()):
        (notice,) = told(*events)
        assert b"Ada" not in body(notice, include_private=False, clean=str)
        assert b"Bob" not in body(notice, include_private=False, clean=str)
        assert shown(notice, include_private=True)["data"]["arguments"] in ({"to": "Ada"}, {"to": "Bob"})


def test_what_a_model_asks_is_as_private_as_arguments(asking):
    proposed, *_ = asking(tool="ask_user", arguments={"question": "Is Ada ill?"})
    opened = WaitOpened(wait_id="w", kind=WaitKind.QUESTION, reason="the model asks", call_id="call_1")
    (notice,) = told(proposed, opened)
    assert notice.kind is NoticeKind.QUESTION_WAITING
    assert "callslip answer w" in notice.sentence
    assert b"Ada" not in body(notice, include_private=False, clean=str)
    assert shown(notice, include_private=True)["data"]["arguments"] == {"question": "Is Ada ill?"}


def test_large_arguments_are_left_out_and_that_is_said(asking):
    request = asking(arguments={})[1]
    large = msgspec.structs.replace(request, arguments=by_reference(b"x" * 9000))
    (notice,) = told(large, asking()[2])
    data = shown(notice, include_private=True)["data"]
    assert "arguments" not in data
    assert "9000 bytes" in data["arguments_left_out"]


def test_a_parked_call_names_the_tool_that_ran_and_how_to_answer(parking):
    (notice,) = told(*parking())
    data = shown(notice)["data"]
    assert (notice.kind, data["wait"], data["tool"], data["code"]) == (
        "call_parked",
        "wait_2",
        "send",
        "unknown_outcome",
    )
    assert "callslip resolve wait_2" in data["text"]


@pytest.mark.parametrize(
    ("event", "says", "decision"),
    [
        (decided(), "grace approved pay in session inv-17.", "approved"),
        (decided(edited=by_reference(b"{}")), "grace approved pay with other arguments in session inv-17.", "approved"),
        (decided("denied", reason="too much"), "grace denied pay in session inv-17.", "denied"),
    ],
)
def test_a_decision_says_who_decided_what(asking, event, says, decision):
    (notice,) = told(event, before=asking())
    data = shown(notice)["data"]
    assert (notice.kind, data["text"], data["decision"], data["by"]) == ("approval_decided", says, decision, "grace")
    assert data.get("reason") == (event.reason or None)


def test_nobody_answered_in_time(asking):
    (notice,) = told(ApprovalExpired(call_id="call_1", approval_id="wait_1"), before=asking())
    assert notice.kind is NoticeKind.APPROVAL_EXPIRED
    assert "pay of session inv-17" in notice.sentence


def test_a_failed_run_and_what_an_operator_must_accept():
    failed, moved, copied = told(
        RunEnded(status="failed", reason="no answer"),
        WaitOpened(wait_id="w", kind=WaitKind.WORKSPACE, reason="the workspace is another folder"),
        WaitOpened(wait_id="c", kind=WaitKind.COPY, reason="the log is a copy"),
    )
    assert failed.kind is NoticeKind.SESSION_FAILED
    assert "no answer" in failed.sentence
    assert moved.kind is NoticeKind.WORKSPACE_WAITING
    assert moved.details["wait"] == "w"
    assert copied.kind is NoticeKind.COPY_WAITING
    assert "callslip resolve c accept" in copied.sentence


def test_every_kind_of_wait_was_thought_of():
    """A new kind must be told to somebody, or be known to need nobody."""
    silent = {WaitKind.CLIENT, WaitKind.BACKGROUND, WaitKind.TIME}
    assert {kind.value for kind in WaitKind} == {kind.value for kind in silent} | _WAITS.keys()


def test_nothing_else_is_told():
    assert told(
        UserMessage(text="hello"),
        RunEnded(status="finished"),
        RunEnded(status="waiting"),
        WaitOpened(wait_id="a", kind=WaitKind.CLIENT, reason="x"),
        WaitOpened(wait_id="j", kind=WaitKind.BACKGROUND, reason="x", wake_at=1),
        WaitOpened(wait_id="b", kind=WaitKind.TIME, reason="x", wake_at=1),
        WaitClosed(wait_id="a", how="submitted", actor="x"),
    ) == []  # fmt: skip


def test_calls_that_earlier_records_explain_are_named(asking):
    assert unexplained(stored(*asking())) == set()
    assert unexplained(stored(asking()[2], decided(), UserMessage(text="x"))) == {"call_1"}
    assert told(decided())[0].sentence == "grace approved a call in session inv-17."


def test_the_same_record_has_the_same_id_and_no_other_has_it(asking):
    again = [told(*asking())[0].id for _ in range(3)]
    assert len(set(again)) == 1
    assert len({notice_id(s, seq, kind) for s in ("a", "b") for seq in (1, 2) for kind in ("x", "y")}) == 8


def test_text_that_would_mislead_is_spelled_out_cleaned_and_cut(asking):
    (notice,) = told(*asking(tool="pay\u202e", reason="hunter2-hunter2 " + "x" * 3000, arguments={"a\n": "\u202e"}))
    data = shown(notice, include_private=True, clean=lambda text: text.replace("hunter2-hunter2", "[redacted]"))["data"]
    assert data["tool"] == "pay\\u202e"
    assert data["text"].startswith("pay\\u202e of")
    assert data["arguments"] == {"a\\n": "\\u202e"}
    assert data["reason"].startswith("[redacted] x")
    assert data["reason"].endswith("… (cut)")
    assert len(data["reason"]) < 1100


def test_a_secret_that_the_cut_would_halve_is_gone_before(asking):
    (notice,) = told(*asking(reason="x" * 995 + "hunter2-hunter2"))
    assert (
        "hunter"
        not in shown(notice, clean=lambda text: text.replace("hunter2-hunter2", "[redacted]"))["data"]["reason"]
    )


def test_the_body_is_one_line_of_ascii(asking):
    (notice,) = told(*asking(tool="zahlen_ü"))
    text = body(notice, include_private=False, clean=str)
    assert text.isascii()
    assert b"\n" not in text
    assert json.loads(text)["data"]["tool"] == "zahlen_ü"


class TestErrors:
    def test_a_broken_log_closes_its_session(self):
        notice = of_error(LogBroken("Record 7 was altered.", seq=7), session="s", at=AT)
        assert isinstance(notice, Notice)
        assert notice.kind is NoticeKind.LOG_BROKEN
        assert shown(notice)["data"] == {
            "session": "s",
            "text": "Session s is closed to any further effect: Record 7 was altered.",
            "code": "log_broken",
            "record": 7,
        }

    def test_broken_trust_closes_the_installation(self):
        notice = of_error(TrustBroken("The trust file was altered."), session="", at=AT)
        assert notice.kind is NoticeKind.TRUST_BROKEN
        assert notice.sentence == "This installation is closed to any further effect: The trust file was altered."

    def test_other_errors_are_nobodys_business(self):
        assert of_error(ModelUnavailable("down"), session="s", at=AT) is None
        assert of_error(ValueError("x"), session="s", at=AT) is None

    def test_it_is_told_once_a_day_while_it_lasts(self):
        def ident(at, session="s", seq=7, said="x"):
            return of_error(LogBroken(said, seq=seq), session=session, at=at).id

        midnight = AT - AT % 86_400_000 + 86_400_000
        assert ident(midnight) == ident(midnight + 86_399_999, said="in other words")
        assert len({ident(midnight), ident(midnight - 1), ident(midnight, "t"), ident(midnight, seq=8)}) == 4


def test_an_opened_breaker_is_told_without_its_target():
    event = BreakerOpened(
        call_id="c", tool="fetch", target="host.internal", reason="6 of its last 10 calls failed", until=AT
    )
    (notice,) = told(event)
    assert notice.kind is NoticeKind.BREAKER_OPENED
    text = json.dumps(shown(notice))
    assert "fetch fails too often: 6 of its last 10 calls failed" in text
    assert "host.internal" not in text
    assert "host.internal" in json.dumps(shown(notice, include_private=True))
