"""What kind of failure an exception is: told of real clients' exceptions, and of those of clients that are not here."""

from __future__ import annotations

import errno
import socket
import ssl
import urllib.error

import httpx2
import pytest

from callslip.core.fault import UNKNOWN, Fault, classify, one_request
from callslip.core.retry_after import seconds

pytestmark = pytest.mark.requirement("RESI-01")


def foreign(module, *names, **attributes):
    """An exception of a package that is not installed: its class's name, after those of its bases."""
    kind = Exception
    for name in names:
        kind = type(name, (kind,), {"__module__": module})
    error = kind("secret words")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def status_of(status, headers=None):
    request = httpx2.Request("POST", "http://x")
    response = httpx2.Response(status, request=request, headers=headers)
    return httpx2.HTTPStatusError("secret words", request=request, response=response)


def told(error):
    fault = classify(error)
    return fault.transient, fault.nothing_sent


@pytest.mark.parametrize("status", range(400, 600))
def test_by_status(status):
    passes = {408, 425, 429, 500, 502, 503, 504, 529}
    fault = classify(status_of(status))
    assert (fault.transient, fault.said, fault.network) == (status in passes, f"status {status}", True)
    assert fault.effect is None, "an exception alone claims nothing"


@pytest.mark.parametrize("status", [408, 409, 410, 500, 502, 503, 504, 529])
def test_a_status_behind_which_it_may_have_happened(status):
    assert one_request(status_of(status)) is None


def test_503_with_a_time_says_that_it_was_not_done():
    assert one_request(status_of(503, {"retry-after": "3"})).effect == "none"
    assert classify(status_of(503, {"retry-after": "3"})).retry_after == 3


@pytest.mark.parametrize(
    "error",
    [
        foreign("requests.exceptions", "HTTPError", response=httpx2.Response(429, headers={"Retry-After": "7"})),
        foreign("aiohttp.client_exceptions", "ClientResponseError", status=429, headers={"Retry-After": "7"}),
        foreign("openai", "RateLimitError", status_code=429, response=httpx2.Response(429, headers={"retry-after": "7"})),
        foreign("google.api_core.exceptions", "TooManyRequests", code=429, response=httpx2.Response(429, headers={"retry-after": "7"})),
        foreign("botocore.exceptions", "ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 429, "HTTPHeaders": {"retry-after": "7"}}}),
        urllib.error.HTTPError("http://x", 429, "slow down", {"Retry-After": "7"}, None),
    ],
    ids=lambda error: type(error).__module__,
)  # fmt: skip
def test_the_status_is_found_wherever_a_client_keeps_it(error):
    fault = classify(error)
    assert (fault.transient, fault.retry_after, fault.nothing_sent, fault.said) == (True, 7, True, "status 429")


NOT_SENT, MAYBE, STAYS = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionRefusedError(), NOT_SENT),
        (OSError(errno.ECONNREFUSED, "no"), NOT_SENT),
        (socket.gaierror(socket.EAI_AGAIN, "later"), NOT_SENT),
        (socket.gaierror(socket.EAI_NONAME, "never"), (False, True)),
        (ConnectionResetError(), MAYBE),
        (BrokenPipeError(), MAYBE),
        (TimeoutError(), MAYBE),
        (OSError(errno.EHOSTUNREACH, "no"), MAYBE),
        (httpx2.ConnectTimeout("x"), NOT_SENT),
        (httpx2.PoolTimeout("x"), NOT_SENT),
        (httpx2.ConnectError("x"), NOT_SENT),
        (httpx2.ReadTimeout("x"), MAYBE),
        (httpx2.WriteTimeout("x"), MAYBE),
        (httpx2.ReadError("x"), MAYBE),
        (httpx2.RemoteProtocolError("x"), MAYBE),
        (httpx2.UnsupportedProtocol("x"), STAYS),
        (httpx2.LocalProtocolError("x"), STAYS),
        (foreign("requests.exceptions", "ConnectionError"), MAYBE),
        (foreign("requests.exceptions", "ConnectionError", "ConnectTimeout"), NOT_SENT),
        (foreign("requests.exceptions", "ConnectionError", "SSLError"), STAYS),
        (foreign("requests.exceptions", "Timeout", "ReadTimeout"), MAYBE),
        (foreign("requests.exceptions", "ConnectionError", args=(foreign("urllib3.exceptions", "MaxRetryError", reason=foreign("urllib3.exceptions", "NewConnectionError")),)), NOT_SENT),
        (foreign("requests.exceptions", "ConnectionError", args=(foreign("urllib3.exceptions", "ProtocolError", args=("broke", ConnectionResetError())),)), MAYBE),
        (foreign("aiohttp.client_exceptions", "ClientConnectionError", "ServerDisconnectedError"), MAYBE),
        (foreign("aiohttp.client_exceptions", "ClientConnectionError", "ClientConnectorError"), NOT_SENT),
        (foreign("aiohttp.client_exceptions", "ClientConnectorError", "ClientConnectorCertificateError"), STAYS),
        (foreign("openai", "APIConnectionError"), MAYBE),
        (urllib.error.URLError(ConnectionRefusedError()), NOT_SENT),
        (urllib.error.URLError("no"), (None, False)),
        (ValueError("x"), (None, False)),
        (foreign("mine", "ConnectTimeout"), (None, False)),
        (foreign("mine", "Odd", code=503), (None, False)),
        (foreign("mine", "Odd", status=True), (None, False)),
        (foreign("mine", "Odd", status=200), (None, False)),
        (KeyboardInterrupt(), (None, False)),
    ],
)  # fmt: skip
def test_by_what_was_raised(error, expected):
    assert told(error) == expected


