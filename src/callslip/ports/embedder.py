"""What turns texts into vectors, so that search also finds what is meant in other words (DEFR-04)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Embedder(Protocol):
    """Implementations may be slow to make, and are asked within a search: for a query in milliseconds, if they can."""

    @property
    def name(self) -> str:
        """With :attr:`version`, what kept vectors go by."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same text would give another vector."""
        ...

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        ...

    @property
    def reads_unspaced(self) -> bool:
        """Whether it was trained on scripts without spaces (Chinese, Japanese, Korean, Thai). Where it was not, such a
        request goes by its words alone.
        """
        ...

    @property
    def remote(self) -> bool:
        """Whether :meth:`embed` waits for another machine or process; a search then belongs in a thread of its own."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """A numpy array of float32, one row a text, each of length 1.

        Raises:
            Exception: any; the search then goes by words alone, and says so.
        """
        ...
