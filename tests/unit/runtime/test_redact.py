"""Secrets in every spelling, and nothing else."""

import base64
import html
import json
import os
import random
import string
from urllib.parse import quote, quote_plus

import pytest

from callslip.core import canon
from callslip.runtime.redact import Redactor
from callslip.runtime.secret_shapes import DISTINCT, PLACES, WORDS

pytestmark = pytest.mark.requirement("RSLT-05")

HELD = [
    "hunter2hunter2",
    'correct"horse\\battery/ä',
    "k3y+with/base64=chars",
    "two words & <three>",
    "multi\nline\tkey-0",
]
ALPHABETS = (base64.b64encode, base64.urlsafe_b64encode)


def spelled(secret):
    raw = secret.encode()
    yield "as it is", secret
    yield "JSON", json.dumps(secret)[1:-1]
    yield "JSON in UTF-8", json.dumps(secret, ensure_ascii=False)[1:-1]
    yield "JSON with escaped slashes", json.dumps(secret)[1:-1].replace("/", "\\/")
    yield "JSON in JSON", escaped(secret, 2)
    yield "JSON in JSON in JSON", escaped(secret, 3)
    yield "a URL", quote(secret, safe="")
    yield "a path", quote(secret)
    yield "a form", quote_plus(secret)
    yield (
        "a URL in lower case",
        "".join(part.lower() if part.startswith("%") else part for part in split_escapes(quote(secret, safe=""))),
    )
    yield "HTML", html.escape(secret)
    yield "hexadecimal", raw.hex()
    yield "hexadecimal in capitals", raw.hex().upper()
    yield "Python", repr(secret)[1:-1]
    for encode in ALPHABETS:
        yield f"{encode.__name__}", encode(raw).decode()
        yield f"{encode.__name__} without its end", encode(raw).decode().rstrip("=")


def escaped(text, times):
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


def split_escapes(text):
    at = 0
    while at < len(text):
        step = 3 if text[at] == "%" else 1
        yield text[at : at + step]
        at += step


@pytest.mark.parametrize(
    ("secret", "spelling"),
    [pytest.param(one, text, id=f"{how}-{n}") for n, one in enumerate(HELD) for how, text in spelled(one)],
)
def test_a_held_secret_in_every_spelling(secret, spelling):
    redactor = Redactor([secret])
    assert redactor.clean(f"<{spelling}>") == "<[redacted]>"
    assert json.loads(redactor.clean_json(canon.canonical({"a": [f"<{spelling}>"]}))) == {"a": ["<[redacted]>"]}
    inner = canon.canonical({"body": f"<{spelling}>"}).decode()
    cleaned = json.loads(redactor.clean_json(canon.canonical({"answer": inner})))["answer"]
    assert "[redacted]" in cleaned, "also in a JSON text inside a string"
    assert spelling not in cleaned


