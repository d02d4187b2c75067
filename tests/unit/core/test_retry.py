"""What is said of something that is not tried again (RESI-01)."""

import math

import pytest

from callslip.core.retry import LONGEST, Over
from callslip.core.sentence import sentence

pytestmark = pytest.mark.requirement("RESI-01")


@pytest.mark.parametrize(
    ("asked", "told", "hopeless"),
    [
        (1.0, "for 1 second,", False),
        (90, "for 90 seconds,", False),
        (7200.5, "for 3 hours,", False),
        (LONGEST, "for 24 hours,", False),
        (LONGEST + 1, "for 25 hours,", True),
        (10 * 86_400, "for 10 days,", True),
        (999_999_999, "for 32 years,", True),
        (1e9, "for 32 years,", True),
        (1e16, "for ever,", True),
        (math.inf, "for ever,", True),
        (math.nan, "for ever,", True),
    ],
)
def test_for_how_long_it_asks_to_be_left_alone(asked, told, hopeless):
    over = Over(why="asked", asked=asked)
    assert told in over.said(1), over.said(1)
    assert over.hopeless is hopeless


def test_what_has_other_reasons_is_never_hopeless():
    assert not Over(why="attempts").hopeless
    assert not Over(why="time", asked=math.inf).hopeless


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("down", "down."), ("Down.", "Down."), ("Down! ", "Down!"), ("He said 'no.'", "He said 'no.'"), ("", ""),
        ("关了。", "关了。"), ("see (b)", "see (b)."), ("really?", "really?"),
    ],
)  # fmt: skip
def test_a_sentence_has_an_end(text, said):
    assert sentence(text) == said
