"""How models get calls wrong, counted."""

from __future__ import annotations

import pytest

from callslip.core.advice import Fault, Faults, advice
from callslip.core.result import Effect, FieldError, Status
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("ARGS-05")


def wrong(log: LogBuilder, position: int, *fields: tuple[str, str]) -> LogBuilder:
    errors = tuple(FieldError(field=field, rule=rule, message="m") for field, rule in fields)
    return log.settle(
        position, lane="refused", status=Status.INVALID_ARGUMENTS, effect=Effect.NONE, structured=None, attempt=None,
        nonce=None, error_code="invalid_arguments", field_errors=errors,
    )  # fmt: skip


def test_by_tool_field_and_rule():
    faults = Faults()
    for _ in range(2):
        log = LogBuilder().user().step("pay", "pay", "look", "look")
        wrong(log, 0, ("amount", "type"), ("to", "required"))
        wrong(log, 1, ("amount", "type"), ("amount", "type"))
        log.refuse(2, code="call_first").dispatch(3).settle(3)
        faults.begin()
        faults.take(log.records[:6])
        faults.take(log.records[6:])
    assert faults.counts == {
        Fault(tool="pay", field="amount", rule="type"): 4,
        Fault(tool="pay", field="to", rule="required"): 2,
        Fault(tool="look", field="", rule="call_first"): 2,
    }


def test_what_says_nothing_of_the_call_is_not_counted():
    faults = Faults()
    log = LogBuilder().user().step("t", "t", "t", "t")
    log.refuse(0, code="cancelled").refuse(1, code="loop").refuse(2, code="budget_spent")
    log.dispatch(3).settle(3, status=Status.TIMEOUT, effect=Effect.NONE, error_code="timeout")
    faults.take(log.records)
    assert not faults.counts


@pytest.mark.parametrize(
    ("field", "rule", "says"),
    [
        ("amount", "type", "'amount' wrong (type)"),
        ("", "call_first", "what to call first"),
        ("", "no_money", "no_money"),
    ],
)
def test_it_is_said_in_a_sentence(field, rule, says):
    assert says in advice(Fault(tool="t", field=field, rule=rule), 7)
