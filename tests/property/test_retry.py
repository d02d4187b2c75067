"""The pause before another attempt, whatever the settings, the answer and the clock."""

import math

import pytest
from hypothesis import given, strategies as st

from callslip.core import retry_after
from callslip.core.retry import LONGEST, Over, Retry, again_at, pause

pytestmark = pytest.mark.requirement("RESI-01")

SETTINGS = st.builds(
    lambda attempts, cap, share, within: Retry(attempts=attempts, cap=cap, base=cap * share, within=within),
    st.integers(1, 10**6), st.floats(0, LONGEST), st.floats(0, 1), st.floats(0, LONGEST),
)  # fmt: skip
DRAWS = st.floats(0, 1)
ASKED = st.none() | st.floats(allow_nan=True, allow_infinity=True)
MOMENTS = st.integers(0, 4 * 10**12)


@given(SETTINGS, st.integers(1, 10**9), st.none() | st.floats(0, 1e9), DRAWS)
def test_a_pause_is_drawn_from_what_was_asked_up(retry, tried, asked, draw):
    seconds = pause(retry, tried, asked, draw)
    assert (asked or 0) <= seconds <= (asked or 0) + retry.cap
    assert pause(retry, tried, asked, 0.0) == (asked or 0)
    assert pause(retry, tried, None, 1.0) <= pause(retry, tried + 1, None, 1.0), "they grow"
    assert pause(retry, 1, None, 1.0) == min(retry.base, retry.cap)


@given(SETTINGS, st.integers(1, 100), MOMENTS, MOMENTS, ASKED, DRAWS, st.none() | st.floats(-1e6, 1e9))
def test_nothing_is_tried_too_often_too_late_or_before_its_time(retry, tried, began, now, asked, draw, left):
    again = again_at(retry, tried=tried, began=began, now=now, asked=asked, draw=draw, left=left)
    if isinstance(again, Over):
        assert again.said(tried).endswith(".")
        assert (again.why == "attempts") == (tried >= retry.attempts)
        return
    assert tried < retry.attempts
    assert now + max(asked or 0, 0) * 1000 <= again <= now + retry.within * 1000 + 1
    assert again <= max(began, now) + retry.within * 1000 + 1
    assert left is None or again <= now + left * 1000 + 1
    assert asked is None or not math.isnan(asked)


@given(st.text(), st.text(), st.none() | MOMENTS)
def test_whatever_a_header_says_it_is_a_time_from_now_or_nothing(given_, date, now):
    seconds = retry_after.seconds(given_, date, now)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    "wrong", [{"attempts": 0}, {"base": -1}, {"base": 2, "cap": 1}, {"cap": 1e9}, {"within": -1}, {"within": math.nan}, {"base": math.nan}]
)  # fmt: skip
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(ValueError, match="is"):
        Retry(**wrong)
