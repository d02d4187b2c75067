"""Nothing shows as something that it is not."""

from __future__ import annotations

import pytest

from callslip.core.shown import Prose, prose, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 汉字 é", "plain, 汉字 é"),
        ("pay\u202e001 rup", "pay\\u202e001 rup"),
        ("a\x1b[2Jb\nc", "a\\x1b[2Jb\\nc"),
        ("zero\u200bwidth \ufeff", "zero\\u200bwidth \\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_would_mislead_is_spelled_out(text, shown):
    assert visible(text) == shown


def test_line_ends_and_tabs_may_stay():
    assert visible("a\r\nb\tc\x1b", lines=True) == "a\nb   c\\x1b"


MEANT = [
    "👩\u200d👩\u200d👧",
    "👩🏽\u200d💻",
    "❤\ufe0f\u200d🔥 and",
    "🙂\u200d↔\ufe0f",
    "می\u200cخواهم",
    "क्\u200dष and ക്\u200d.",
]


@pytest.mark.parametrize("text", MEANT)
def test_joiners_that_mean_something_stay_in_prose_and_nowhere_else(text):
    assert prose(text) == text
    joiner = "\u200c" if "\u200c" in text else "\u200d"
    assert joiner not in visible(text)
    for split in range(len(text) + 1):  # as it may come in pieces
        pieces = Prose()
        assert pieces.feed(text[:split]) + pieces.feed(text[split:]) + pieces.end() == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200dpal", "pay\\u200dpal"),
        ("\u200dx", "\\u200dx"),
        ("👩\u200d", "👩\\u200d"),
        ("👩\u200dx", "👩\\u200dx"),
        ("a\u200d👩", "a\\u200d👩"),
        ("👩\u200c👩", "👩\\u200c👩"),
        ("م\u200d\u200dم", "م\\u200d\\u200dم"),
        ("م\u200cx", "م\\u200cx"),
        ("مم\u202e\u200b\x1b[2J", "مم\\u202e\\u200b\\x1b[2J"),
        ("a\r\nb\tc", "a\nb   c"),
    ],
)
def test_what_deceives_is_spelled_out_in_prose_too(text, shown):
    assert prose(text) == shown
    for split in range(len(text) + 1) if "\n" not in text else ():
        pieces = Prose()
        assert pieces.feed(text[:split]) + pieces.feed(text[split:]) + pieces.end() == shown
