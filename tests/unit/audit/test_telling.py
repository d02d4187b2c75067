"""Each kind of record, as the audit tells it."""

from typing import get_args

import msgspec
import pytest

from callslip.audit import telling
from callslip.audit.story import begin
from callslip.audit.telling import tell
from callslip.core import canon
from callslip.core.event import Event
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted, WorkspaceIdentity
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.hedging import Hedged
from callslip.core.payload import by_reference, inline
from callslip.core.principal import Proof
from callslip.core.result import BlobRef, Status
from callslip.core.version import Version
from callslip.core.wait import WaitKind
from callslip.testing.log_builder import LogBuilder

PROOF = Proof(principal="anna", uid=1001, key="k" * 64, signature="s" * 128, on_behalf_of="boss", at=5)


def told(builder):
    """What there is to tell of each record, from the first call's proposal on."""
    story = begin(builder.session)
    return [one for stored in builder.records if (one := tell(story, stored)) is not None]


def entries(builder, kind=None):
    return [one.entry for one in told(builder) if kind in (None, one.entry.kind)]


def last(builder):
    return told(builder)[-1].entry


def test_every_event_is_told_or_left_out_on_purpose():
    assert set(get_args(Event)) - set(telling._TELL) == set()
    silent = {event for event, function in telling._TELL.items() if function is telling._silent}
    assert {event.__struct_config__.tag for event in silent} == {"run_ended", "model_failed", "model_replied"}


def test_the_same_log_tells_the_same_from_a_story_kept_half_way():
    log = LogBuilder().user().step("a", "b").dispatch(0).settle(0).dispatch(1).fail(1).park(1).resolve("happened", 1)
    story, kept = begin("s"), []
    for stored in log.records:
        story = msgspec.json.decode(msgspec.json.encode(story), type=type(story))
        kept.append(tell(story, stored))
    assert [one for one in kept if one is not None] == told(log)


def test_the_words_that_caused_a_call():
    log = LogBuilder().user("one").user("two").step("t").dispatch().settle()
    messages = tuple(entry.seq for entry in entries(log, "user_message"))
    assert len(messages) == 2
    assert entries(log, "tool_dispatch")[0].message == messages
    log.step("t", step="1.2").dispatch()
    assert last(log).message == messages, "a later step of the turn goes back to the same words"
    log.settle().user("three", steer=True).step("t", step="1.3").dispatch()
    assert last(log).message == (entries(log, "user_message")[-1].seq,)
    assert entries(log, "user_message")[-1].decision == "steer"
    log.settle().step("t", step="x", model="caller").dispatch()
    assert last(log).message == (), "of a dispatcher's step nobody knows"


def test_a_refused_call_with_what_was_proposed():
    log = LogBuilder().user().step("erase").refuse(code="denied_by_policy")
    one = told(log)[-1]
    assert (one.entry.tool, one.entry.status, one.entry.decision) == ("erase", "permission_denied", "refused")
    assert (one.entry.code, one.entry.effect, one.entry.duration_ms) == ("denied_by_policy", "none", None)
    assert dict(one.details)["arguments"].value() == '{"n": 0}'


def test_an_approval_from_its_question_to_the_dispatch():
    log = LogBuilder().user().step("pay")
    log.ask(approval="appr_1", tool="pay", rules=("dangerous",), reason="dangerous", again=("the tool has changed",))
    log.decide(approval="appr_1", proof=PROOF, grant="g1").dispatch(tool="pay", approval="appr_1")
    question, answer, t1 = entries(log)[-3:]
    assert (question.kind, question.tool, question.approval, question.rules) == (
        "approval_requested", "pay", "appr_1", ("dangerous",)
    )  # fmt: skip
    assert question.said == "dangerous; the tool has changed"
    assert (answer.kind, answer.decision, answer.approval, answer.grant) == (
        "approval_decided", "approved", "appr_1", "g1"
    )  # fmt: skip
    assert (answer.actor, answer.uid, answer.key, answer.on_behalf_of) == ("anna", 1001, "k" * 64, "boss")
    assert (t1.approval, t1.approved_by) == ("appr_1", ("anna",))


@pytest.mark.requirement("PARA-02")
def test_the_version_a_call_is_made_for():
    version = Version(of="ticket:7", value=3)
    log = LogBuilder().user().step("set").ask(tool="set", reason="a write", version=version, again=("it moved",))
    log.decide().dispatch(tool="set", approval="appr_0", version=version)
    question, _, t1 = entries(log)[-3:]
    assert question.said == "a write; changes version 3 of ticket:7; it moved"
    assert t1.said == "changes version 3 of ticket:7"


