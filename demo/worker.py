"""The process that drives the agent, says what happens as lines of JSON, and is killed.

``--hold TOOL`` makes it stand still between that tool's effect and the record of its outcome (T2), until SIGKILL comes:
so that the kill is a real one and yet always falls into the gap that matters.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from callslip import failpoint
from callslip.application import Run
from callslip.clocks.system import SystemClock
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.errors import CallslipError
from callslip.ports.model import Model
from callslip.ports.trust import Identity
from callslip.providers.openai_chat import OpenAIChat
from callslip.providers.recorded import Recorded, Recorder
from callslip.runtime.live import Live, Recorded as Durable, Waiting
from callslip.trust.file import FileTrust
from callslip.trust.on_hand import on_hand
from demo.app import rt
from demo.parent import end_with_parent

NOT_KILLED = 70
_LONGEST_HOLD = 600


def say(kind: str, **what: Any) -> None:
    """One line for the story."""
    print(msgspec.json.encode({"kind": kind, **what}).decode(), flush=True)


class Hold:
    """Stands still at one instant of one tool's call."""

    def __init__(self, tool: str, instant: str) -> None:
        self._tool, self._instant, self._running = tool, instant, ""

    def watch(self, live: Live) -> None:
        """Say what became durable, and keep in mind which tool runs."""
        if isinstance(live, Durable):
            if isinstance(live.record.event, ToolDispatch):
                self._running = live.record.event.tool
            say("record", seq=live.seq, event=live.record.event)
        elif isinstance(live, Waiting):
            seconds = 0.0 if live.until is None else max(0.0, live.until / 1000 - time.time())
            say("waiting", reason=live.reason, seconds=seconds)

    def hit(self, instant: str) -> None:
        """An instant has come. This stops the event loop itself: nothing more can be recorded."""
        if instant == self._instant and self._running == self._tool:
            say("held", tool=self._tool, instant=instant)
            time.sleep(_LONGEST_HOLD)
            os._exit(NOT_KILLED)


def model(name: str | None, replies: Path, record: Path | None) -> Model:
    """A live model of any server that speaks Chat Completions, or the replies in a file."""
    if name is None:
        return Recorded(replies)
    url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    recorder = Recorder(record) if record else None
    return OpenAIChat(name, base_url=url, api_key=os.environ.get("OPENAI_API_KEY"), on_raw=recorder)


def me() -> Identity:
    """Whose key is on hand: the session is begun in their name. While nobody is enrolled, the account's."""
    assert rt.settings.state is not None
    return on_hand(FileTrust(rt.settings.state, clock=SystemClock()).standing())


async def drive(session: str, text: str | None) -> Run:
    """Begin the session with a text, or go on with it."""
    async with rt:
        return await (rt.resume(session) if text is None else rt.run(text, session=session))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The demo's worker.")
    parser.add_argument("session")
    parser.add_argument("--text", help="what the user says; without it the session is resumed")
    parser.add_argument("--hold", default="", help="the tool at which to wait for the kill")
    parser.add_argument("--instant", default="effect.after", choices=failpoint.NAMES)
    parser.add_argument("--model")
    parser.add_argument("--replies", type=Path)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(argv)
    end_with_parent()
    hold = Hold(options.hold, options.instant)
    failpoint.listen(hold.hit)
    rt.configure(watch=hold.watch, model=model(options.model, options.replies, options.record), identity=me())
    try:
        run = asyncio.run(drive(options.session, options.text))
    except CallslipError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    say("end", status=run.status, text=run.text, reason=run.reason)
    return {"finished": 0, "waiting": 3}.get(run.status, 4)


if __name__ == "__main__":
    sys.exit(main())