@pytest.mark.parametrize("encode", ALPHABETS)
@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("secret", HELD)
def test_a_held_secret_amid_other_bytes_in_base64(encode, before, after, secret):
    text = encode(b"\xfb" * before + secret.encode() + b"\xff" * after).decode()
    cleaned = Redactor([secret]).clean(text)
    assert "[redacted]" in cleaned
    left = cleaned.replace("[redacted]", "")
    assert len(left) <= len(text) - (len(secret.encode()) * 8 // 6 - 2), "at most the characters it shares with others"


def test_white_space_around_a_held_secret_is_none_of_it():
    assert Redactor(["  hunter2hunter2\n"]).clean("it is hunter2hunter2.") == "it is [redacted]."


def test_short_ones_are_not_looked_for_and_none_at_all_is_no_harm():
    assert Redactor(["abc", "", "       "]).clean("abcdefgh") == "abcdefgh"
    assert Redactor().clean("") == ""
    assert Redactor().clean_json(b"{}") == b"{}"


def test_lone_surrogates_hide_nothing():
    assert Redactor(["hunter2hunter2"]).clean("\ud800 hunter2hunter2") == "� [redacted]"
    assert Redactor(["hunter2\ud800hunter2"]).clean("<hunter2\ud800hunter2>") == "<[redacted]>"


def b62(size, seed=0):
    dice = random.Random(seed)
    return "".join(dice.choice(string.ascii_letters + string.digits) for _ in range(size))


def hexes(size):
    return "".join(random.Random(1).choice("0123456789abcdef") for _ in range(size))


JWT = f"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{b62(80)}"
PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "", *[b62(64, n) for n in range(5)], "ab==",
     "-----END RSA PRIVATE KEY-----"]
)  # fmt: skip
SHAPES = {
    "OpenAI, old": "sk-" + b62(48), "OpenAI project": "sk-proj-" + b62(60) + "_T3BlbkFJ-" + b62(60),
    "OpenAI service": "sk-svcacct-" + b62(60), "OpenAI admin": "sk-admin-" + b62(60),
    "Anthropic": "sk-ant-api03-" + b62(93) + "AA", "OpenRouter": "sk-or-v1-" + hexes(64),
    "GitHub": "ghp_" + b62(36), "GitHub app": "ghs_" + b62(36), "GitHub fine": "github_pat_" + b62(22) + "_" + b62(59),
    "GitLab": "glpat-" + b62(20), "GitLab new": "glpat-" + b62(27) + ".01." + b62(9), "Slack bot": "xoxb-17653672481-19874698323-" + b62(24),
    "Slack app": "xapp-1-A0123456789-1234567890123-" + hexes(64), "AWS": "AKIAIOSFODNN7EXAMPLE", "AWS session": "ASIAIOSFODNN7EXAMPLE",
    "Google": "AIza" + b62(35), "Google token": "ya29." + b62(100), "Google refresh": "1//0g" + b62(60), "Google client": "GOCSPX-" + b62(28),
    "Stripe": "sk_live_" + b62(24), "Stripe restricted": "rk_test_" + b62(99), "Stripe hook": "whsec_" + b62(32),
    "JWT": JWT, "PEM": PEM, "PEM in JSON": PEM.replace("\n", "\\n"), "PEM cut short": PEM[:200],
    "OpenSSH": PEM.replace("RSA", "OPENSSH"), "PGP": PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    "SendGrid": "SG." + b62(22) + "." + b62(43), "Twilio": "SK" + hexes(32), "Telegram": "123456789:AA" + b62(33), "npm": "npm_" + b62(36),
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + b62(80), "Hugging Face": "hf_" + b62(34), "Groq": "gsk_" + b62(52), "xAI": "xai-" + b62(80),
    "Replicate": "r8_" + b62(37), "DigitalOcean": "dop_v1_" + hexes(64), "Shopify": "shpat_" + hexes(32), "Databricks": "dapi" + hexes(32),
    "Linear": "lin_api_" + b62(40), "Notion": "ntn_" + b62(46), "Atlassian": "ATATT3xFfGF0" + b62(170), "Postman": "PMAK-" + hexes(24) + "-" + hexes(34),
    "Vault": "hvs." + b62(90), "Doppler": "dp.pt." + b62(43), "Docker": "dckr_pat_" + b62(27), "Grafana": "glsa_" + b62(32) + "_" + hexes(8),
    "Tailscale": "tskey-auth-" + b62(17) + "-" + b62(31), "age": "AGE-SECRET-KEY-1" + b62(58).upper(),
    "JWE": "eyJhbGciOiJSU0EtT0FFUCJ9." + b62(342) + "." + b62(16) + "." + b62(60) + "." + b62(22),
}  # fmt: skip


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_what_real_keys_look_like(secret):
    clean = Redactor().clean
    assert clean(secret) == "[redacted]"
    if not secret.startswith(PEM[:90]) or "END" in secret:  # how far one goes that was cut short can't be told
        assert clean(f"before {secret}, after") == "before [redacted], after"
    assert clean(f"KEY={secret}") == "KEY=[redacted]"
    for held in (f"line\n{secret}", f"tab\t{secret}", f"%3D{secret}", f'{{"key": "{secret}"}}'):
        assert secret not in clean(held)
        assert json.loads(Redactor().clean_json(canon.canonical([held]))) == [clean(held)]
        inner = canon.canonical({"a": held}).decode()
        assert secret.replace("\n", "\\n") not in clean(inner), "also behind an escape that ends in a letter"


