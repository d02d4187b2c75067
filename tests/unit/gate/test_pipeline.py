"""Every gate in its order, and what each says when it refuses."""

from __future__ import annotations

import pytest

from callslip.core.result import Status
from callslip.errors import ConfigError
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.policies.by_risk import RiskPolicy
from callslip.ports.policy import Verdict


class Policy:
    """Says always the same, and keeps what it was asked."""

    def __init__(self, decision="allow"):
        self.decision = decision
        self.asked = []

    def decide(self, question):
        self.asked.append(question)
        if isinstance(self.decision, Exception):
            raise self.decision
        return Verdict(decision=self.decision, rules=("rule-7",), reason="the house says so.")


@pytest.mark.requirement("CALL-02")
class TestTheOrder:
    """Each call breaks every gate from one on: the first that is broken answers."""

    @pytest.mark.parametrize(
        ("name", "arguments", "status", "code"),
        [
            ("refun", "{", Status.NOT_FOUND, "unknown_tool"),
            ("page", "{", Status.PERMISSION_DENIED, "not_callable_from"),
            ("refund", "{", Status.INVALID_ARGUMENTS, "truncated"),
            ("refund", '{"cents":"x"}', Status.INVALID_ARGUMENTS, "invalid_arguments"),
            ("deliver", '{"day":"sunday"}', Status.INVALID_ARGUMENTS, "business_rule"),
            ("refund", '{"cents":101}', Status.INVALID_ARGUMENTS, "business_rule"),
            ("refund", '{"cents":1}', Status.INVALID_ARGUMENTS, "call_first"),
            ("deliver", '{"day":"monday"}', Status.PERMISSION_DENIED, "policy_denied"),
        ],
    )
    def test_the_first_broken_gate_answers_and_no_later_one_is_asked(self, ask, name, arguments, status, code):
        policy = Policy("deny")
        refusal = ask(name, arguments, policy=policy)
        assert isinstance(refusal, Refusal)
        assert (refusal.status, refusal.code) == (status, code)
        assert len(policy.asked) == (code == "policy_denied")

    def test_a_tool_that_is_not_shown_in_this_step_tells_nothing_of_itself(self, ask):
        refusal = ask("refund", '{"wrong":1}', visible=["find_order"])
        assert (refusal.status, refusal.code, refusal.field_errors) == (Status.NOT_FOUND, "unknown_tool", ())
        assert "cents" not in refusal.message
        assert "Did you mean" not in refusal.message
        assert "refund" not in ask("refun", visible=["find_order"]).message.replace("'refun'", "")

    def test_what_passes_is_what_was_judged(self, ask):
        policy = Policy()
        passed = ask("find_order", ' {"number": 7.0} ', policy=policy)
        assert isinstance(passed, Passed)
        assert (passed.arguments.value, passed.arguments.text, passed.verdict.rules) == (
            {"number": 7}, b'{"number":7}', ("rule-7",),
        )  # fmt: skip
        (question,) = policy.asked
        assert (question.arguments, question.tool.name, question.session, question.requester) == (
            {"number": 7}, "find_order", "s", "me",
        )  # fmt: skip


@pytest.mark.requirement("ARGS-04")
class TestBusinessRules:
    def test_the_rules_own_words_go_to_the_model(self, ask):
        refusal = ask("deliver", '{"day":"sunday"}')
        assert (refusal.message, refusal.retryable) == ("There is no delivery on Sunday.", True)

    def test_a_rule_that_can_not_be_evaluated_is_not_fulfilled(self, ask, tools):
        def broken(arguments):
            raise ZeroDivisionError("10.0.0.1")

        tools[1]._rules = (broken,)
        refusal = ask("deliver", '{"day":"monday"}')
        assert (refusal.status, refusal.code) == (Status.FATAL_ERROR, "rule_failed")
        assert "10.0.0.1" not in refusal.message

    def test_rules_see_only_valid_arguments(self, ask, tools):
        def never(arguments):
            raise AssertionError

        tools[1]._rules = (never,)
        assert ask("deliver", '{"day":1}').code == "invalid_arguments"


@pytest.mark.requirement("PARA-06")
class TestRequiredCalls:
    def test_the_model_is_told_what_to_call_first(self, ask):
        refusal = ask("refund", '{"cents":1}', succeeded={"erase"})
        assert refusal.code == "call_first"
        assert "Call find_order and deliver first" in refusal.message

    def test_all_of_them(self, ask):
        assert "Call deliver first" in ask("refund", '{"cents":1}', succeeded={"find_order"}).message
        assert isinstance(ask("refund", '{"cents":1}', succeeded={"find_order", "deliver"}), Passed)


