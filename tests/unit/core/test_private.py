"""What a protected record holds in clear text, and what not."""

from __future__ import annotations

import typing

import msgspec
import pytest

from callslip.core import private
from callslip.core.event import Event
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.payload import Payload
from callslip.core.result import Effect, FieldError, Status
from callslip.core.version import Version
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("LEDG-08")

IN_CLEAR = {
    # Who, where and when: names that people, systems and programs have.
    "session_started": {"requester", "uid", "workspace", "proof"},
    "run_started": {
        "owner", "host", "boot", "process", "marker", "parent", "anchor_seq", "anchor_digest", "parent_ended", "ended", "trust_seq", "trust_digest",
        "workspace",
    },
    "run_ended": {"status", "reason", "code", "limit"},
    "user_message": {"steer", "author"},
    "model_requested": {"step", "turn", "model", "visible", "consumed", "preselected"},
    "model_replied": {"step", "finish", "calls", "usage", "reply_model", "duration_ms", "kept"},
    "function_call": {
        "call_id", "step", "position", "tool", "arguments", "provider_call_id", "parent", "hidden", "undoes",
    },
    "tool_dispatch": {
        "call_id", "attempt", "nonce", "tool", "tool_version", "arguments", "idempotency_key", "risk", "recovery",
        "rules", "approval", "deadline", "quiet_ms", "local_effect", "client_owned", "asks_user", "background", "instead",
        "waited_ms", "waited_for",
    },
    "model_failed": {"step", "attempt", "model", "code", "retry_at"},
    "attempt_failed": {
        "call_id", "attempt", "nonce", "effect", "code", "ended", "transient", "retry_at", "last", "layer", "status", "duration_ms", "instead",
        "hedged",
    },
    "function_response": {
        "call_id", "lane", "status", "effect", "error_code", "rules", "retryable", "structured", "shown", "evidence",
        "truncated", "attempt", "nonce", "resolved", "duration_ms", "from_user", "proof", "fallback", "layer", "repeated", "same_as",
        "hedged", "activated",
    },
    "breaker_opened": {"call_id", "tool", "reason", "until"},
    "late_outcome": {"call_id", "attempt", "nonce", "ok", "result", "beaten"},
    # A person's words on the record are for the record.
    "approval_requested": {
        "call_id", "approval_id", "tool", "tool_version", "executor", "arguments", "requester", "rules", "reason",
        "schema", "approvers", "expires_at", "trust_seq", "trust_digest", "instead",
    },
    "approval_decided": {
        "call_id", "approval_id", "decision", "proof", "edited", "reason", "grant", "via",
    },
    "call_resolved": {"call_id", "verdict", "reason", "actor", "wait_id", "result", "proof"},
}  # fmt: skip
"""Payloads among them are addresses of blobs."""


@pytest.mark.parametrize("event", list(IN_CLEAR), ids=str)
def test_every_field_is_either_hidden_tagged_or_known_to_be_in_clear(event):
    kind = next(one for one in typing.get_args(Event) if one.__struct_config__.tag == event)
    protected = {*private.HIDDEN.get(kind, ()), *private.TAGGED.get(kind, ())}
    assert protected & IN_CLEAR[event] == set()
    undecided = set(kind.__struct_fields__) - protected - IN_CLEAR[event]
    assert undecided == set(), "decide whether it is what somebody said (core/private), or what happened"


def test_what_is_protected_are_fields_that_there_are():
    for fields in (private.HIDDEN, private.TAGGED):
        for kind, names in fields.items():
            assert set(names) <= set(kind.__struct_fields__)


def response(**changes) -> FunctionResponse:
    made = FunctionResponse(
        call_id="c", lane="settled", status=Status.SUCCESS, effect=Effect.DONE, summary="Ada owes 5",
        structured=Payload(blob="sealed:" + "a" * 64), notes=("n",), attempt=1, nonce="x",
        field_errors=(FieldError(field="f", rule="type", message="m", got="5"),),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def test_split_and_joined_again():
    bare, parts = private.split(response(), lambda text: f"tag of {text}")
    assert b"Ada" not in msgspec.json.encode(bare)
    assert (bare.summary, bare.notes, bare.field_errors) == ("", (), ())
    assert (bare.call_id, bare.structured) == ("c", response().structured)
    assert set(parts) == {"summary", "notes", "field_errors"}
    assert private.join(bare, parts) == response()


def test_digests_become_tags():
    log = (
        LogBuilder()
        .user()
        .step("t")
        .dispatch(
            claims=("file:diary.txt",), evidence=Evidence(target="t", before="b", after="a"),
            version=Version(of="file:diary.txt", value=0),
        )
    )  # fmt: skip
    dispatch = log.records[-1].record.event
    bare, parts = private.split(dispatch, lambda text: f"tag of {text}")
    assert bare.arguments_digest == f"tag of {dispatch.arguments_digest}"
    assert (bare.claims, bare.evidence, bare.version) == ((), None, None)
    assert private.join(bare, parts) == dispatch


def test_an_event_in_which_nobody_said_anything_stays_as_it_is():
    started = LogBuilder().records[0].record.event
    assert private.split(started, lambda text: "x") == (started, {})


def test_what_nobody_can_read_any_more():
    bare, parts = private.split(response(error_message="no"), lambda text: "x")
    gone = private.erased(bare, tuple(parts))
    assert (gone.summary, gone.error_message, gone.internal, gone.notes) == ("[erased]", "[erased]", "", ())


def test_names_that_a_forged_record_brings_change_nothing_else():
    bare, _ = private.split(response(), lambda text: "x")
    assert private.erased(bare, ("call_id", "status", "nonsense")) == bare
