import pytest

from callslip.providers.gemini_models import since_three, thinking, version


@pytest.mark.parametrize(
    ("model", "number"),
    [
        ("gemini-2.5-pro", (2, 5)),
        ("models/gemini-2.0-flash-001", (2, 0)),
        ("gemini-3-pro-preview", (3, 0)),
        ("Gemini-3.1-Pro", (3, 1)),
        ("gemini-4-argon", (4, 0)),
        ("gemini-10.12-pro", (10, 12)),
        ("tunedModels/mine-of-gemini-2.5-flash-7", (2, 5)),
        ("gemini-flash-latest", (99, 0)),
        ("gemini-2025", (99, 0)),
        ("mine", (99, 0)),
        ("", (99, 0)),
    ],
)
def test_the_version_in_a_name(model, number):
    assert version(model) == number
    assert since_three(model) is (number >= (3, 0))


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3.1-pro-preview", "off", {"thinkingLevel": "LOW"}),
        ("gemini-3.1-pro-preview", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-3-pro-preview", "medium", {"thinkingLevel": "HIGH"}),
        ("gemini-3-flash-preview", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-4-argon", "high", {"thinkingLevel": "HIGH"}),
        ("gemini-flash-latest", "low", {"thinkingLevel": "LOW"}),
        ("models/gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", "low", {"thinkingBudget": 1024}),
        ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "medium", {"thinkingBudget": 8192}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
        ("gemini-2.0-flash", "high", {}),
        ("gemini-1.5-pro", "off", {}),
        ("gemini-3.5-flash", "", {}),
        ("gemini-2.5-flash", "", {}),
    ],
)
def test_effort(model, effort, config):
    assert thinking(model, effort) == config


@pytest.mark.parametrize(
    ("model", "level"),
    [
        ("gemini-3-flash-preview", "MINIMAL"),
        ("gemini-3.6-flash", "MINIMAL"),
        ("gemini-3.7-flash", "LOW"),
        ("gemini-3.8-flash", "LOW"),
        ("gemini-flash-latest", "LOW"),
        ("gemini-3.1-flash-lite", "MINIMAL"),
        ("gemini-3.8-flash-lite", "MINIMAL"),
        ("gemini-flash-lite-latest", "MINIMAL"),
    ],
)
def test_off_is_the_least_that_the_model_takes(model, level):
    assert thinking(model, "off") == {"thinkingLevel": level}
