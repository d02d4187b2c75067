"""The figures of one tool, or one model, in the making."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from callslip.core.events.model_replied import Usage
from callslip.core.hedging import Hedged
from callslip.core.layers import of_error
from callslip.errors import Layer
from callslip.stats.figures import Durations, ModelStats, Reason, ToolStats, Waited
from callslip.stats.quantiles import Quantiles

_MOST_CODES = 100
_MORE = "(other)"
"""What codes of tools are counted as when there are more of them than anybody reads: tools make them up."""
Reasons = Counter[tuple[Layer, str]]


class ToolRow:
    """Counted up by ``stats/tally``."""

    __slots__ = (
        "attempt_failures", "attempts", "calls", "durations", "failed", "failures", "fallbacks", "hedged", "late",
        "open", "opened", "parked", "refused", "retries", "stood_in", "succeeded", "tool", "waits", "won_by_second",
    )  # fmt: skip

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.calls = self.succeeded = self.failed = self.refused = self.open = 0
        self.attempts = self.retries = self.late = self.fallbacks = self.stood_in = self.parked = self.opened = 0
        self.hedged = self.won_by_second = 0
        self.durations = Quantiles()
        self.failures: Reasons = Counter()
        self.attempt_failures: Reasons = Counter()
        self.waits: dict[str, Quantiles] = {}

    def waited(self, kind: str, milliseconds: int) -> None:
        """Count a wait."""
        self.waits.setdefault(kind, Quantiles()).add(milliseconds)

    def asked_twice(self, hedged: Hedged | None) -> None:
        """Count an attempt that was executed twice, if it was."""
        if hedged is not None:
            self.hedged += 1
            self.won_by_second += hedged.answered == "second"

    def figures(self) -> ToolStats:
        """As it stands."""
        ended = self.succeeded + self.failed
        return ToolStats(
            tool=self.tool,
            calls=self.calls,
            succeeded=self.succeeded,
            failed=self.failed,
            refused=self.refused,
            open=self.open,
            success_rate=self.succeeded / ended if ended else None,
            attempts=self.attempts,
            retries=self.retries,
            durations=durations(self.durations),
            failures=reasons(self.failures),
            attempt_failures=reasons(self.attempt_failures),
            waits=_waits(self.waits),
            hedged=self.hedged,
            won_by_second=self.won_by_second,
            late=self.late,
            fallbacks=self.fallbacks,
            stood_in=self.stood_in,
            parked=self.parked,
            opened=self.opened,
        )


class ModelRow:
    """The same for a model."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.replies = self.unusable = 0
        self.finishes: Counter[str] = Counter()
        self.failures: Reasons = Counter()
        self.tokens = Counter[str]()
        self.cost_micros = self.priced = 0
        self.durations = Quantiles()

    def replied(self, finish: str, usage: Usage, took: int | None) -> None:
        """Count a reply."""
        self.replies += 1
        self.finishes[finish] += 1
        self.tokens["input"] += usage.input_tokens
        self.tokens["output"] += usage.output_tokens
        self.tokens["cached"] += usage.cached_tokens
        self.tokens["reasoning"] += usage.reasoning_tokens
        if usage.cost_micros is not None:
            self.cost_micros += usage.cost_micros
            self.priced += 1
        if took is not None:
            self.durations.add(took)

    def no_reply(self, code: str) -> None:
        """Count a request that came to nothing."""
        count(self.failures, of_error(code), code)

    def figures(self) -> ModelStats:
        """As it stands."""
        return ModelStats(
            model=self.model,
            replies=self.replies,
            failed=self.failures.total(),
            failures=reasons(self.failures),
            unusable=self.unusable,
            finishes=dict(self.finishes.most_common()),
            input_tokens=self.tokens["input"],
            output_tokens=self.tokens["output"],
            cached_tokens=self.tokens["cached"],
            reasoning_tokens=self.tokens["reasoning"],
            cost_micros=self.cost_micros,
            priced=self.priced,
            durations=durations(self.durations),
        )


def count(into: Reasons, layer: Layer, code: str) -> None:
    """Count a reason, and no end of them."""
    key = (layer, code)
    into[key if key in into or len(into) < _MOST_CODES else (layer, _MORE)] += 1


def reasons(counted: Reasons) -> tuple[Reason, ...]:
    """The most frequent first, then by layer and code."""
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Reason(layer=layer, code=code, count=many) for (layer, code), many in ordered)


def durations(of: Quantiles) -> Durations | None:
    """What they come to; ``None`` without any."""
    if not of.count:
        return None
    return Durations(
        count=of.count,
        total_ms=of.total,
        p50_ms=of.at(0.50),
        p95_ms=of.at(0.95),
        p99_ms=of.at(0.99),
        longest_ms=of.longest,
    )


def _waits(of: dict[str, Quantiles]) -> tuple[Waited, ...]:
    ordered: Iterable[tuple[str, Quantiles]] = sorted(of.items(), key=lambda one: (-one[1].total, one[0]))
    found = ((kind, durations(one)) for kind, one in ordered)
    return tuple(Waited(kind=kind, durations=some) for kind, some in found if some is not None)
