"""A line for each notice."""

from __future__ import annotations

import json
import os
import stat

import pytest

from callslip.notify.channel import Delivered, Failed, Parcel
from callslip.notify.endpoint import LogEndpoint
from callslip.notify.log import Log

pytestmark = pytest.mark.anyio

BODY = json.dumps(
    {"id": "ntc_1", "type": "call_parked", "timestamp": "2023", "data": {"session": "s", "text": "Nobody knows."}}
).encode()
PARCEL = Parcel(id="ntc_1", body=BODY)


async def test_a_file_takes_one_json_line_each_and_is_its_owners(log_file):
    log = Log(LogEndpoint(path=str(log_file)))
    old = os.umask(0)
    try:
        assert await log.send(PARCEL) == Delivered()
    finally:
        os.umask(old)
    assert await log.send(PARCEL) == Delivered()
    assert log_file.read_bytes() == BODY + b"\n" + BODY + b"\n"
    assert stat.S_IMODE(log_file.stat().st_mode) == 0o600


async def test_standard_error_takes_a_sentence(capsys):
    assert await Log(LogEndpoint()).send(PARCEL) == Delivered()
    assert capsys.readouterr().err == "callslip: 2023 call_parked: Nobody knows. [ntc_1]\n"


async def test_a_closed_standard_error_is_a_failure_and_no_crash(monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as closed:
        pass
    os.close(reader)
    monkeypatch.setattr("sys.stderr", closed)
    assert isinstance(await Log(LogEndpoint()).send(PARCEL), Failed)


@pytest.mark.requirement("GATE-09")
@pytest.mark.parametrize("mode", [0o644, 0o660])
async def test_a_file_that_others_can_open_is_not_written(log_file, mode):
    log_file.touch()
    log_file.chmod(mode)
    outcome = await Log(LogEndpoint(path=str(log_file))).send(PARCEL)
    assert "mode 0600" in str(outcome) or "Operation" in str(outcome) or "notices.jsonl must" in str(outcome)
    assert isinstance(outcome, Failed)
    assert log_file.read_bytes() == b""


async def test_neither_a_link_nor_a_pipe_is_written(log_file, tmp_path):
    target = tmp_path / "target"
    target.touch(0o600)
    log_file.symlink_to(target)
    assert isinstance(await Log(LogEndpoint(path=str(log_file))).send(PARCEL), Failed)
    assert target.read_bytes() == b""
    log_file.unlink()
    os.mkfifo(log_file, 0o600)
    assert isinstance(await Log(LogEndpoint(path=str(log_file))).send(PARCEL), Failed)


async def test_a_folder_that_is_gone_is_said(tmp_path):
    outcome = await Log(LogEndpoint(path=str(tmp_path / "gone" / "x"))).send(PARCEL)
    assert outcome == Failed(reason="it can't be written: No such file or directory")
