"""What is said of settings that can't be read."""

import tomllib

import msgspec
import pytest

from callslip.config import Config
from callslip.misread import explain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stream = 1", "stream is true or false, and not a whole number."),
        ("[limits]\npoll = 'x'", "[limits] poll is a number, and not a text."),
        ("[model_options]\nmax_output_tokens = 1.5", "[model_options] max_output_tokens is a whole number, and not one with a fraction."),
        ("[model_options.price]\ninput = 1.0", "The setting `output` in [model_options.price] is missing."),
        ("[[notify]]\nkind = 'log'\n[[notify]]\npath = 'x'", "The setting `kind` in [[notify]] number 2 is missing."),
        ("policy = 3", "policy is a table, and not a whole number."),
        ("forbidden = ['a', 1]", "forbidden number 2 is a text, and not a whole number."),
        ("[servers]\nanthropic = 3", "[servers] NAME is a text, and not a whole number."),
        ("[capacities.db]\nat_onc = 1", "There is no setting `at_onc` in [capacities.NAME]. Did you mean at_once?"),
        ("[limits.retry]\nattempts = 0", "[limits.retry]: attempts is at least 1."),
        ("[capacities.x]", "[capacities.NAME]: A capacity without at_once and calls limits nothing. Give one of them, or both."),
        ("[capacities.x]\nper = 5", "[capacities.NAME]: A capacity without at_once and calls limits nothing."),
        ("'a.b' = 1", "There is no setting `a.b`. There are app, model,"),
    ],
)  # fmt: skip
def test_which_setting_and_what_it_may_be(text, said):
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(tomllib.loads(text), Config)
    assert explain(caught.value, Config).startswith(said)
    assert ".." not in explain(caught.value, Config)
    assert "`$" not in explain(caught.value, Config)
