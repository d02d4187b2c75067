"""The secret a webhook signs with is its owner's alone."""

from __future__ import annotations

import os

import pytest

from callslip.errors import ConfigError, StateRefused
from callslip.notify.endpoint import LogEndpoint, WebhookEndpoint
from callslip.notify.secret import held, keys_of
from callslip.notify.signing import key_of, new_secret


def from_file(path):
    return WebhookEndpoint(url="https://hooks.example.com/x", secret_file=str(path))


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "hook.secret"
    path.write_text(new_secret() + "\n")
    path.chmod(0o600)
    return path


def test_secrets_come_from_the_file_in_its_order(secret_file):
    secrets = [new_secret(), new_secret()]
    secret_file.write_text("\n".join(secrets) + "\n")
    assert keys_of(from_file(secret_file)) == tuple(map(key_of, secrets))


def test_or_from_a_variable(monkeypatch):
    secrets = [new_secret(), new_secret()]
    monkeypatch.setenv("HOOK", " ".join(secrets))
    assert keys_of(WebhookEndpoint(url="https://a.example/", secret_env="HOOK")) == tuple(map(key_of, secrets))


@pytest.mark.requirement("GATE-09")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_is_open_to_others_is_refused(secret_file, mode):
    assert keys_of(from_file(secret_file))  # the control: as 0600 it is good
    secret_file.chmod(mode)
    with pytest.raises(StateRefused, match=f"mode {mode:04o}.*chmod 600"):
        keys_of(from_file(secret_file))


@pytest.mark.requirement("GATE-09")
def test_a_file_of_somebody_else_is_refused(secret_file, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StateRefused, match="belongs to user"):
        keys_of(from_file(secret_file))


@pytest.mark.requirement("GATE-09")
def test_neither_a_link_nor_a_pipe_is_a_secret_file(secret_file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(secret_file)
    with pytest.raises(ConfigError, match="can't be read"):
        keys_of(from_file(link))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(StateRefused, match="no plain file"):
        keys_of(from_file(pipe))
    with pytest.raises(ConfigError, match="can't be read"):
        keys_of(from_file(tmp_path / "missing"))


@pytest.mark.parametrize("text", ["", "\n \n", " ".join([new_secret()] * 9), "password"])
def test_a_file_without_a_secret_is_refused_and_not_shown(secret_file, text):
    secret_file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        keys_of(from_file(secret_file))
    assert "password" not in str(refused.value)


def test_what_is_held_is_known_for_redaction(secret_file, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOK", "whsec_from_a_variable")
    endpoints = [
        from_file(secret_file),
        WebhookEndpoint(url="https://a.example/", secret_env="HOOK"),
        from_file(tmp_path / "missing"),
        LogEndpoint(),
    ]
    assert held(endpoints) == [secret_file.read_text().strip(), "whsec_from_a_variable"]
