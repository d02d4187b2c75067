"""The result a caller gets: eight statuses, three effects, and nothing besides."""

from __future__ import annotations

from typing import get_args

import pytest

from callslip import errors
from callslip.core.result import Effect, Outcome, Status, ToolResult


def outcome(**fields) -> Outcome:
    return Outcome(call_id="c", tool="t", effect=Effect.NONE, **fields)


@pytest.mark.requirement("CALL-04")
class TestOutcome:
    def test_only_success_is_ok(self):
        assert [status for status in Status if outcome(status=status).ok] == [Status.SUCCESS]

    def test_every_outcome_has_code_message_retryable_and_effect(self):
        made = outcome(status=Status.TIMEOUT, error_code="timeout", error_message="It took too long.", retryable=True)
        assert (made.error_code, made.error_message, made.retryable, made.effect) == (
            "timeout",
            "It took too long.",
            True,
            "none",
        )

    def test_it_can_not_be_changed(self):
        with pytest.raises(AttributeError):
            outcome(status=Status.SUCCESS).status = Status.TIMEOUT

    @pytest.mark.parametrize("word", ["ok", "error", "cancelled", "Success"])
    def test_there_is_no_ninth_status(self, word):
        with pytest.raises(ValueError, match=word):
            Status(word)


@pytest.mark.requirement("RSLT-01")
def test_a_result_has_four_parts():
    assert ToolResult.__struct_fields__ == ("summary", "structured", "evidence", "truncated")
    empty = ToolResult()
    assert (empty.summary, empty.structured, empty.evidence, empty.truncated) == ("", None, (), False)


def kinds(error: type) -> list[type]:
    return [error, *(kind for below in error.__subclasses__() for kind in kinds(below))]


@pytest.mark.requirement("OBSV-03")
@pytest.mark.parametrize("error", kinds(errors.CallslipError), ids=lambda error: error.__name__)
def test_every_error_names_its_layer_and_has_a_code_of_its_own(error):
    assert error.layer in get_args(errors.Layer)
    assert error.code
    assert isinstance(error.retryable, bool)