def test_a_certificate_that_is_not_trusted_stays_so():
    error = httpx2.ConnectError("x")
    error.__cause__ = ssl.SSLCertVerificationError("x")
    assert told(error) == STAYS


def test_an_error_made_of_another_is_as_passing_as_that_one():
    error = ValueError("no answer")
    error.__cause__ = httpx2.ReadTimeout("x")
    assert told(error) == MAYBE


def test_an_earlier_request_that_was_come_to_terms_with_proves_nothing():
    error = httpx2.ReadError("x")
    error.__context__ = ConnectionRefusedError()
    assert told(error) == MAYBE
    error = ValueError("x")
    error.__context__ = ConnectionRefusedError()
    assert classify(error) == UNKNOWN


def test_an_exception_whose_attributes_fail_or_go_round_says_nothing():
    class Awkward(Exception):
        @property
        def response(self):
            raise RuntimeError

        @property
        def status(self):
            raise KeyError

    assert classify(Awkward()) == UNKNOWN
    one, two = foreign("aiohttp", "ClientConnectorError"), foreign("aiohttp", "ClientConnectorError")
    one.os_error, two.os_error = two, one
    one.__cause__, two.__cause__ = two, one
    assert told(one) == NOT_SENT


def test_nothing_of_an_exceptions_own_words_is_said():
    for error in (status_of(503), httpx2.ReadError("secret words"), foreign("requests", "Timeout")):
        assert "secret" not in classify(error).said


def test_a_fault_is_what_a_classifier_gives():
    assert Fault(transient=True, effect="none").retry_after is None


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("given", "date", "now", "expected"),
        [
            ("7", "", None, 7),
            (" 7 ", "", None, 7),
            ("9999999999999999", "", None, 1e16),
            ("9" * 401, "", None, float("inf")),
            ("Wed, 21 Oct 2015 07:28:09 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", 0, 9),
            ("Wed, 21 Oct 2015 07:28:09 GMT", "", 1_445_412_480_000, 9),
            ("Wed, 21 Oct 2015 07:28:09 GMT", "", None, None),
            ("Wed, 21 Oct 2015 07:28:09 GMT", "Wed, 21 Oct 2015 08:28:00 GMT", None, 0),
            ("٧", "", None, None),
            ("1.5", "", 0, 2),
            ("1.", "", 0, 1),
            ("0.2", "", 0, 1),
            ("1.5.2", "", 0, None),
            ("-1.5", "", 0, None),
            ("nan", "", 0, None),
            ("1e3", "", 0, None),
            ("", "", 0, None),
        ],
    )
    def test_seconds_and_dates(self, given, date, now, expected):
        assert seconds(given, date, now) == expected
