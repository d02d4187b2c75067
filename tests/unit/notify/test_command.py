"""A program that is told."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from callslip.notify.channel import Delivered, Failed, Parcel
from callslip.notify.command import Command
from callslip.notify.deadline import within
from callslip.notify.endpoint import CommandEndpoint
from callslip.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

PARCEL = Parcel(id="ntc_1", body=b'{"id":"ntc_1"}')


def python(code, *words):
    return Command(CommandEndpoint(argv=(sys.executable, "-c", code, *words)))


async def test_it_gets_the_notice_on_standard_input_and_its_words_untouched(tmp_path):
    out = tmp_path / "out.json"
    code = (
        "import json, os, sys\n"
        "json.dump({'in': sys.stdin.read(), 'words': sys.argv[2:], 'cwd': os.getcwd(), "
        "'mark': 'CALLSLIP_OWNER' in os.environ, 'leader': os.getpid() == os.getsid(0)}, open(sys.argv[1], 'w'))"
    )
    os.environ["CALLSLIP_OWNER"] = "own_x"
    try:
        outcome = await python(code, str(out), "$HOME; *", "a b").send(PARCEL)
    finally:
        del os.environ["CALLSLIP_OWNER"]
    assert outcome == Delivered()
    assert json.loads(out.read_text()) == {
        "in": '{"id":"ntc_1"}\n', "words": ["$HOME; *", "a b"], "cwd": "/", "mark": False, "leader": True,
    }  # fmt: skip


async def test_any_other_end_than_zero_is_a_failure():
    assert await python("import sys; sys.exit(3)").send(PARCEL) == Failed(reason="the program ended with exit code 3")
    killed = await python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").send(PARCEL)
    assert killed == Failed(reason="the program was ended by signal 15")


async def test_a_program_that_reads_nothing_is_told_nevertheless():
    large = Parcel(id="x", body=b"y" * 1_000_000)
    assert await python("import os; os.close(0)").send(large) == Delivered()


async def test_a_program_that_is_not_there():
    outcome = await Command(CommandEndpoint(argv=("no-such-program-anywhere",))).send(PARCEL)
    assert outcome == Failed(reason="the program can't be started (No such file or directory)")


async def test_when_its_time_is_up_it_is_ended_with_all_its_children(tmp_path):
    """Positive control: both processes are seen alive before."""
    ready = tmp_path / "ready"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1] + '.new', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "time.sleep(600)"
    )
    clock = FakeClock()
    sending = asyncio.create_task(within(clock, 10, python(code, str(ready)).send(PARCEL)))
    while not ready.exists():
        await asyncio.sleep(0.005)
        assert not sending.done()
    process, child = map(int, ready.read_text().split())
    assert alive(process)
    assert alive(child)
    clock.advance(10)
    with pytest.raises(TimeoutError):
        await sending
    assert not alive(process)
    while alive(child):  # its new parent has yet to bury it
        await asyncio.sleep(0.005)


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False
