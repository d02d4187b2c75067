"""Percentiles: exact of few, close of many, and never larger for more."""

import random

import pytest
from hypothesis import given, strategies as st

from callslip.stats.quantiles import EXACT, Quantiles

pytestmark = pytest.mark.requirement("OBSV-02")


def taken(values):
    made = Quantiles()
    for value in values:
        made.add(value)
    return made


def rank(values, share):
    """Nearest rank, from its definition."""
    ordered = sorted(values)
    return next(value for place, value in enumerate(ordered, 1) if place >= share * len(ordered))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_few_are_exact(values, share):
    assert taken(values).at(share) == rank(values, share)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.5, 0.95, 0.99, 1.0])
def test_many_are_off_by_a_hundredth_at_most(seed, share):
    draw = random.Random(seed)
    values = [round(draw.lognormvariate(5, 2)) for _ in range(20 * EXACT)]
    exact = rank(values, share)
    assert abs(taken(values).at(share) - exact) <= 0.01 * exact + 0.5  # and what rounding to milliseconds takes


def test_memory_does_not_grow_with_the_values():
    made = taken(range(0, 3_000_000, 29))
    assert made._values is None
    assert len(made._buckets) < 1_000


def test_none_at_all_and_a_clock_that_was_set_back():
    assert (Quantiles().at(0.5), taken([-5]).at(0.5), taken([-5]).longest) == (0, 0, 0)
