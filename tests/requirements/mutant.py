"""One deliberate break of a required behaviour, and the tests that must notice it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One deliberate break."""

    id: str
    name: str
    file: str
    """Below ``src/callslip``."""
    old: str
    """Occurs exactly once."""
    new: str
    tests: tuple[str, ...]
