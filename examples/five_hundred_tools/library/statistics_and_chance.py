"""Statistics, and chance with a seed."""

from __future__ import annotations

import statistics
from random import Random
from statistics import NormalDist
from typing import Any

from library.row import rows

_D, _XY = "data: numbers", "x: numbers, y: numbers"
_NORMAL = "mean: number, deviation: number"


def _shuffled(seed: int, items: list[Any]) -> list[Any]:
    Random(seed).shuffle(items)
    return items


# fmt: off
ROWS = [
    *rows("statistics",
        ("statistics.mean", statistics.mean, _D, ([1, 2, 6],), 3),
        ("statistics.fmean", statistics.fmean, "data: numbers, weights: numbers", ([10, 20], [3, 1]), 12.5, "The average of data in which each point counts by its weight."),
        ("statistics.geometric_mean", statistics.geometric_mean, _D, ([4, 9],), 6.0),
        ("statistics.harmonic_mean", statistics.harmonic_mean, _D, ([40, 60],), 48.0),
        ("statistics.median", statistics.median, _D, ([5, 1, 3],), 3),
        ("statistics.median_low", statistics.median_low, _D, ([1, 3, 5, 7],), 3),
        ("statistics.median_high", statistics.median_high, _D, ([1, 3, 5, 7],), 5),
        ("statistics.median_grouped", statistics.median_grouped, _D, ([1, 2, 2, 3],), 2.0),
        ("statistics.mode", statistics.mode, "data: items", (["a", "b", "a"],), "a"),
        ("statistics.multimode", statistics.multimode, "data: items", (["a", "b", "a", "b"],), ["a", "b"]),
        ("statistics.quantiles", lambda data, n: statistics.quantiles(data, n=n), "data: numbers, n: 2..100", ([1, 2, 3, 4, 5], 4), [1.5, 3.0, 4.5], "Cut points that divide data into n groups of equal size: quartiles with 4, deciles with 10, percentiles with 100."),
        ("statistics.pstdev", statistics.pstdev, _D, ([1, 1, 3, 3],), 1.0),
        ("statistics.pvariance", statistics.pvariance, _D, ([1, 1, 3, 3],), 1),
        ("statistics.stdev", statistics.stdev, _D, ([1, 2, 3],), 1.0),
        ("statistics.variance", statistics.variance, _D, ([1, 2, 3],), 1),
        ("statistics.covariance", statistics.covariance, _XY, ([1, 2, 3], [2, 4, 6]), 2.0, "The sample covariance of two variables: how they vary together."),
        ("statistics.correlation", statistics.correlation, _XY, ([1, 2, 3], [2, 4, 6]), 1.0),
        ("statistics.linear_regression", lambda x, y: statistics.linear_regression(x, y)._asdict(), _XY, ([1, 2, 3], [3, 5, 7]), {"slope": 2.0, "intercept": 1.0}, "Slope and intercept of the straight line that fits points best."),
        ("NormalDist.cdf", lambda mu, sigma, x: NormalDist(mu, sigma).cdf(x), f"{_NORMAL}, x: number", (0, 1, 0), 0.5, "How likely a normally distributed value is at most x."),
        ("NormalDist.inv_cdf", lambda mu, sigma, p: NormalDist(mu, sigma).inv_cdf(p), f"{_NORMAL}, p: number", (100, 15, 0.5), 100.0, "The value below which a normally distributed one lies with probability p."),
        ("NormalDist.pdf", lambda mu, sigma, x: NormalDist(mu, sigma).pdf(x), f"{_NORMAL}, x: number", (0, 1, 0), 0.3989422804014327, "The density of a normal distribution at x."),
        ("NormalDist.zscore", lambda mu, sigma, x: NormalDist(mu, sigma).zscore(x), f"{_NORMAL}, x: number", (100, 15, 130), 2.0, "How many standard deviations a value lies above the mean."),
        ("NormalDist.from_samples", lambda data: {"mean": (n := NormalDist.from_samples(data)).mean, "deviation": n.stdev}, _D, ([1, 2, 3],), {"mean": 2.0, "deviation": 1.0}, "Mean and standard deviation of the normal distribution that fits data."),
        ("NormalDist.quantiles", lambda mu, sigma, n: NormalDist(mu, sigma).quantiles(n), f"{_NORMAL}, n: 2..100", (100, 15, 2), [100.0], "Cut points that divide a normal distribution into n parts of equal probability."),
        ("NormalDist.overlap", lambda a, b, c, d: NormalDist(a, b).overlap(NormalDist(c, d)), f"{_NORMAL}, other_mean: number, other_deviation: number", (0, 1, 0, 1), 1.0, "How much two normal distributions have in common, from 0 to 1."),
    ),
    *rows("chance",
        ("random.randint", lambda seed, a, b: Random(seed).randint(a, b), "seed: int, low: int, high: int", (1, 1, 6), 2, "A random whole number between two others, the same for the same seed."),
        ("random.random", lambda seed: Random(seed).random(), "seed: int", (1,), 0.13436424411240122, "A random number from 0 to 1, the same for the same seed."),
        ("random.uniform", lambda seed, a, b: Random(seed).uniform(a, b), "seed: int, low: number, high: number", (1, 0, 10), 1.3436424411240122, "A random decimal number between two others, the same for the same seed."),
        ("random.choice", lambda seed, items: Random(seed).choice(items), "seed: int, items: items", (1, ["red", "green", "blue"]), "red", "Draw one of several things at random, the same for the same seed."),
        ("random.choices", lambda seed, items, k: Random(seed).choices(items, k=k), "seed: int, items: items, k: 1..100", (1, ["a", "b"], 3), ["a", "b", "b"], "Draw several times at random, with replacement."),
        ("random.sample", lambda seed, items, k: Random(seed).sample(items, k), "seed: int, items: items, k: 1..100", (1, [1, 2, 3, 4], 2), [2, 3], "Draw several different things at random, without replacement, as in a raffle."),
        ("random.shuffle", _shuffled, "seed: int, items: items", (1, [1, 2, 3, 4]), [4, 1, 3, 2], "Put things into a random order, the same for the same seed."),
        ("random.gauss", lambda seed, mu, sigma: Random(seed).gauss(mu, sigma), f"seed: int, {_NORMAL}", (1, 0, 1), 1.2881847531554629, "A normally distributed random number, the same for the same seed."),
        ("random.getrandbits", lambda seed, k: Random(seed).getrandbits(k), "seed: int, bits: 1..64", (1, 8), 34, "A random whole number of so many bits, the same for the same seed."),
        ("random.triangular", lambda seed, a, b, c: Random(seed).triangular(a, b, c), "seed: int, low: number, high: number, peak: number", (1, 0, 10, 5), 2.591951428098154, "A random number of a triangular distribution."),
        ("random.expovariate", lambda seed, rate: Random(seed).expovariate(rate), "seed: int, rate: number", (1, 1), 0.1442910641095092, "A random waiting time, exponentially distributed."),
        ("random.randbytes", lambda seed, n: Random(seed).randbytes(n).hex(), "seed: int, n: 1..64", (1, 4), "f5b16522", "Random bytes in hexadecimal, the same for the same seed. Not for secrets."),
    ),
]
