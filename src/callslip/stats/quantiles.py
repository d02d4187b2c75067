"""Percentiles of durations: exact of few, within a hundredth of many, in bounded memory.

Up to :data:`EXACT` values are kept as they are. From then on each falls into a bucket whose bounds are 2 % apart, so
that the middle of a bucket is off by at most 1 % of any value in it: the sketch of Masson, Rim and Lee, "DDSketch: a
fast and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12 (2019), without its collapsing, since
whole milliseconds up to a hundred years take no more than 1,500 buckets.
"""

from __future__ import annotations

import math
from collections import Counter

EXACT = 1_000
"""Values that are kept as they are."""
_STEP = 1.02
_LOG = math.log(_STEP)
_MIDDLE = 2 / (1 + _STEP)
"""What the upper bound of a bucket is multiplied by to be off from either bound by the same share."""


class Quantiles:
    """Takes whole milliseconds."""

    __slots__ = ("_buckets", "_values", "count", "longest", "total")

    def __init__(self) -> None:
        self.count = self.total = self.longest = 0
        self._values: list[int] | None = []
        self._buckets: Counter[int] = Counter()

    def add(self, value: int) -> None:
        """Count a value in; a negative one, from a clock that was set back, as nothing."""
        value = max(value, 0)
        self.count += 1
        self.total += value
        self.longest = max(self.longest, value)
        if self._values is None:
            self._buckets[_bucket(value)] += 1
            return
        self._values.append(value)
        if len(self._values) > EXACT:
            self._buckets = Counter(map(_bucket, self._values))
            self._values = None

    def at(self, share: float) -> int:
        """The smallest value that so great a share of all is no larger than (nearest rank); 0 without any."""
        if not self.count:
            return 0
        rank = max(math.ceil(share * self.count), 1)
        if self._values is not None:
            return sorted(self._values)[rank - 1]
        for bucket in sorted(self._buckets):
            rank -= self._buckets[bucket]
            if rank <= 0:
                return min(_middle(bucket), self.longest)
        return self.longest


def _bucket(value: int) -> int:
    return 0 if value <= 0 else 1 + math.ceil(math.log(value) / _LOG)


def _middle(bucket: int) -> int:
    return 0 if bucket == 0 else round(_STEP ** (bucket - 1) * _MIDDLE)
