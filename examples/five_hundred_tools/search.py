"""What a search finds, without a model.

python search.py QUERY…
"""

from __future__ import annotations

import asyncio
import sys

from library import TOOLS

from callslip.bound import bind
from callslip.core.routing import Routing


async def main() -> None:
    routing = Routing(defer="auto")
    finder = bind(TOOLS, routing).finder
    assert finder is not None
    found = await finder.search(sys.argv[1:], routing.offers)
    for match in found.matches:
        print(f"{match.query}: {', '.join(match.tools) or match.nothing}")
        if match.nearest:
            print(f"  nearest: {', '.join(match.nearest)}")


if __name__ == "__main__":
    asyncio.run(main())
