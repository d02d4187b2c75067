import pytest

from callslip.providers.claude_models import Claude, claude


@pytest.mark.parametrize(
    ("name", "line", "version"),
    [
        ("claude-opus-5-5", "opus", (5, 5)),
        ("claude-sonnet-5", "sonnet", (5, 0)),
        ("claude-sonnet-4-5-20250929", "sonnet", (4, 5)),
        ("claude-sonnet-4-20250514", "sonnet", (4, 0)),
        ("claude-haiku-4-5@20251001", "haiku", (4, 5)),
        ("anthropic/claude-sonnet-4.5", "sonnet", (4, 5)),
        ("us.anthropic.claude-opus-4-6-v1", "opus", (4, 6)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet", (4, 5)),
        ("claude-fable-5-1", "fable", (5, 1)),
        ("claude-mythos-preview", "mythos", (5, 0)),
        ("claude-3-7-sonnet-20250219", "sonnet", (3, 7)),
        ("claude-3-5-haiku-latest", "haiku", (3, 5)),
        ("claude-3-opus-20240229", "opus", (3, 0)),
        ("anthropic/claude-3.5-sonnet", "sonnet", (3, 5)),
    ],
)
def test_a_name_tells_line_and_version(name, line, version):
    assert claude(name) == Claude(line=line, version=version, named=True)


@pytest.mark.parametrize(
    ("name", "named"),
    [("claude-latest", True), ("my-claude", True), ("kimi-k3", False), ("", False), ("xclaude-", True)],
)
def test_a_name_may_tell_nothing(name, named):
    assert claude(name) == Claude(named=named)


def abilities(name):
    model = claude(name)
    return (
        model.max_tokens,
        model.thinking,
        model.thinks_unasked,
        model.always_thinks,
        model.binds_thinking,
        model.takes_forced_choice,
        model.takes_temperature,
        model.knows_strict,
    )


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(
    ("name", "tokens", "thinking", "unasked", "always", "binds", "forced", "temperature", "strict"),
    [
        ("claude-3-haiku-20240307", 4096, "none", False, False, False, True, True, False),
        ("claude-3-5-sonnet-20241022", 8192, "none", False, False, False, True, True, False),
        ("claude-3-7-sonnet-20250219", 16_384, "budget", False, False, False, True, True, False),
        ("claude-opus-4-20250514", 16_384, "budget", False, False, False, True, True, False),
        ("claude-opus-4-1-20250805", 16_384, "budget", False, False, False, True, True, True),
        ("claude-sonnet-4-5", 16_384, "budget", False, False, False, True, True, True),
        ("claude-opus-4-6", 16_384, "adaptive", False, False, False, True, True, True),
        ("claude-opus-4-7", 16_384, "adaptive", False, False, False, True, False, True),
        ("claude-sonnet-5", 16_384, "adaptive", True, False, False, True, False, True),
        ("claude-fable-5", 16_384, "adaptive", True, True, False, False, False, True),
        ("claude-mythos-preview", 16_384, "adaptive", True, True, False, False, False, True),
        ("claude-fable-5-1", 16_384, "adaptive", True, True, True, False, False, True),
        ("claude-haiku-5-5", 16_384, "adaptive", True, False, True, False, False, True),
        ("claude-sonnet-5-5", 16_384, "adaptive", True, True, True, False, False, True),
        ("claude-opus-5-5", 16_384, "adaptive", True, True, True, False, False, True),
        ("claude-latest", 16_384, "adaptive", True, False, False, False, False, False),
        ("kimi-k3", 16_384, "budget", True, False, False, True, True, False),
    ],
)
def test_what_each_model_takes(name, tokens, thinking, unasked, always, binds, forced, temperature, strict):
    assert abilities(name) == (tokens, thinking, unasked, always, binds, forced, temperature, strict)
