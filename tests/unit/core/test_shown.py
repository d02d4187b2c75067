"""Nothing shows as something that it is not."""

from __future__ import annotations

import pytest

from callslip.core.shown import visible


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
