"""Signatures are those of the Standard Webhooks specification, and of nothing else."""

from __future__ import annotations

import base64

import pytest

from callslip.errors import ConfigError, NotAuthorised
from callslip.notify import signing
from callslip.notify.verify import verify

# The specification's own example.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def sent(**changes):
    headers = {"webhook-id": ID, "webhook-timestamp": str(AT), "webhook-signature": SIGNATURE}
    return {name: value for name, value in (headers | changes).items() if value is not None}


def test_the_specifications_example_is_signed_as_it_says():
    assert signing.signature(signing.key_of(SECRET), ID, AT, BODY) == SIGNATURE


def test_a_genuine_message_gives_its_id():
    assert verify(SECRET, sent(), BODY, AT) == ID
    assert verify(SECRET, {name.title(): value for name, value in sent().items()}, BODY, AT + 0.5) == ID


@pytest.mark.parametrize(
    ("what", "headers", "body", "now"),
    [
        ("a body changed on the way", {}, BODY.replace(b"2432232314", b"2432232315"), AT),
        ("one byte more", {}, BODY + b" ", AT),
        ("another id", {"webhook-id": "msg_other"}, BODY, AT),
        ("another time", {"webhook-timestamp": str(AT + 1)}, BODY, AT),
        ("another signature", {"webhook-signature": SIGNATURE.replace("g0", "g1")}, BODY, AT),
        ("another version of the same bytes", {"webhook-signature": SIGNATURE.replace("v1,", "v1a,")}, BODY, AT),
        ("no version", {"webhook-signature": SIGNATURE.removeprefix("v1,")}, BODY, AT),
        ("a signature that is no ASCII", {"webhook-signature": "v1,é\udcff"}, BODY, AT),
        ("a replay of more than five minutes ago", {}, BODY, AT + 301),
        ("a message from more than five minutes ahead", {}, BODY, AT - 301),
        ("no id", {"webhook-id": None}, BODY, AT),
        ("no time", {"webhook-timestamp": None}, BODY, AT),
        ("no signature", {"webhook-signature": None}, BODY, AT),
        ("a time that is none", {"webhook-timestamp": f"{AT}.0"}, BODY, AT),
        ("a time in another script", {"webhook-timestamp": "١٦١٤٢٦٥٣٣٠"}, BODY, AT),
    ],
)
def test_anything_else_is_refused(what, headers, body, now):
    with pytest.raises(NotAuthorised, match="not to be believed"):
        verify(SECRET, sent(**headers), body, now)


def test_what_is_five_minutes_old_is_still_of_now():
    assert verify(SECRET, sent(), BODY, AT + 300) == verify(SECRET, sent(), BODY, AT - 300) == ID


def test_another_secret_believes_nothing():
    with pytest.raises(NotAuthorised):
        verify(signing.new_secret(), sent(), BODY, AT)


def test_while_a_secret_is_replaced_either_side_may_have_both():
    old, new = signing.new_secret(), signing.new_secret()
    both = signing.headers((signing.key_of(new), signing.key_of(old)), "m", AT, BODY)
    assert verify(old, both, BODY, AT) == verify(new, both, BODY, AT) == "m"
    only_old = signing.headers((signing.key_of(old),), "m", AT, BODY)
    assert verify([new, old], only_old, BODY, AT) == "m"
    with pytest.raises(NotAuthorised):
        verify(new, only_old, BODY, AT)


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec_not base64!",
        SECRET.removeprefix("whsec_"),
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        SECRET + "é",
    ],
)
def test_what_is_no_secret_is_refused_and_not_shown(secret):
    with pytest.raises(ConfigError) as refused:
        signing.key_of(secret)
    assert not secret or len(secret) < 10 or secret not in str(refused.value)


def test_new_secrets_are_secrets_and_new():
    made = {signing.new_secret() for _ in range(50)}
    assert len(made) == 50
    assert {len(signing.key_of(secret)) for secret in made} == {32}
