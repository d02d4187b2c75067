"""All that some callers have taken, so that one look tells whether a claim meets any of it.

The same as asking ``Claim.conflicts`` of each of them, at a cost that doesn't grow with how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from callslip.core.claim import Claim, Kind


class Taken:
    """Each name is kept with whether anybody has it alone."""

    def __init__(self) -> None:
        self._named: dict[str, bool] = {}
        self._paths: dict[str, bool] = {}
        self._trees: dict[str, bool] = {}
        self._above: dict[str, bool] = {}
        """The folders above the paths."""

    def add(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            if claim.kind is Kind.SLOT:
                continue
            if claim.kind is Kind.NAMED:
                _add(self._named, claim.ids, claim)
                continue
            _add(self._paths, claim.ids, claim)
            _add(self._above, claim.above, claim)
            if claim.kind is Kind.TREE:
                _add(self._trees, claim.ids, claim)

    def meets(self, claims: Iterable[Claim]) -> bool:
        """Whether one of the claims conflicts with one that was added."""
        return any(self._meets(claim) for claim in claims)

    def _meets(self, claim: Claim) -> bool:
        if claim.kind is Kind.SLOT:
            return False
        if claim.kind is Kind.NAMED:
            return _bars(self._named, claim.ids, claim)
        return (
            _bars(self._paths, claim.ids, claim)
            or _bars(self._trees, claim.above, claim)
            or (claim.kind is Kind.TREE and _bars(self._above, claim.ids, claim))
        )


def _add(names: dict[str, bool], more: tuple[str, ...], claim: Claim) -> None:
    alone = not claim.shared
    for name in more:
        names[name] = names.get(name, False) or alone


def _bars(names: dict[str, bool], wanted: tuple[str, ...], claim: Claim) -> bool:
    if claim.shared:
        return any(names.get(name, False) for name in wanted)
    return any(name in names for name in wanted)
