"""One of many who answer the same question at the same instant: folder, socket, wait, how often.

Says ``ready``, waits for a line, then answers so many times at once, in every way there is. Prints how many answers
were taken.
"""

import asyncio
import sys
from pathlib import Path

from callslip import Runtime
from callslip.errors import WaitConflict


async def main(state: Path, wait: str, times: int) -> None:
    async with Runtime(state=state) as runtime:
        await runtime.waits()  # open everything before the start
        print("ready", flush=True)
        sys.stdin.readline()

        async def answer(number: int) -> bool:
            try:
                if number % 3 == 0:
                    await runtime.approve(wait)
                elif number % 3 == 1:
                    await runtime.edit(wait, {"cents": 1})
                else:
                    await runtime.approve(wait, note="me too")
            except WaitConflict as error:
                if " by " not in str(error):  # whoever comes second is told who came first
                    raise
                return False
            return True

        print(sum(await asyncio.gather(*(answer(number) for number in range(times)))))


asyncio.run(main(Path(sys.argv[1]) / "state", sys.argv[3], int(sys.argv[4])))
