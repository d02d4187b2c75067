"""Every text of a value, wherever it stands."""

from __future__ import annotations

from callslip.notify.each_text import each_text


def test_every_text_of_a_value_is_changed_and_no_key_swallows_another():
    value = {"a": ["x", {"b": "y"}], "A": ("z",), "n": 7, "none": None, "t": True}
    assert each_text(value, str.upper) == {"A": ["X", {"B": "Y"}], "A'": ["Z"], "N": 7, "NONE": None, "T": True}