def test_two_who_must_approve_are_both_named_and_a_new_question_forgets_them():
    unsigned = Proof(principal="anna", key="k" * 64)
    log = LogBuilder().user().step("pay").ask(approvers=2).decide(closes=False, proof=unsigned)
    assert last(log).key == "", "what nobody signed has no key"
    assert last(log.decide(by="ben").dispatch(approval="appr_0")).approved_by == ("anna", "ben")
    other = LogBuilder().user().step("pay").ask(approvers=2).decide(closes=False).close("appr_0", "withdrawn", "own")
    assert (last(other).kind, last(other).decision) == ("wait_closed", "withdrawn")
    other.ask(approval="appr_2")
    assert last(other.dispatch(approval="appr_2")).approved_by == ()


def test_a_grant_that_covers_the_call_is_named_and_no_approver_made_up():
    log = LogBuilder().user().step("pay").ask().decide().dispatch(approval="g7")
    assert (last(log).approval, last(log).approved_by) == ("g7", ())


def test_an_edit_a_denial_and_an_expiry():
    log = LogBuilder().user().step("pay", "pay", "pay")
    log.ask(0).decide(edited=inline(b'{"n":5}'), changes=("n: 0, now 5",))
    one = told(log)[-1]
    assert dict(one.details)["arguments"].value() == {"n": 5}
    assert (one.entry.arguments_digest, one.entry.said) == (canon.digest(b'{"n":5}'), "n: 0, now 5")
    log.ask(1).decide("denied", 1, reason="too much")
    assert (last(log).decision, last(log).said) == ("denied", "too much")
    log.ask(2, tool="pay").lapse(2)
    assert (last(log).kind, last(log).decision, last(log).tool) == ("approval_expired", "expired", "pay")


def test_a_failed_attempt_and_what_it_said():
    log = LogBuilder().user().step("pay").dispatch(tool="pay")
    log.now += 250
    log.fail()
    assert (last(log).status, last(log).effect, last(log).code, last(log).duration_ms) == (
        "failed", "unknown", "boom", 250
    )  # fmt: skip


def test_parked_and_resolved():
    log = LogBuilder().user().step("pay").dispatch(tool="pay").park()
    log.add(WaitOpened(wait_id="w", kind=WaitKind.PARKED, reason="r", call_id=log.call_id()))
    assert (last(log).kind, last(log).code, last(log).tool) == ("call_parked", "unknown_outcome", "pay")
    log.resolve("happened").add(WaitClosed(wait_id="w", how="resolved", actor="op"), outsider=True)
    log.settle(attempt=None, nonce=None, resolved=len(log.records) - 1)
    verdict, settled = entries(log)[-2:]
    assert (verdict.kind, verdict.decision, verdict.actor, verdict.said) == (
        "call_resolved", "happened", "op", "looked"
    )  # fmt: skip
    assert verdict.output == "sha256:" + canon.digest(b'"R"')
    assert (settled.decision, settled.duration_ms) == ("settled by a verdict", None)


def test_a_clients_answer_is_the_clients():
    log = LogBuilder().user().step("sign").dispatch(tool="sign", client=True)
    log.settle(outsider=True, proof=PROOF)
    assert (last(log).actor, last(log).process) == ("anna", "")


def test_a_verdict_that_is_signed_is_the_signers():
    log = LogBuilder().user().step("pay").dispatch().park()
    log.add(CallResolved(call_id=log.call_id(), verdict="give_up", reason="r", actor="op", proof=PROOF), outsider=True)
    assert (last(log).actor, last(log).on_behalf_of) == ("anna", "boss")


def test_a_late_outcome_still_knows_its_call_after_the_step():
    log = LogBuilder().user().step("pay").dispatch(tool="pay")
    call = log.call_id()
    log.settle(status=Status.TIMEOUT).step("t", step="1.2").dispatch().settle().step(step="1.3")
    log.now += 1000
    late = LateOutcome(call_id=call, attempt=1, nonce="n", ok=True, result=inline(b"1"))
    log.add(late, outsider=True)
    assert (last(log).tool, last(log).status, last(log).duration_ms) == ("pay", "success", 1000)
    assert last(log).output_size == 1


def test_of_settled_calls_nothing_is_remembered():
    log = LogBuilder().user()
    story = begin("s")
    for number in range(30):
        log.step("t", step=f"1.{number}").dispatch().settle()
    for stored in log.records:
        tell(story, stored)
    assert len(story.calls) == 1


