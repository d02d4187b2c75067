"""Models by name: what is understood, and what is said of a name that is none."""

from typing import get_args

import pytest

from callslip.errors import ConfigError
from callslip.models import KINDS, build_model, split
from callslip.providers.options import Provider


def test_every_provider_is_known_to_the_configuration():
    assert set(get_args(Provider)) == set(KINDS)


@pytest.mark.parametrize("name", ["mistral:x", " mistral:x ", "mistral : x"])
def test_spaces_mean_nothing(name):
    assert split(name) == ("mistral", "x")
    assert build_model(name, base_url="http://127.0.0.1:1").name == "mistral:x"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "The model's name is empty."),
        ("  ", "The model's name is empty."),
        ("anthropic", "can't be built: behind anthropic: there is no name."),
        ("recorded:", "behind recorded: there is no name."),
        ("gpt-5", "it does not say whose it is."),
        ("Anthropic:foo", "there is no provider 'Anthropic'. Did you mean anthropic:foo?"),
        ("antropic:a:b", "Did you mean anthropic:a:b?"),
        ("zzz:x", "there is no provider 'zzz'. Nothing was started. Name it openai:NAME,"),
    ],
)
def test_why_there_is_no_such_model(name, said):
    with pytest.raises(ConfigError) as caught:
        build_model(name)
    assert said in str(caught.value)
