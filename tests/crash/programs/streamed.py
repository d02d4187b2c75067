"""A session whose model streams, driven until it is killed or done. Arguments: folder, socket, base URL, first?"""

import asyncio
import sys
from pathlib import Path

from callslip import Runtime, tool
from callslip.providers.openai_chat import OpenAIChat
from callslip.runtime.live import ModelText

folder, _, url, mode = sys.argv[1:]


@tool(risk="write")
def pay(cents: int) -> str:
    """Pay."""
    print("effect", flush=True)
    return "paid"


def watch(live):
    if isinstance(live, ModelText):
        print(f"text {live.text}", flush=True)


async def main():
    model = OpenAIChat("m", base_url=url, api_key="k")
    async with Runtime(tools=[pay], model=model, state=Path(folder) / "state", stream=True, watch=watch) as runtime:
        run = await (runtime.run("Pay 5.", session="s") if mode == "first" else runtime.resume("s"))
        print(run.status, run.text, flush=True)


asyncio.run(main())
