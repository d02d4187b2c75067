"""The ``[[notify]]`` tables: what they may say, and what is refused before anything starts."""

from __future__ import annotations

import tomllib

import msgspec
import pytest

from callslip.errors import ConfigError
from callslip.notify.endpoint import (
    CommandEndpoint,
    Endpoint,
    LogEndpoint,
    WebhookEndpoint,
    check,
    fingerprint,
    label,
    place,
)
from callslip.notify.notice import NoticeKind


class Config(msgspec.Struct, forbid_unknown_fields=True):
    notify: tuple[Endpoint, ...] = ()


def read(text):
    return msgspec.convert(tomllib.loads(text), Config).notify


def test_tables_become_endpoints():
    made = read("""
        [[notify]]
        kind = "webhook"
        name = "ops"
        url = "https://hooks.example.com/x"
        secret_file = "~/hook.secret"
        only = ["approval_waiting", "log_broken"]
        include_arguments = true
        allow_hosts = ["hooks.example.com"]

        [[notify]]
        kind = "command"
        argv = ["notify-send", "Callslip"]

        [[notify]]
        kind = "log"
    """)
    check(made)
    webhook, command, log = made
    assert webhook.only == (NoticeKind.APPROVAL_WAITING, NoticeKind.LOG_BROKEN)
    assert webhook.include_arguments
    assert not command.include_arguments
    assert (command.argv, log.path) == (("notify-send", "Callslip"), "")


@pytest.mark.parametrize(
    "text",
    [
        '[[notify]]\nkind = "pigeon"',
        "[[notify]]\nurl = 'https://a.example/'",
        '[[notify]]\nkind = "webhook"',
        '[[notify]]\nkind = "log"\nurl = "https://a.example/"',
        '[[notify]]\nkind = "log"\nonly = ["everything"]',
        '[[notify]]\nkind = "command"\nargv = "notify-send x"',
    ],
)
def test_a_table_that_means_nothing_is_refused(text):
    with pytest.raises(msgspec.ValidationError):
        read(text)


def hook(url="https://a.example/x", **changes):
    return WebhookEndpoint(url=url, **({"secret_env": "HOOK"} | changes))


@pytest.mark.parametrize(
    ("endpoints", "why"),
    [
        ([hook("http://a.example/")], "plain http"),
        ([hook(secret_env="")], "either secret_file or secret_env"),
        ([hook(secret_file="/x")], "either secret_file or secret_env"),
        ([hook(secret_env="", secret_file="hook.secret")], "not an absolute path"),
        ([CommandEndpoint(argv=())], "names no program"),
        ([CommandEndpoint(argv=("",))], "names no program"),
        ([CommandEndpoint(argv=("tell", "a\0b"))], "names no program"),
        ([CommandEndpoint(argv=("./tell",))], "relative path"),
        ([CommandEndpoint(argv=("bin/tell",))], "relative path"),
        ([LogEndpoint(path="notices.jsonl")], "not absolute"),
        ([hook(), hook(name="twice")], "where another one leads"),
    ],
)
def test_what_could_never_work_is_refused(endpoints, why):
    with pytest.raises(ConfigError, match=why) as refused:
        check(endpoints)
    assert "Nothing was started" in str(refused.value)


def test_messages_name_an_endpoint_without_its_path_which_may_be_a_secret():
    assert label(hook("https://hooks.example.com/services/T0/B0/token?key=1")) == "webhook hooks.example.com"
    assert label(hook(name="ops\x1b[2J")) == "ops\\x1b[2J"
    assert label(CommandEndpoint(argv=("/usr/bin/tell", "token"))) == "command tell"
    assert label(LogEndpoint()) == "log stderr"
    assert label(LogEndpoint(path="/var/log/notices")) == "log notices"


def test_a_place_stays_the_same_while_other_settings_change():
    assert place(hook()) == place(hook(name="ops", only=(NoticeKind.LOG_BROKEN,)))
    assert fingerprint(hook()) != fingerprint(hook(name="ops"))
    assert (
        len({place(one) for one in (hook(), hook("https://a.example/y"), LogEndpoint(), LogEndpoint(path="/x"))}) == 4
    )