@pytest.mark.requirement("GATE-01")
class TestPolicy:
    @pytest.mark.parametrize(
        ("decisions", "name", "arguments", "said"),
        [
            ({}, "find_order", '{"number":1}', "allow"),
            ({}, "deliver", '{"day":"monday"}', "allow"),
            ({}, "erase", "{}", "ask"),
            ({"dangerous": "allow"}, "erase", "{}", "allow"),
            ({"tool.erase": "allow"}, "erase", "{}", "allow"),
            ({"dangerous": "allow", "tool.erase": "ask_two"}, "erase", "{}", "ask"),
            ({"dangerous": "ask", "tool.other": "allow"}, "erase", "{}", "ask"),
            ({"dangerous": "deny"}, "erase", "{}", "policy_denied"),
            ({"read": "ask"}, "find_order", '{"number":1}', "ask"),
            ({"write": "deny"}, "deliver", '{"day":"monday"}', "policy_denied"),
        ],
    )
    def test_one_decision_for_each_risk_and_tool(self, ask, decisions, name, arguments, said):
        result = ask(name, arguments, policy=RiskPolicy(decisions))
        assert (result.verdict.decision if isinstance(result, Passed) else result.code) == said

    def test_how_many_people_must_approve(self, ask):
        assert ask("erase", policy=RiskPolicy({"tool.erase": "ask_two"})).verdict.approvers == 2
        assert ask("erase", policy=RiskPolicy()).verdict.approvers == 1

    def test_the_rules_that_decided_are_named_whatever_they_decide(self, ask):
        for decision in ("allow", "ask", "deny"):
            result = ask("erase", policy=Policy(decision))
            assert (result.verdict.rules if isinstance(result, Passed) else result.rules) == ("rule-7",)

    @pytest.mark.requirement("GATE-07")
    def test_a_denial_says_why_and_not_to_try_again(self, ask):
        refusal = ask("erase", policy=Policy("deny"))
        assert "the house says so" in refusal.message
        assert "Don't try it again" in refusal.message
        assert not refusal.retryable

    @pytest.mark.requirement("GATE-02")
    @pytest.mark.parametrize("broken", [ZeroDivisionError("10.0.0.1"), "perhaps", "", None, True])
    def test_an_engine_that_fails_or_says_something_else_denies(self, ask, broken):
        refusal = ask("find_order", '{"number":1}', policy=Policy(broken))
        assert isinstance(refusal, Refusal)
        assert refusal.status is Status.PERMISSION_DENIED
        assert "10.0.0.1" not in refusal.message

    @pytest.mark.parametrize(
        "decisions", [{"raed": "allow"}, {"read": "maybe"}, {"read": True}, {"tool.": "ask"}, {"tool.x": "no"}]
    )
    def test_a_setting_that_means_nothing_refuses_the_start(self, decisions):
        with pytest.raises(ConfigError, match="Nothing was started"):
            RiskPolicy(decisions)


@pytest.mark.requirement("ARGS-01")
class TestArguments:
    @pytest.mark.parametrize(
        ("raw", "code", "where"),
        [
            ('{"number": 1', "truncated", "line 1, column"),
            ('{"number": 1}{"number": 2}', "concatenated", "line 1, column"),
            ('{"number": 1, "number": 2}', "duplicate_key", 'the key "number"'),
            ('{"number": NaN}', "not_finite", "line 1, column"),
        ],
    )
    def test_text_that_can_not_be_read_says_where_and_why(self, ask, raw, code, where):
        refusal = ask("find_order", raw)
        assert (refusal.status, refusal.code, refusal.retryable) == (Status.INVALID_ARGUMENTS, code, True)
        assert where in refusal.message
        assert "Nothing was executed" in refusal.message

    @pytest.mark.requirement("ARGS-03")
    def test_every_fault_is_a_field_error_and_one_sentence(self, ask):
        refusal = ask("find_order", '{"number":"seven","more":1}')
        errors = {error.field: error for error in refusal.field_errors}
        assert set(errors) == {"number", "more"}
        assert (errors["number"].rule, errors["number"].got) == ("type", '"seven"')
        assert "number" in refusal.message

    def test_how_the_text_was_changed_is_kept(self, ask):
        assert ask("erase", "", policy=Policy()).arguments.changed == ("empty",)
        assert ask("find_order", '{"number":1}').arguments.changed == ()
