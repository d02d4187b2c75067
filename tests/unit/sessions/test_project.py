"""What a model is shown of the log: in its own order, each call with exactly one result."""

from __future__ import annotations

import json

import pytest

from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.message import AssistantReply, Notice, ToolResults, UserText
from callslip.core.payload import inline
from callslip.core.result import BlobRef, Effect, FieldError, Status
from callslip.runtime import payloads
from callslip.sessions.project import failure_text, project, success_text
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.anyio


async def shown(parts, log):
    return await project(parts, log.state())


def reply(log, step, *, text="", finish="stop"):
    consumed = tuple(message.seq for message in log.state().queued)
    log.add(ModelRequested(step=step, turn=1, model="m", consumed=consumed))
    return log.add(ModelReplied(step=step, text=text, finish=finish, calls=0))


@pytest.mark.requirement("LEDG-07")
@pytest.mark.requirement("CALL-06")
class TestOrder:
    async def test_results_stand_in_the_order_of_the_calls_whatever_the_order_of_the_facts(self, parts):
        log = LogBuilder().user("go").step("a", "b", "c")
        for position in (0, 1, 2):
            log.dispatch(position)
        for position in (2, 0, 1):
            log.settle(position, structured=inline(json.dumps(f"result {position}").encode()))
        user, assistant, results = await shown(parts, log)
        assert user == UserText(text="go")
        assert [call.tool for call in assistant.calls] == ["a", "b", "c"]
        assert [one.content for one in results.results] == ["result 0", "result 1", "result 2"]
        assert [one.call_id for one in results.results] == [call.call_id for call in assistant.calls]
        arrived = [s.record.event.call_id for s in log.records if isinstance(s.record.event, FunctionResponse)]
        assert arrived == [log.call_id(position) for position in (2, 0, 1)]

    async def test_a_message_stands_where_the_model_first_saw_it(self, parts):
        log = LogBuilder().user("one").step("t").user("two").dispatch().settle()
        assert [type(message) for message in await shown(parts, log)] == [UserText, AssistantReply, ToolResults]
        reply(log, "1.2", text="answer")
        messages = await shown(parts, log)
        assert messages[3:] == (UserText(text="two"), AssistantReply(text="answer"))


@pytest.mark.requirement("CALL-05")
class TestExactlyOneResult:
    @pytest.mark.parametrize("answered", range(3))
    async def test_a_step_appears_when_its_last_call_is_answered(self, parts, answered):
        log = LogBuilder().user().step("a", "b", "c")
        for position in range(answered):
            log.refuse(position)
        assert await shown(parts, log) == (UserText(text="hello"),)
        for position in range(answered, 3):
            log.refuse(position)
        (_, assistant, results) = await shown(parts, log)
        assert len(results.results) == len(assistant.calls) == 3

    async def test_a_call_that_was_repeated_parked_and_late_has_one(self, parts):
        log = LogBuilder().user().step("t").dispatch(recovery="idempotent").fail().dispatch(recovery="idempotent")
        log.crash().park().resolve("did_not_happen").dispatch(recovery="idempotent").settle()
        log.add(LateOutcome(call_id=log.call_id(), attempt=1, nonce="nonce-0-1", ok=True), outsider=True)
        (_, _, results) = await shown(parts, log)
        assert [one.content for one in results.results] == ["ok"]

    async def test_a_refusal_is_a_result_too(self, parts):
        log = LogBuilder().user().step("t").refuse(code="policy_denied")
        (_, _, results) = await shown(parts, log)
        assert results.results[0].is_error
        assert json.loads(results.results[0].content)["error_code"] == "policy_denied"


class TestNotices:
    @pytest.mark.requirement("CALL-05")
    @pytest.mark.parametrize("finish", ["length", "cut", "filtered"])
    async def test_a_cut_reply_is_told_and_holds_no_call(self, parts, finish):
        log = reply(LogBuilder().user(), "1.1", text="I will", finish=finish)
        *_, assistant, notice = await shown(parts, log)
        assert assistant == AssistantReply(text="I will")
        assert isinstance(notice, Notice)
        assert "No tool was called by it" in notice.text

    async def test_an_empty_reply_is_a_reply_without_words_or_calls(self, parts):
        log = reply(LogBuilder().user(), "1.1", finish="empty")
        assert await shown(parts, log) == (UserText(text="hello"), AssistantReply(text=""))


class TestTexts:
    def response(self, **fields):
        return FunctionResponse(
            call_id="c", lane="settled", **({"status": Status.SUCCESS, "effect": Effect.NONE} | fields)
        )

    @pytest.mark.requirement("RSLT-01")
    @pytest.mark.parametrize(
        ("structured", "summary", "text"),
        [
            ('"plain text"', "", "plain text"),
            ('{"a":1}', "", '{"a":1}'),
            ('{"a":1}', "One row.", 'One row.\n{"a":1}'),
            ("null", "Done.", "Done."),
            ("null", "", "null"),
            ("12345678901234567890123", "", "12345678901234567890123"),
        ],
    )
    async def test_summary_first_then_the_result(self, parts, structured, summary, text):
        response = self.response(structured=inline(structured.encode()), summary=summary)
        assert await success_text(parts, response) == text

    async def test_without_any_result(self, parts):
        assert await success_text(parts, self.response(summary="Nothing to say.")) == "Nothing to say."

    async def test_what_is_shown_stands_for_the_whole_and_may_be_kept_apart(self, parts):
        whole = await payloads.store(parts.blobs, json.dumps("x" * 9000).encode())
        short = await payloads.store(parts.blobs, json.dumps("y" * 5000).encode())
        response = self.response(structured=whole, shown=short, truncated=True)
        assert await success_text(parts, response) == "y" * 5000

    @pytest.mark.requirement("RSLT-04")
    async def test_a_file_is_shown_as_its_reference(self, parts):
        address = await parts.blobs.put(b"\x89PNG")
        kept = inline(json.dumps({"image": {"$blob": address, "$size": 4}}).encode())
        reference = BlobRef(address=address, size=4, media_type="image/png")
        assert address in await success_text(parts, self.response(structured=kept, evidence=(reference,)))

    @pytest.mark.requirement("CALL-04")
    @pytest.mark.requirement("GATE-07")
    def test_a_failure_says_status_code_effect_and_whether_to_try_again(self):
        told = json.loads(failure_text(self.response(
            status=Status.INVALID_ARGUMENTS, error_code="invalid_arguments", error_message="Say a number.",
            retryable=True, internal="Traceback", field_errors=(
                FieldError(field="n", rule="type", message="must be a number", got='"x"'),
            ),
        )))  # fmt: skip
        assert told == {
            "status": "invalid_arguments", "error_code": "invalid_arguments", "error_message": "Say a number.",
            "retryable": True, "effect": "none",
            "field_errors": [{"field": "n", "rule": "type", "message": "must be a number"}],
        }  # fmt: skip

    def test_an_unknown_effect_is_said_to_be_unknown(self):
        told = failure_text(self.response(status=Status.FATAL_ERROR, effect=Effect.UNKNOWN, error_code="abandoned"))
        assert "Do not assume either" in told
