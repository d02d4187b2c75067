import httpx2
import pytest

from callslip.errors import ConfigError
from callslip.providers.gemini import Gemini, GeminiFormat
from callslip.providers.options import Options

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-pro", "/models/gemini-3-pro:"),
        ("models/gemini-3-pro", "/models/gemini-3-pro:"),
        ("tunedModels/mine-1", "/tunedModels/mine-1:"),
        ("../files/a?key=b#c", "/models/..%2Ffiles%2Fa%3Fkey%3Db%23c:"),
        ("tunedModels/../x", "/tunedModels/..%2Fx:"),
        ("a:generateContent", "/models/a%3AgenerateContent:"),
    ],
)
async def test_a_name_leads_nowhere_else(ask, model, path):
    for stream, method in ((False, "generateContent"), (True, "streamGenerateContent?alt=sse")):
        exchange = GeminiFormat(model, Options()).exchange(ask(stream=stream))
        assert exchange.path == path + method
        sent = await requested(model, ask(stream=stream))
        assert sent.url.raw_path.decode() == "/v1beta" + path + method


async def requested(model, request, key="k"):
    """The request as it goes out."""
    seen = []

    def answer(sent):
        seen.append(sent)
        return httpx2.Response(200, json={"candidates": []})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        await Gemini(model, base_url="https://example.test/v1beta/", api_key=key, http=http).reply(request)
    return seen[0]


async def test_the_key_is_a_header(ask):
    sent = await requested("m", ask())
    assert sent.headers["x-goog-api-key"] == "k"
    assert "x-goog-api-key" not in (await requested("m", ask(), key=None)).headers


def test_its_name_is_what_replies_are_known_by():
    made = Gemini("gemini-3-pro", base_url="https://example.test/v1beta", api_key=None)
    assert made.name == "gemini:gemini-3-pro"
    with pytest.raises(ConfigError):
        Gemini("m", base_url="ftp://example.test", api_key=None)
