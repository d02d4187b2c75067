"""Telemetry is told of by nobody unless the project or the application says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from callslip import Runtime
from callslip.build import build_parts
from callslip.config import parse_config
from callslip.errors import ConfigError
from callslip.runtime.live import Waiting, ignore, together
from callslip.telemetry.settings import Telemetry

pytestmark = pytest.mark.requirement("OBSV-02")


def test_nothing_is_watched_and_nothing_is_imported_unless_asked_for():
    assert build_parts(Runtime().settings).watch is ignore
    program = "import sys, callslip; callslip.Runtime().parts; sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_project_may_ask_for_it(tmp_path):
    config = parse_config(b"[telemetry]\notel = true", tmp_path / "callslip.toml")
    assert config.telemetry == Telemetry(otel=True)
    runtime = Runtime()
    runtime.configure(telemetry=config.telemetry)
    assert runtime.parts.watch is not ignore


def test_a_setting_that_means_nothing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="Did you mean otel"):
        parse_config(b"[telemetry]\notle = true", tmp_path / "callslip.toml")


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("callslip.telemetry.opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    runtime = Runtime()
    runtime.configure(telemetry=Telemetry(otel=True))
    with pytest.raises(ConfigError, match=r"callslip\[otel\]"):
        _ = runtime.parts


def test_one_watch_that_fails_disturbs_no_other(caplog):
    seen = []

    def fails(live):
        raise RuntimeError

    together(fails, ignore, seen.append)(Waiting(session="s", reason="r", until=None))
    assert len(seen) == 1