AROUND = {
    "a database": ("postgres://app:{}@db.internal:5432/app?ssl=1", "s3cr3t!pw"),
    "a database without a user": ("redis://:{}@cache:6379/0", "s3cr3tpw"),
    "a proxy": ("http://user.name:{}@proxy:8080", "p4ss-word"),
    "a header": ("Authorization: Bearer {}", b62(40)),
    "a header in JSON": ('{{"authorization": "Basic {}"}}', "dXNlcjpwYXNzd29yZA=="),
    "AWS's own file": ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    "AWS in JSON": ('{{"SecretAccessKey": "{}"}}', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    "Azure": ("AccountName=x;AccountKey={};EndpointSuffix=y", b62(86) + "=="),
    "a webhook of Slack": ("https://hooks.slack.com/services/{}", "T00000000/B00000000/" + b62(24)),
    "a webhook of Discord": ("https://discord.com/api/webhooks/1234567890/{}", b62(68)),
}


@pytest.mark.parametrize(("text", "secret"), AROUND.values(), ids=AROUND)
def test_secrets_that_are_known_by_where_they_stand(text, secret):
    held = text.format(secret)
    assert Redactor().clean(held) == text.format("[redacted]")
    for value in (held, canon.canonical({"a": held}).decode()):
        cleaned = Redactor().clean_json(canon.canonical({"b": value}))
        assert secret.encode() not in cleaned
        assert b"[redacted]" in cleaned


HARMLESS = [
    "task-management-system-overview-2024", "a desk-internationalizationframework2", "ab_SK" + "0" * 32, "a risk-assessment-and-mitigation-plan", "disk-encryption-settings-for-europe",
    "sk-learn", "ask sk-short", "https://example.com:8443/a@b", "https://github.com/user@host:path", "mailto:a@b.c",
    "http://localhost:8080/path?time=12:30@noon", "the bearer of this letter has authorization", "Authorization: required",
    "sha256:" + "a" * 64, "key-value-store-configuration", "AKIAAAA", "eyJ.eyJ.x", "SGML.is.not.a.key", "1//0 is no number",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----", "npm_config_registry",
    "hf_transfer is a package", "glpat", "xoxo-hugs", "rk_ and sk_test_", "access_key and session_token are names",
    "ssh://git@github.com:22/owner/repo.git", "12:30:45", "AIzaShort", "dapi", "hvs.", "2024-01-01T12:00:00+02:00",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_a_little_like_one_stays(text):
    assert Redactor(["hunter2hunter2"]).clean(text) == text
    whole = canon.canonical({"a": text, text: 1})
    assert Redactor(["hunter2hunter2"]).clean_json(whole) == whole


def test_two_secrets_with_one_character_between():
    assert Redactor().clean(f"{SHAPES['OpenAI, old']} {SHAPES['OpenAI, old']}") == "[redacted] [redacted]"
    assert Redactor(["hunter2hunter2"]).clean("hunter2hunter2hunter2hunter2") == "[redacted][redacted]"


def test_cleaning_twice_is_cleaning_once():
    redactor = Redactor(HELD)
    text = " ".join([*SHAPES.values(), *HELD, *(text.format(secret) for text, secret in AROUND.values())])
    once = redactor.clean(text)
    assert redactor.clean(once) == once


def test_a_number_is_never_torn_apart_and_the_rest_stays_byte_for_byte():
    text = b'{"a":[1.5e+300,12345678,true,null],"b":"x","n":12345678901234567890}'
    assert Redactor(["12345678"]).clean_json(text) == text
    assert Redactor(["hunter2hunter2"]).clean_json(text) == text


HOSTILE = [
    "-----BEGIN PRIVATE KEY-----",
    "eyJaaaaaaaaaa.",
    "://a:bbb@",
    "://a:",
    "Authorization: Bearer ",
    "xoxb-",
    "\\u00",
    "sk-",
]


@pytest.mark.untraced
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_it_slow(piece):
    """A megabyte that begins a shape over and over: in time that grows with its square this would take hours."""
    text = piece * (1_000_000 // len(piece))
    Redactor(HELD).clean(text)
    Redactor(HELD).clean_json(canon.canonical([text]))


def test_the_quick_look_misses_nothing_that_the_long_one_finds():
    """Any text around and in a secret: when strings hold one, the bytes of the whole must look as if they did."""
    dice = random.Random(7)
    redactor = Redactor(HELD)
    secrets = [*SHAPES.values(), *HELD, *(text.format(secret) for text, secret in AROUND.values())]
    around = [*string.printable, "ä", "\u2028", "\x01", "😀", '"', "\\", "\\n", "%20", "\\u0041"]
    for _ in range(3000):
        text = "".join(dice.choices(around, k=dice.randrange(4))) + dice.choice(secrets) + dice.choice(around)
        for value in (text, canon.canonical({"x": text}).decode()):
            expected = redactor.clean(value)
            assert json.loads(redactor.clean_json(canon.canonical([value]))) == [expected]


def test_every_shape_has_a_sample():
    import re

    clean = [re.compile(one) for one in (*DISTINCT, *WORDS)]
    assert [one.pattern for one in clean if not any(one.search(text) for text in SHAPES.values())] == []
    assert len(PLACES) <= len(AROUND)


def test_held_secrets_of_many_make_no_difference():
    many = [os.urandom(16).hex() for _ in range(200)]
    assert Redactor(many).clean(f"a {many[77]} b") == "a [redacted] b"
