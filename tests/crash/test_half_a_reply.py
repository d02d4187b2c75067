"""Case 28: the model's reply half streamed, the process killed. The fragment leaves no trace, and makes no call."""

import asyncio
import signal

import pytest

from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.user_message import UserMessage
from callslip.ledgers.sqlite import SqliteLedger
from callslip.testing.chat_server import ChatServer, Says, Streams


def _chunk(**delta):
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}


@pytest.mark.requirement("RECO-03")
@pytest.mark.requirement("CALL-05")
def test_killed_amid_a_stream(processes, tmp_path):
    call = {"index": 0, "id": "x", "type": "function", "function": {"name": "pay", "arguments": '{"cents": 5}'}}
    half = Streams(
        chunks=[_chunk(role="assistant", content="I shall "), _chunk(tool_calls=[call]), _chunk(content="pay")],
        done=False,
        then_hangs=True,
    )
    with ChatServer([half, Says("Nothing was paid.")]) as server:
        victim = processes.start("streamed", server.base_url, "first")
        while victim.stdout.readline().strip() != "text pay":
            assert victim.poll() is None
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        successor = processes.start("streamed", server.base_url, "again")
        lines = successor.stdout.read().strip().splitlines()
        assert successor.wait() == 0
        requests = [request.body["messages"] for request in server.requests]
    assert lines[-1] == "finished Nothing was paid."
    assert "effect" not in lines
    assert requests[0] == requests[1], "the model is asked the same again"
    events = [type(stored.record.event) for stored in asyncio.run(_log(tmp_path))]
    assert events.count(ModelRequested) == 1
    assert events.count(UserMessage) == 1
    assert FunctionCall not in events


async def _log(folder):
    ledger = SqliteLedger(folder / "state" / "ledger.db")
    try:
        return await ledger.read("s")
    finally:
        await ledger.aclose()
