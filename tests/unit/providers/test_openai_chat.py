"""What needs no server: the settings that are refused, and that the key shows nowhere."""

import socket
import ssl

import httpx2
import pytest

from callslip.errors import ConfigError
from callslip.providers.faults import Faults
from callslip.providers.openai_chat import OpenAIChat

KEY = "sk-very-secret-0123456789"


def test_the_name_and_the_repr_hold_no_key_and_no_path():
    model = OpenAIChat("m/large", base_url="https://example.test/v1?api-version=1", api_key=KEY)
    assert model.name == "openai_chat:m/large"
    assert repr(model) == "OpenAIChat('m/large', base_url='https://example.test')"


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000/v1", "ftp://example.test", "http://", "/v1", "http://h:x/", "http://a\0b/", "file:///etc"],
)
def test_an_address_that_is_none(url):
    with pytest.raises(ConfigError, match="full http or https address"):
        OpenAIChat("m", base_url=url, api_key=None)


def test_an_address_with_a_password_is_refused_without_showing_it():
    with pytest.raises(ConfigError, match="user name or password") as caught:
        OpenAIChat("m", base_url="https://me:hunter2@example.test/v1", api_key=None)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY}é", f"{KEY}\0"])
def test_a_key_that_can_not_be_sent_is_refused_without_showing_it(key):
    with pytest.raises(ConfigError, match="API key") as caught:
        OpenAIChat("m", base_url="http://example.test", api_key=key)
    assert KEY not in str(caught.value)


async def _asked(ask, **settings):
    seen = []

    def handler(request):
        seen.append(request)
        return httpx2.Response(200, json={"choices": [{"message": {"content": "Hi"}}]})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(handler), follow_redirects=True) as http:
        await OpenAIChat("m", http=http, **settings).reply(ask())
    return seen[0]


@pytest.mark.anyio
async def test_the_key_is_sent_without_the_line_break_of_its_file(ask):
    request = await _asked(ask, base_url="http://example.test/v1/", api_key=KEY + "\n")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert str(request.url) == "http://example.test/v1/chat/completions"


@pytest.mark.anyio
async def test_the_query_of_the_base_url_is_kept(ask):
    request = await _asked(ask, base_url="https://example.test/v1?api-version=1", api_key=None)
    assert str(request.url) == "https://example.test/v1/chat/completions?api-version=1"


@pytest.mark.anyio
async def test_no_compression_is_asked_for(ask):
    assert (await _asked(ask, base_url="http://example.test", api_key=None)).headers["accept-encoding"] == "identity"


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "says", "retryable"),
    [
        (httpx2.ConnectTimeout("x"), "could not be reached in time", True),
        (httpx2.PoolTimeout("x"), "could not be reached in time", True),
        (httpx2.ReadTimeout("x"), "was silent", True),
        (httpx2.WriteTimeout("x"), "was silent", True),
        (httpx2.ReadError("x"), "closed the connection", True),
        (httpx2.RemoteProtocolError("x"), "closed the connection", True),
        (httpx2.ProxyError("x"), "proxy", True),
        (httpx2.LocalProtocolError("x"), "could not be asked (LocalProtocolError)", False),
        (httpx2.ConnectError("x"), "could not be reached.", True),
        (caused(httpx2.ConnectError("x"), ConnectionRefusedError(111, "x")), "refused the connection", True),
        (caused(httpx2.ConnectError("x"), socket.gaierror(socket.EAI_NONAME, "x")), "host name nobody knows", False),
        (caused(httpx2.ConnectError("x"), socket.gaierror(socket.EAI_AGAIN, "x")), "host name nobody knows", True),
        (caused(httpx2.ConnectError("x"), ssl.SSLCertVerificationError("x")), "over TLS", False),
        (
            caused(httpx2.ConnectError("x"), ExceptionGroup("x", [OSError("y"), ConnectionRefusedError(111, "x")])),
            "refused the connection",
            True,
        ),
    ],
)
def test_transport_errors(error, says, retryable):
    made = Faults("http://example.test", KEY).transport(error)
    assert says in str(made)
    assert "Nothing was executed, and the session can be resumed." in str(made)
    assert made.can_retry is retryable


def test_a_circle_of_causes_ends():
    error, cause = httpx2.ConnectError("x"), OSError("y")
    caused(error, cause)
    cause.__context__ = error
    assert "could not be reached" in str(Faults("http://example.test", KEY).transport(error))


def test_a_long_quote_is_cut_after_the_key_was_struck_out():
    quoted = Faults("http://example.test", KEY).quote("x" * 290 + KEY + "y" * 100)
    assert len(quoted) == 301
    assert "sk-" not in quoted
