import pytest

from callslip.providers.anthropic_thinking import is_on, loop_began_with_thinking, thinking_fields
from callslip.providers.claude_models import claude
from callslip.providers.options import Options

NONE, BUDGET, ADAPTIVE, UNASKED = "claude-3-haiku", "claude-sonnet-4-5", "claude-opus-4-6", "claude-sonnet-5"
ALWAYS, BINDS, BINDS_ALWAYS, OTHER = "claude-fable-5", "claude-haiku-5-5", "claude-opus-5-5", "kimi-k3"
DISABLED = {"thinking": {"type": "disabled"}}
BOUND = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def fields(name, effort="", *, max_tokens=16_384, forced=False, begun=True):
    options = Options(effort=effort)
    return thinking_fields(claude(name), options, max_tokens=max_tokens, forced=forced, begun=begun)


def adaptive(effort):
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def budget(tokens):
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


@pytest.mark.parametrize(
    ("name", "effort", "made"),
    [
        (NONE, "", {}),
        (NONE, "high", {}),
        (NONE, "off", {}),
        (BUDGET, "", {}),
        (BUDGET, "off", {}),
        (BUDGET, "low", budget(2048)),
        (BUDGET, "high", budget(12_288)),
        (ADAPTIVE, "", {}),
        (ADAPTIVE, "off", {}),
        (ADAPTIVE, "medium", adaptive("medium")),
        (UNASKED, "", {}),
        (UNASKED, "off", DISABLED),
        (UNASKED, "low", adaptive("low")),
        (ALWAYS, "", {"thinking": {"type": "adaptive"}}),
        (ALWAYS, "off", adaptive("low")),
        (ALWAYS, "high", adaptive("high")),
        (BINDS, "", {"thinking": BOUND}),
        (BINDS, "off", DISABLED),
        (BINDS, "high", {**adaptive("high"), "thinking": BOUND}),
        (BINDS_ALWAYS, "off", {**adaptive("low"), "thinking": BOUND}),
        (OTHER, "", {}),
        (OTHER, "off", DISABLED),
        (OTHER, "medium", budget(6144)),
    ],
)
def test_each_model_is_asked_in_its_own_form(name, effort, made):
    assert fields(name, effort) == made


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(
    ("name", "effort", "made"),
    [
        (BUDGET, "high", {}),
        (OTHER, "high", {}),
        (OTHER, "", {}),
        (ADAPTIVE, "", {}),
        (ADAPTIVE, "high", {"output_config": {"effort": "high"}}),
        (UNASKED, "", DISABLED),
        (UNASKED, "high", {**DISABLED, "output_config": {"effort": "high"}}),
    ],
)
def test_a_forced_tool_excludes_thinking(name, effort, made):
    assert fields(name, effort, forced=True) == made


@pytest.mark.requirement("WIRE-05")
def test_a_budget_is_not_asked_for_in_a_loop_that_began_without_thinking():
    assert fields(BUDGET, "high", begun=False) == {}
    assert fields(ADAPTIVE, "high", begun=False) == adaptive("high")


def test_a_budget_leaves_room_for_the_answer_and_has_a_least_size():
    assert fields(BUDGET, "low", max_tokens=4000) == budget(1024)
    assert fields(BUDGET, "high", max_tokens=1025) == budget(1024)
    assert fields(BUDGET, "high", max_tokens=1024) == {}


def test_which_fields_ask_for_thinking():
    assert is_on(adaptive("low"))
    assert is_on(budget(1024))
    assert not is_on(DISABLED)
    assert not is_on({})


U, R, UR = ("user", "t"), ("user", "r"), ("user", "rt")
T, C = ("assistant", "hc"), ("assistant", "c")
KINDS = {"t": "text", "r": "tool_result", "h": "thinking", "d": "redacted_thinking", "c": "tool_use"}


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize(
    ("made", "began"),
    [
        ([U], True),
        ([U, T, R], True),
        ([U, ("assistant", "dc"), R], True),
        ([U, C, R], False),
        ([U, ("assistant", "tc"), R], False),
        ([U, T, R, C, R], True),
        ([U, C, R, T, R], False),
        ([U, C, R, T, U], True),
        ([U, C, R, ("assistant", "t"), U, T, R], True),
        # Words beside results may begin a loop, or not: both readings have to hold.
        ([U, T, UR, T, R], True),
        ([U, T, UR, C, R], False),
        ([U, C, UR, T, R], False),
        ([U, C, UR], False),
        ([U, T, UR], True),
    ],
)
def test_whether_the_open_loop_began_with_thinking(made, began):
    messages = [{"role": role, "content": [{"type": KINDS[kind]} for kind in kinds]} for role, kinds in made]
    assert loop_began_with_thinking(messages) is began
