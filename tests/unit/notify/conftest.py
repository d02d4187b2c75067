"""Sessions written by hand, a clock that stands still, and a notifier of them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from callslip.core import canon
from callslip.core.event import draft
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import inline
from callslip.core.tool import Recovery, Risk
from callslip.core.wait import WaitKind
from callslip.ledgers.memory import MemoryLedger
from callslip.notify.endpoint import LogEndpoint, WebhookEndpoint
from callslip.notify.notifier import Notifier
from callslip.notify.signing import new_secret
from callslip.ports.ledger import Owner
from callslip.testing.clock import FakeClock

ME = Owner(id="own_1", host="h", boot="b", process=1)
SECRET_VARIABLE = "HOOK_SIGNING"


def payload(value):
    return inline(canon.canonical(value))


def _asking(wait="wait_1", call="call_1", **changes):
    """What is recorded when a call waits for approval."""
    arguments = changes.pop("arguments", {"to": "Ada", "cents": 900})
    values = {
        "tool": "pay", "tool_version": "v1", "executor": "here", "requester": "ada", "rules": ("dangerous: ask",),
        "reason": "the policy asks", "binding": "b" * 64, "schema": payload({}), "arguments_digest": "d" * 64,
        "arguments": payload(arguments),
    } | changes  # fmt: skip
    return (
        FunctionCall(call_id=call, step="1.1", position=0, tool=values["tool"], arguments=payload(arguments)),
        ApprovalRequested(call_id=call, approval_id=wait, **values),
        WaitOpened(wait_id=wait, kind=WaitKind.APPROVAL, reason="the policy asks", call_id=call),
    )


def _parking(wait="wait_2", call="call_2", tool="send"):
    """What is recorded when nobody knows how a call ended."""
    arguments = payload({"to": "Bob"})
    return (
        FunctionCall(call_id=call, step="1.1", position=0, tool=tool.upper(), arguments=payload("{}")),
        ToolDispatch(
            call_id=call, attempt=1, nonce="n", tool=tool, tool_version="v1", arguments=arguments,
            arguments_digest="d", idempotency_key="k", risk=Risk.WRITE, recovery=Recovery.NEVER, rules=(),
            deadline=0, quiet_ms=0,
        ),
        CallParked(call_id=call, reason="nothing tells", code="unknown_outcome"),
        WaitOpened(wait_id=wait, kind=WaitKind.PARKED, reason="nothing tells", call_id=call),
    )  # fmt: skip


class Desk:
    """Writes sessions, and makes notifiers of them."""

    asking = staticmethod(_asking)
    parking = staticmethod(_parking)

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.ledger = MemoryLedger()
        self.told: list[str] = []
        self.secret = new_secret()
        self.made: list[Notifier] = []
        self._epochs: dict[str, int] = {}
        monkeypatch.setenv(SECRET_VARIABLE, self.secret)

    async def write(self, session, *events, outsider=False):
        """Append events to a session, which begins with its first."""
        if session not in self._epochs:
            head = await self.ledger.claim(session, ME, expected_epoch=0, at=self.clock.now())
            self._epochs[session] = head.epoch
            events = (SessionStarted(requester="ada"), *events)
        epoch = self._epochs[session]
        if outsider:
            (head,) = await self.ledger.heads(session)
            drafts = [draft(event, at=self.clock.now(), by="op", epoch=0, run="") for event in events]
            return await self.ledger.decide(session, drafts, expected=head.seq)
        drafts = [draft(event, at=self.clock.now(), by="own_1", epoch=epoch, run="run") for event in events]
        return await self.ledger.append(session, drafts, epoch=epoch)

    async def ask(self, session, wait="wait_1", **changes):
        """A call of ``pay`` that waits for a person's word."""
        return await self.write(session, *self.asking(wait, **changes))

    async def fail(self, session, reason="the model did not answer"):
        await self.write(session, RunEnded(status="failed", reason=reason))
        head = await self.ledger.claim(session, ME, expected_epoch=self._epochs[session], at=self.clock.now())
        self._epochs[session] = head.epoch

    def webhook(self, url, **changes) -> WebhookEndpoint:
        values = {"secret_env": SECRET_VARIABLE, "allow_hosts": ("127.0.0.1",)} | changes
        return WebhookEndpoint(url=url, **values)

    def notifier(self, *endpoints, **changes) -> Notifier:
        values = {
            "clock": self.clock,
            "folder": self.folder,
            "clean": lambda text: text.replace("hunter2-hunter2", "[redacted]"),
            "tell": self.told.append,
            "chance": random.Random(1),
        } | changes
        made = Notifier(self.ledger, endpoints, **values)
        self.made.append(made)
        return made

    async def again(self, *endpoints, **changes) -> Notifier:
        """A notifier of a process that begins after the others have ended."""
        for one in self.made:
            await one.aclose()
        return self.notifier(*endpoints, **changes)


@pytest.fixture
async def desk(tmp_path, monkeypatch):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    made = Desk(folder, monkeypatch)
    yield made
    for notifier in made.made:
        await notifier.aclose()


@pytest.fixture
def asking():
    """The events of a call that waits for a person's word."""
    return _asking


@pytest.fixture
def parking():
    """The events of a call of which nobody knows how it ended."""
    return _parking


@pytest.fixture
def log_file(tmp_path):
    return tmp_path / "notices.jsonl"


@pytest.fixture
def log_endpoint(log_file):
    return LogEndpoint(path=str(log_file))


@pytest.fixture
def lines(log_file):
    """The notices in the log file, as JSON."""

    def read():
        return [json.loads(line) for line in log_file.read_text().splitlines()] if log_file.exists() else []

    return read
