"""kill -9 in the midst of an erasure or an import: found and finished, or as if it had never begun."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callslip import Runtime, failpoint, tool
from callslip.core.events.blob_erased import BlobErased
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Data
from callslip.sessions.erase import finish
from callslip.sessions.export import export_session
from callslip.sessions.import_ import import_session
from callslip.sessions.lifetime import collect
from callslip.sessions.project import project
from callslip.sessions.seal import seal
from callslip.sessions.verify import verify

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("programs") / "keeper.py"
ME = Identity(name="op", uid=7)
SAID = "Ada Lovelace owes five pounds"


@tool(risk="read")
def look_up(name: str) -> str:
    """Look somebody up."""
    return f"{name} lives at 12 St James's Square. " * 300


def made(folder, *replies):
    runtime = Runtime(tools=[look_up], model=Scripted(list(replies)), state=folder)
    runtime.configure(data=Data(encrypt=True))
    return runtime


@pytest.fixture
async def session(tmp_path):
    async with made(tmp_path / "state", calling(("look_up", {"name": "Ada"})), "Ada is in.") as runtime:
        await runtime.run(SAID, session="s")
    return tmp_path


def killed(folder, deed, instant):
    done = subprocess.run([sys.executable, str(PROGRAM), str(folder), deed, instant], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


async def erasures(runtime):
    return [one for one in await runtime.parts.ledger.read("s") if isinstance(one.record.event, BlobErased)]


@pytest.mark.requirement("LEDG-08")
@pytest.mark.parametrize("instant", [*failpoint.ERASURE, "commit.before", "commit.after"])
async def test_an_erasure_is_finished_by_whoever_comes_next(session, instant):
    killed(session, "erase", instant)
    async with made(session / "state", "-", "-", "Going on.") as runtime:
        assert not (await verify(runtime.parts, "s")).ok, "it is seen"
        assert list(await finish(runtime.parts)) == ["s"]
        assert len(await erasures(runtime)) == 1
        assert "Ada" not in repr(await project(runtime.parts, await runtime.state("s")))
        assert list((session / "state" / "blobs").glob("*/*")) == []
        assert [key.read_bytes() for key in (session / "state" / "keys").glob("*/1")] == [b""]
        assert (await verify(runtime.parts, "s", contents=True)).problems == []
        assert (await runtime.run("Go on.", session="s")).text == "Going on."


@pytest.mark.requirement("LEDG-06")
@pytest.mark.parametrize(
    "instant", [*failpoint.IMPORT, "blob.written", "blob.renamed", "commit.before", "commit.after"]
)
async def test_an_import_is_there_whole_or_not_at_all(session, instant):
    async with made(session / "state") as runtime:
        await seal(runtime.parts, "s", by=ME)
        await export_session(runtime.parts, "s", session / "s.clx")
        records = await runtime.parts.ledger.raw("s")
    killed(session, "import", instant)
    async with made(session / "there", "-", "-", "Going on.") as there:
        here = bool(await there.sessions())
        assert here == (instant == "commit.after")
        if not here:
            assert (await import_session(there.parts, session / "s.clx", by=ME)).proven
        assert (await there.parts.ledger.raw("s"))[:-1] == records
        assert (await verify(there.parts, "s", contents=True)).problems == []
        assert SAID in repr(await project(there.parts, await there.state("s")))
        assert (await there.run("Go on.", session="s")).text == "Going on."
        assert await collect(there.parts, there.parts.clock.now() + 7_200_000) == 0, "nothing half written was left"
        assert (await verify(there.parts, "s", contents=True)).problems == []
