"""Records: the text that is stored is the text that was hashed, and every record is bound to all before it."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from callslip.core.event import PROTOCOL, Event, draft, genesis, link, read
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.user_message import UserMessage
from callslip.core.payload import inline
from callslip.core.result import Effect, FieldError, Status
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder


def written(event: Event) -> bytes:
    return draft(event, at=1, by="me", epoch=1, run="r").text


@pytest.mark.requirement("LEDG-01")
class TestTheChain:
    def test_a_link_is_the_hash_of_the_digest_before_and_the_text(self):
        first = written(UserMessage(text="one"))
        second = written(UserMessage(text="two"))
        one = hashlib.sha256(genesis("s") + first).digest()
        assert link(genesis("s"), first) == one
        assert link(one, second) == hashlib.sha256(one + second).digest()

    def test_a_log_can_not_be_passed_off_as_another_sessions(self):
        assert genesis("a") != genesis("b")
        assert LogBuilder("a").user().state().digest != LogBuilder("b").user().state().digest

    def test_another_order_is_another_log(self):
        one = LogBuilder().user("x").user("y").state()
        other = LogBuilder().user("y").user("x").state()
        assert one.seq == other.seq
        assert one.digest != other.digest

    def test_the_text_is_canonical(self):
        text = written(UserMessage(text="ä", author="me"))
        keys = [key for key, _ in msgspec.json.decode(text, type=dict).items()]
        assert keys == sorted(keys)
        assert b": " not in text
        assert "ä".encode() in text
        assert text == written(UserMessage(author="me", text="ä"))

    def test_what_was_written_is_read_back(self):
        event = UserMessage(text="x", steer=True, author="me")
        made = draft(event, at=5, by="owner", epoch=3, run="r")
        assert read(made.text, 9) == made.record


@pytest.mark.requirement("LEDG-04")
class TestCallsAndResponses:
    CALL = FunctionCall(
        call_id="c", step="1.1", position=0, tool="t", arguments=inline(b'"{}"'), parent="program", hidden=True
    )
    ANSWER = FunctionResponse(
        call_id="c",
        lane="refused",
        status=Status.INVALID_ARGUMENTS,
        effect=Effect.NONE,
        error_code="x",
        field_errors=(FieldError(field="a", rule="type", message="m"),),
    )

    def test_they_are_events_of_their_own(self):
        for event, kind in ((self.CALL, "function_call"), (self.ANSWER, "function_response")):
            text = written(event)
            assert msgspec.json.decode(text)["event"]["type"] == kind
            assert read(text, 1).event == event

    def test_a_nested_call_names_its_parent_and_that_the_model_does_not_see_it(self):
        event = read(written(self.CALL), 1).event
        assert (event.parent, event.hidden) == ("program", True)

    def test_a_call_of_the_model_has_no_parent_and_is_seen(self):
        call = next(iter(LogBuilder().user().step("t").state().calls.values())).call
        assert (call.parent, call.hidden) == (None, False)


@pytest.mark.requirement("LEDG-06")
class TestUnreadableRecords:
    def test_a_newer_version_is_refused_by_number(self):
        text = written(UserMessage(text="x")).replace(b'"v":1', f'"v":{PROTOCOL + 1}'.encode())
        with pytest.raises(
            LogBroken, match=rf"Event 7 has version {PROTOCOL + 1}; this program reads up to {PROTOCOL}"
        ) as e:
            read(text, 7)
        assert e.value.seq == 7

    def test_an_unknown_event_of_a_newer_version_is_named(self):
        text = written(UserMessage(text="x")).replace(b"user_message", b"mind_reading").replace(b'"v":1', b'"v":9')
        with pytest.raises(LogBroken, match=r"Event 3 has type 'mind_reading' version 9"):
            read(text, 3)

    @pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[]", b'{"v":1}', b'{"event":{"type":"run_ended"}}'])
    def test_what_is_no_record_is_refused(self, text):
        with pytest.raises(LogBroken) as broken:
            read(text, 4)
        assert broken.value.seq == 4
        assert "Nothing was executed" in str(broken.value)


def test_lone_surrogates_are_replaced_so_that_the_fact_can_always_be_written():
    made = draft(UserMessage(text="a\ud800b"), at=1, by="me", epoch=1, run="r")
    assert read(made.text, 1) == made.record
    assert made.record.event.text == "a�b"
