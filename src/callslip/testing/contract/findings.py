"""Collecting violations so that no rule can be without its source."""

from __future__ import annotations

from collections.abc import Mapping

from callslip.testing.contract.violation import Violation


class Findings:
    """What a check has found so far. ``sources`` says for each rule who states it."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self.violations: list[Violation] = []

    def add(self, rule: str, path: str, message: str) -> None:
        """Note a broken rule. A rule without a source is a KeyError: a mistake of whoever wrote the check."""
        self.violations.append(Violation(rule=rule, message=message, path=path, source=self._sources[rule]))

    def unknown_fields(self, rule: str, value: Mapping[str, object], known: frozenset[str], path: str) -> None:
        """Note each field of ``value`` that is not among the known ones."""
        for name in value:
            if name not in known:
                place = f"{path}.{name}" if path else name
                self.add(rule, place, f"Unknown parameter: '{place}'.")
