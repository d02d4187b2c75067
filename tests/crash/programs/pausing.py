"""A call, or a model, that is tried again after a pause. Arguments: folder, socket, what, base URL, first?

Of a tool, the pause is drawn as long as it can be, so that the process can be killed in it.
"""

import asyncio
import sys
from pathlib import Path

import httpx2

from callslip import Context, Runtime, tool
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.model_failed import ModelFailed
from callslip.core.retry import Retry
from callslip.providers.openai_chat import OpenAIChat
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.live import Recorded
from callslip.runtime.parts import Limits

folder, _, what, url, mode = sys.argv[1:]


@tool(risk="read")
async def fetch(context: Context) -> str:
    """Fetch."""
    async with httpx2.AsyncClient() as client:
        (await client.post(f"{url}/fetch")).raise_for_status()
    return "fetched"


def watch(live):
    if isinstance(live, Recorded) and isinstance(live.record.event, AttemptFailed | ModelFailed):
        print(f"failed {live.record.event.attempt} {live.record.event.retry_at}", flush=True)


async def main():
    replies = [calling(("fetch", {})), "Done."]
    model = OpenAIChat("m", base_url=url, api_key="k") if what == "model" else Scripted(replies)
    limits = Limits(retry=Retry(attempts=3, base=2.0))
    runtime = Runtime(tools=[fetch], model=model, state=Path(folder) / "state", watch=watch, limits=limits)
    runtime.parts.draw = lambda: 1.0
    async with runtime:
        run = await (runtime.run("Go.", session="s") if mode == "first" else runtime.resume("s"))
        print(run.status, run.text, flush=True)


asyncio.run(main())
