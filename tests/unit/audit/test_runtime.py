"""A runtime with an audit: everything it does is told, and nothing is done for long that can't be."""

import shutil

import pytest

from callslip import Runtime, tool
from callslip.audit.book import FILE
from callslip.audit.lines import readable
from callslip.audit.settings import AuditSettings
from callslip.audit.verify import verify
from callslip.errors import CallslipError
from callslip.runtime.parts import Data
from callslip.runtime.redact import Redactor

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("OBSV-01")]


class Shop:
    def __init__(self, state):
        self.state = state
        self.paid = []

    def runtime(self, *, patience=60.0):
        @tool(risk="write", local_effect=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        runtime = Runtime(tools=[pay], state=self.state)
        runtime.configure(audit=AuditSettings(patience=patience))
        return runtime

    async def pay(self, amount, **how):
        async with self.runtime(**how) as runtime:
            return await runtime.dispatch([{"name": "pay", "input": {"amount": amount}}], session="s", step=str(amount))

    def entries(self):
        return [one.line.entry for one in readable(self.state / "audit" / FILE)]


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path / "state")


async def test_what_was_done_is_told_when_the_process_ends(shop):
    await shop.pay(12)
    told = [(entry.kind, entry.tool) for entry in shop.entries()]
    assert ("tool_dispatch", "pay") in told
    assert ("function_response", "pay") in told


async def test_no_effect_while_the_audit_has_failed_for_long(shop):
    await shop.pay(12)
    shutil.move(shop.state / "audit" / FILE, shop.state / "kept")
    (shop.state / "audit" / FILE).mkdir(mode=0o700)
    with pytest.raises(CallslipError, match="audit"):
        await shop.pay(13, patience=0.0)
    assert shop.paid == [12], "although this process has only just begun"
    (shop.state / "audit" / FILE).rmdir()
    shutil.move(shop.state / "kept", shop.state / "audit" / FILE)
    await shop.pay(13, patience=0.0)
    assert shop.paid == [12, 13]
    assert [entry.kind for entry in shop.entries()].count("tool_dispatch") == 2


async def test_a_failure_that_is_young_holds_up_nothing(shop):
    await shop.pay(12)
    shutil.move(shop.state / "audit" / FILE, shop.state / "kept")
    (shop.state / "audit" / FILE).mkdir(mode=0o700)
    await shop.pay(13)
    assert shop.paid == [12, 13]


async def report(runtime):
    return await verify(
        runtime.parts.ledger, runtime.parts.blobs, runtime.settings.state / "audit", Redactor(), anchors=[]
    )


@pytest.mark.requirement("LEDG-08")
async def test_of_an_encrypted_session_nothing_stands_in_clear_and_all_is_told(shop):
    async with shop.runtime() as runtime:
        runtime.configure(data=Data(encrypt=True))
        await runtime.dispatch([{"name": "pay", "input": {"amount": 987654321}}], session="s", step="1")
        await runtime.release("s")
        found = await report(runtime)
    assert shop.paid == [987654321]
    assert b"987654321" not in (shop.state / "audit" / FILE).read_bytes()
    (t1,) = [entry for entry in shop.entries() if entry.kind == "tool_dispatch"]
    assert t1.protected
    assert t1.arguments_blob.startswith("sealed:")
    assert (found.problems, found.notices) == ([], [])


async def test_control_without_encryption_it_does(shop):
    await shop.pay(987654321)
    assert b"987654321" in (shop.state / "audit" / FILE).read_bytes()
    async with shop.runtime() as runtime:
        assert (await report(runtime)).problems == []
