"""Lines are counted as a person counts them."""

from __future__ import annotations

import pytest

from callslip.workspace.difference import difference


@pytest.mark.parametrize(
    ("old", "new", "added", "removed"),
    [
        ("", "x", 1, 0),
        ("", "x\n", 1, 0),
        ("", "a\nb", 2, 0),
        ("x", "", 0, 1),
        ("a", "a\n", 1, 1),
        ("a\nb\n", "a\nc\n", 1, 1),
        ("a\n", "a\n\n", 1, 0),
        ("", "\n", 1, 0),
        ("same\n", "same\n", 0, 0),
    ],
)
def test_added_and_removed(old, new, added, removed):
    change = difference(old, new)
    assert (change.added, change.removed) == (added, removed)


def test_a_missing_line_feed_is_shown():
    assert difference("", "x").text.endswith("+x\n\\ No newline at end of file")