def test_ends_of_waits_that_somebody_brought_about():
    log = LogBuilder().add(WaitOpened(wait_id="w", kind=WaitKind.WORKSPACE, reason="r"))
    log.add(WaitClosed(wait_id="w", how="accepted", actor="op"), outsider=True)
    assert (last(log).kind, last(log).decision, last(log).actor, last(log).said) == (
        "wait_closed", "accepted", "op", "workspace"
    )  # fmt: skip
    place = WorkspaceIdentity(path="/srv/shop", device=1, inode=2)
    log.add(WaitOpened(wait_id="v", kind=WaitKind.WORKSPACE, reason="r"))
    log.add(WaitClosed(wait_id="v", how="accepted", actor="op", workspace=place), outsider=True)
    assert last(log).said == "workspace: /srv/shop"
    log.add(WaitOpened(wait_id="x", kind=WaitKind.TIME, reason="r"))
    log.add(WaitClosed(wait_id="x", how="elapsed", actor="clock"))
    assert last(log).wait == "v"


def test_stops_seals_imports_and_erasures():
    log = LogBuilder().add(StopRequested(actor="ben", reason="enough"), outsider=True)
    assert (last(log).kind, last(log).actor, last(log).said) == ("stop_requested", "ben", "enough")
    log.add(SessionSealed(actor="op", reason="moves", destination="b", prefix_seq=3, prefix_digest="d"), outsider=True)
    assert (last(log).kind, last(log).actor, last(log).decision, last(log).said) == (
        "session_sealed", "op", "b", "moves"
    )  # fmt: skip
    log.add(SessionImported(actor="op", reason="moved", how="imported", proven=True), outsider=True)
    assert (last(log).decision, last(log).status) == ("imported", "whole")
    log.add(BlobErased(actor="op", reason="asked to", addresses=("sha256:aa",)), outsider=True)
    one = told(log)[-1]
    assert (one.erases, one.entry.evidence, one.entry.said) == (("sha256:aa",), ("sha256:aa",), "asked to")


def test_jobs():
    log = LogBuilder().user().step("build").dispatch(tool="build", background=True).job()
    assert (last(log).status, last(log).tool, last(log).output_size) == ("started", "build", 5)
    assert last(log.polled()).kind == "background_started"
    log.polled(asked_to_end=True, note="half done")
    assert (last(log).status, last(log).said) == ("asked to end", "half done")


def test_what_undoes_a_turn_goes_back_to_whoever_wanted_that():
    log = LogBuilder().user().step("build").dispatch(tool="build").settle()
    call = log.call_id()
    log.add(RevertStarted(turn=1, actor="op", prefix_seq=9, reason="wrong", proof=PROOF), outsider=True)
    assert (last(log).kind, last(log).actor, last(log).decision, last(log).said) == (
        "revert_started", "anna", "turn 1", "wrong"
    )  # fmt: skip
    undo = last(log.undo(call, "undo.1").dispatch(tool="unbuild"))
    assert (undo.undoes, undo.message, undo.tool) == (call, (), "unbuild")


def test_who_began_it():
    log = LogBuilder(start=False).add(SessionStarted(requester="anna", uid=7, proof=PROOF))
    assert (last(log).actor, last(log).uid, last(log).key) == ("anna", 1001, "k" * 64)
    log = LogBuilder(start=False).add(SessionStarted(requester="root", uid=0))
    assert (last(log).actor, last(log).uid, last(log).key) == ("root", 0, "")


def test_where_results_and_evidence_are_kept():
    big = by_reference(b"x" * 5000)
    reference = BlobRef(address="sha256:bb", size=3)
    log = LogBuilder().user().step("t").dispatch().settle(structured=big, evidence=(reference,))
    assert (last(log).output, last(log).output_size, last(log).evidence) == (big.blob, 5000, ("sha256:bb",))


def test_a_protected_record_gives_away_nothing_to_guess_by():
    log = LogBuilder().user("yes")
    stored = log.records[-1]
    sealed = msgspec.structs.replace(stored.record, sealed="AAAA", hidden=("text",))
    bare = msgspec.structs.replace(sealed, event=msgspec.structs.replace(sealed.event, text=""))
    story = begin("s")
    tell(story, log.records[0])
    entry = tell(story, msgspec.structs.replace(stored, record=bare)).entry
    assert entry.protected
    assert (entry.output, entry.output_size) == ("", None)


def test_a_read_that_was_asked_twice_says_which_execution_answered():
    def decision(**hedged):
        log = LogBuilder().user().step("find").dispatch(risk="read").settle(hedged=Hedged(after_ms=200, **hedged))
        return last(log).decision

    assert decision(answered="second") == "asked twice, the second answered"
    assert decision(answered="neither", failed="timeout") == ""
