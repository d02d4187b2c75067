"""The names are those of the conventions, as the package of the conventions has them."""

from __future__ import annotations

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

from callslip.telemetry import names

pytestmark = pytest.mark.requirement("OBSV-02")

NEWER = {"gen_ai.invoke_agent.duration", "gen_ai.execute_tool.duration"}
"""Metrics that came after the conventions had moved to a repository of their own."""


def own(beginning):
    return {
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and value.startswith(beginning)
    }


def test_every_name_of_the_conventions_is_one():
    known = {
        value for module in (conventions, gen_ai_metrics) for value in vars(module).values() if isinstance(value, str)
    }
    assert own("gen_ai.") - NEWER <= known
    assert names.ERROR_TYPE == ERROR_TYPE


def test_operations_and_providers_are_those_of_the_conventions():
    operations = {one.value for one in conventions.GenAiOperationNameValues}
    assert {names.CHAT, names.EXECUTE_TOOL, names.INVOKE_AGENT} <= operations
    providers = {one.value for one in conventions.GenAiProviderNameValues}
    assert {names.provider(f"{name}:x") for name in ("openai", "anthropic", "gemini", "mistral")} <= providers


@pytest.mark.parametrize(("model", "expected"), [
    ("openai:gpt-5", ("openai", "gpt-5")), ("mistral:large:2", ("mistral_ai", "large:2")), ("mine", ("callslip", "mine")),
])  # fmt: skip
def test_a_model_is_told_by_its_provider_and_its_name_there(model, expected):
    assert (names.provider(model), names.bare(model)) == expected


def test_no_other_file_names_any_of_them():
    from pathlib import Path

    for path in Path(names.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert path.name == "names.py" or ('"gen_ai.' not in text and '"callslip.' not in text), path.name
