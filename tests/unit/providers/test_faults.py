"""What a server's error says is passed on in its own words, wherever in the error they stand."""

import json

import httpx2
import pytest

from callslip.providers.faults import Faults

pytestmark = pytest.mark.requirement("WIRE-06")
KEY = "sk-very-secret"


def of_status(status, body, **headers):
    return Faults("http://server", KEY).status(status, httpx2.Headers(headers), json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no", "code": "x"}}, "no"),
        ({"error": "no"}, "no"),
        ([{"error": {"message": "no"}}], "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body", "messages", 0], "msg": "no"}, {"msg": "nor that"}]}, "body.messages.0: no; nor that"),
        ({"object": "error", "message": {"detail": [{"msg": "no"}]}}, "no"),
        ({"message": {"message": {"message": {"message": {"message": "too deep"}}}}}, None),
        ({"detail": [{"msg": 7}, None, []]}, None),
    ],
)  # fmt: skip
def test_its_words_are_found(body, said):
    told = str(of_status(422, body))
    assert "answered with status 422" in told
    assert (f": {said}." in told) if said else ("422. Nothing" in told)


@pytest.mark.parametrize("code", ["context_length_exceeded", "invalid_prompt", "insufficient_quota", "image_too_large"])
def test_what_stays_is_not_asked_again(code):
    assert not of_status(500, {"error": {"message": "no", "code": code}}).can_retry
    assert not Faults("http://server", KEY).in_body({"message": "no", "code": code}).can_retry
    assert Faults("http://server", KEY).in_body({"message": "no", "code": "server_error"}).can_retry


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_the_key_stands_nowhere(status):
    told = of_status(status, {"error": {"message": f"Wrong key {KEY}"}})
    assert KEY not in str(told)
    assert told.can_retry is (status in {429, 500})


def test_a_wrong_key_of_google_is_one_sentence():
    error = {"code": 400, "message": f"API key not valid: {KEY}.", "status": "INVALID_ARGUMENT"}
    error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    told = str(of_status(400, {"error": error}))
    assert "did not accept the API key" in told
    assert KEY not in told
    assert "answered with status 400: a field" in str(
        of_status(400, {"error": {"message": "a field.", "details": [7]}})
    )


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({"retry-after": "99999999999999999999"}, {}, 1e20),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, {}, 30),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, {}, 0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT"}, {}, None),
        ({"retry-after": "soon", "date": "now"}, {}, None),
        ({"retry-after": "-3"}, {}, None),
        ({}, {"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}]}}, 37.5),
        ({}, {"error": "no"}, None),
    ],
)  # fmt: skip
def test_when_to_ask_again(headers, body, seconds):
    told = of_status(429, body, **headers)
    assert told.retry_after == seconds
    assert ("Resume later" in str(told)) is (seconds is None or seconds > 86_400)
