"""Breaks of how the tasks of one process share its sessions."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

FILE = "sessions/holding.py"
TESTS = ("tests/unit/sessions/test_holding.py",)

HOLDING: Sequence[Mutant] = (
    Mutant(
        "LEDG-03", "a session that a dispatch reads anew may be let go of", FILE,
        "        held.users += 1  # before the first await: from here on nobody lets go of it\n        try:\n"
        "            await held.drive.refresh()\n",
        "        try:\n            await held.drive.refresh()\n            held.users += 1\n",
        TESTS,
    ),
    Mutant(
        "LEDG-03", "the end of one hold is the end of another", FILE,
        "or self.held.get(session) is not held:\n            return\n        async with self._lock(session):\n"
        "            if self.held.get(session) is held:\n",
        "or False:\n            return\n        async with self._lock(session):\n            if session in self.held:\n",
        TESTS,
    ),
    Mutant(
        "LEDG-03", "who takes a session doesn't wait until it is let go of", FILE,
        "            async with self._lock(session):\n                self._refuse_if_closing()\n                yield",
        "            self._refuse_if_closing()\n            yield",
        TESTS,
    ),
    Mutant(
        "LEDG-03", "what was being taken while all was closed begins", FILE,
        "                    self._refuse_if_closing()\n                    held.users += 1",
        "                    held.users += 1",
        TESTS,
    ),
    Mutant(
        "LEDG-03", "closing doesn't wait for what is being taken", FILE,
        "while self._under_way or self.driven", "while self.driven",
        TESTS,
    ),
)  # fmt: skip
