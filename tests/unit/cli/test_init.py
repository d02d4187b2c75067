import json
import re

import pytest
from click.testing import CliRunner

from callslip.cli.main import cli
from callslip.config import load_config
from callslip.policies.by_risk import RiskPolicy


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.delenv("CALLSLIP_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / "new"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def invoke(*words, code=0):
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == code, result.output
        return result

    return invoke


def test_what_it_writes_runs_at_once(call, tmp_path):
    result = call("init")
    assert "callslip run 'What is the weather in Oslo?' --session first" in result.stdout
    assert "21 degrees" in call("run", "What is the weather in Oslo?", "--session", "first").stdout
    assert "21 degrees" in call("run", "And now?", "--session", "first").stdout
    assert len(list((tmp_path / "new" / "notes").iterdir())) == 2
    assert "add_note" in call("show", "first").stdout
    call("doctor")
    assert "Nothing to say against 2 tools." in call("tools", "--lint").stdout
    assert json.loads(call("verify", "--json").stdout)["ok"]


@pytest.mark.parametrize("there", ["app.py", "callslip.toml"])
def test_it_overwrites_nothing(call, tmp_path, there):
    (tmp_path / "new" / there).write_text("mine")
    assert f"has {there} already" in call("init", code=2).stderr
    assert [path.name for path in (tmp_path / "new").iterdir()] == [there]
    assert (tmp_path / "new" / there).read_text() == "mine"


def test_elsewhere(call, tmp_path):
    (tmp_path / "other").mkdir()
    written = json.loads(call("init", "--project", str(tmp_path / "other"), "--json").stdout)["written"]
    assert written == [str(tmp_path / "other" / "callslip.toml"), str(tmp_path / "other" / "app.py")]
    assert "no folder" in call("init", "--project", "gone", code=2).stderr


def test_what_its_comments_suggest_can_be_said(call, tmp_path):
    call("init")
    file = tmp_path / "new" / "callslip.toml"
    file.write_text(re.sub(r"^# (?=\w+ = |\[|\")", "", file.read_text(), flags=re.MULTILINE))
    config = load_config(file.parent)
    assert config.policy["tool.add_note"] == "ask"
    assert config.limits.approval_expires
    assert config.audit.anchor
    assert config.notify
    assert config.workspace == "files"
    assert RiskPolicy(config.policy)
