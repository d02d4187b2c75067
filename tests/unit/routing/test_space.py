"""Nearness in standard deviations, and the choice by main directions, against every cosine computed."""

from typing import Any

import numpy as np
import pytest

from callslip.routing.space import Space


def vectors(count: int, size: int, seed: int) -> Any:
    """Of length 1, and more alike in some directions than in others, as encoders' are."""
    made = np.random.default_rng(seed).normal(size=(count, size)) * np.geomspace(3.0, 0.1, size) + 0.2
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("float32")


def plainly(rows: Any, asked: Any) -> Any:
    """The same by its definition."""

    def spread(cosines: Any) -> Any:
        return (cosines - cosines.mean()) / cosines.std()

    cosines = (rows.astype(float) @ asked.astype(float).T).T
    if len(asked) == 1:
        return spread(cosines[0])
    return 0.5 * spread(cosines.mean(axis=0)) + 0.5 * np.stack([spread(each) for each in cosines]).max(axis=0)


@pytest.mark.requirement("DEFR-04")
@pytest.mark.parametrize("count", [7, 300, 2_500])
@pytest.mark.parametrize("wishes", [1, 4])
def test_the_nearest_are_found_and_their_nearness_is_exact(count: int, wishes: int) -> None:
    rows, asked = vectors(count, 256, 1), vectors(wishes, 256, 2)
    right = plainly(rows, asked)
    found = Space(rows).nearest(asked, 50)
    best = np.argsort(-right)[:50].tolist()
    assert len(found) == len(best)
    assert list(found)[:20] == best[:20]
    assert len(set(found) & set(best)) >= 0.96 * len(best)
    assert list(found.values()) == pytest.approx([right[at] for at in found], abs=1e-3)


def test_tools_that_words_found_get_their_nearness_though_they_are_far() -> None:
    rows, asked = vectors(2_500, 64, 3), vectors(1, 64, 4)
    right = plainly(rows, asked)
    farthest = int(np.argmin(right))
    found = Space(rows).nearest(asked, 5, also=[farthest])
    assert found[farthest] == pytest.approx(right[farthest], abs=1e-3)
    assert len(found) == 6


def test_only_those_asked_for_are_chosen() -> None:
    rows, asked = vectors(100, 16, 5), vectors(2, 16, 6)
    assert set(Space(rows).nearest(asked, 50, among=np.array([3, 50, 99]))) == {3, 50, 99}
    assert Space(rows).nearest(asked, 50, among=np.array([], dtype=int)) == {}


def test_small_differences_are_told_in_their_own_measure() -> None:
    """Taken from two large numbers, their spread would be lost in the rounding of either."""
    rows = vectors(1, 64, 10) + 1e-3 * vectors(2_500, 64, 11)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("float32")
    asked = vectors(1, 64, 12)
    right = plainly(rows, asked)
    found = Space(rows).nearest(asked, 20)
    assert list(found.values()) == pytest.approx([right[at] for at in found], abs=0.05)


def test_tools_that_are_all_alike_are_neither_near_nor_far() -> None:
    rows = np.repeat(vectors(1, 16, 7), 5, axis=0)
    found = Space(rows).nearest(vectors(1, 16, 8), 3)
    assert list(found.values()) == pytest.approx([0.0, 0.0, 0.0], abs=0.05)
    assert list(Space(rows[:1]).nearest(vectors(3, 16, 9), 3)) == [0]
