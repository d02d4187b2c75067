import pytest

from callslip.providers.openai_hosts import is_openais_own


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        (" https://API.openai.com/v1 ", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("https://mine.openai.azure.us/openai/v1", True),
        ("https://evilapi.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.example/api.openai.com", False),
        ("https://openai.azure.com.evil.example", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_whose_server_it_is(url, own):
    assert is_openais_own(url) is own
