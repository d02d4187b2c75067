"""The person at the office, as a process of its own: lists what waits, and says what became of a parked call."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from demo.app import rt


def say(kind: str, **what: Any) -> None:
    """One line for the story."""
    print(msgspec.json.encode({"kind": kind, **what}).decode(), flush=True)


async def work(options: argparse.Namespace) -> None:
    """List the waits, or resolve one."""
    async with rt:
        if options.wait is None:
            for wait in await rt.waits():
                say("wait", **msgspec.structs.asdict(wait))
            return
        result = {"posted": True} if options.verdict == "happened" else None
        await rt.resolve(options.wait, options.verdict, reason=options.reason, result=result)
        say("resolved", wait=options.wait)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The demo's operator.")
    parser.add_argument("wait", nargs="?", help="the wait to answer; without it, those that are open are listed")
    parser.add_argument("verdict", nargs="?", choices=("happened", "did_not_happen", "give_up"))
    parser.add_argument("--reason", default="")
    asyncio.run(work(parser.parse_args(argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
