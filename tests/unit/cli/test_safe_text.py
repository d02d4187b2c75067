import json
import unicodedata

import pytest
from hypothesis import given, strategies as st

from callslip.cli.safe_text import block, doubts, exact, one_line, quoted, visible, visible_json


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_steers_a_terminal_comes_through(text):
    for shown in (visible(text), one_line(text)):
        assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    kept = visible(text, lines=True)
    assert {character for character in kept if unicodedata.category(character) == "Cc"} <= {"\n"}


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_says_the_same_and_shows_as_itself(value):
    text = visible_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(text) == value
    assert {character for character in text if unicodedata.category(character) in {"Cc", "Cf"}} <= {"\n"}


def test_what_is_plain_stays():
    assert visible("Grüße, 世界, قراءة, 👍🏽 — ok") == "Grüße, 世界, قراءة, 👍🏽 — ok"


def test_spelled_out():
    assert visible("\x1b[2J\u202eabc\u200b\r\ud800\U000e0041") == "\\x1b[2J\\u202eabc\\u200b\\r\\ud800\\U000e0041"
    assert visible("a\tb\r\nc", lines=True) == "a   b\nc"
    assert one_line("  a\n b\n") == "a ⏎  b"
    assert visible("\u3164") == "\\u3164"


# Exactly


@pytest.mark.requirement("APPR-08")
def test_exactly_what_it_is():
    """Case 21: escapes, direction marks and look-alikes are marked, never rendered."""
    assert exact("pаypal.com") == "p⟨а U+0430⟩ypal.com"
    assert quoted('a"\\\x1b[2J\u202e\n') == r'"a\"\\⟨U+001B⟩[2J⟨U+202E⟩\n"'
    assert quoted(" a  b\u00a0") == '"␣a␣␣b⟨U+00A0⟩"'
    assert quoted("a b") == '"a b"'
    assert quoted("⟨а U+0430⟩␣⇥") == '"⟨U+27E8⟩⟨а U+0430⟩ U+0430⟨U+27E9⟩⟨U+2423⟩⟨U+21E5⟩"'
    assert quoted("\u0338=") == '"⟨U+0338⟩="'
    assert exact("=\u0338a\u0338") == "=⟨U+0338⟩a⟨U+0338⟩"
    assert quoted("\u0301a\u0301\u0302 \u0301\n\u0301") == '"⟨U+0301⟩a\u0301\u0302 ⟨U+0301⟩\\n⟨U+0301⟩"'
    assert block("a\tb \n\n  c\r\nпривет") == ["a⇥b␣", "", "  c⟨U+000D⟩", "привет"]
    assert exact("\ud800\x00\u3164\ufeff") == "⟨U+D800⟩⟨U+0000⟩⟨U+3164⟩⟨U+FEFF⟩"


@pytest.mark.requirement("APPR-08")
def test_what_the_marks_stand_for():
    assert doubts(["pаypal", "x\u202e", "Δt", "plain", "pаypal", "\x1b", "a\nb\tc"]) == [
        "⟨а U+0430⟩ is CYRILLIC SMALL LETTER A, which passes for a",
        "⟨U+202E⟩ is RIGHT-TO-LEFT OVERRIDE",
        "⟨Δ U+0394⟩ is GREEK CAPITAL LETTER DELTA",
        "⟨U+001B⟩ is a control character",
    ]
    assert doubts(["\u2066\u2067\u2068\u2069"], most=2)[-1] == "and 2 more characters are marked"


@pytest.mark.requirement("APPR-08")
@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_no_two_texts_look_the_same(one, other):
    for show in (exact, quoted, block):
        assert (show(one) == show(other)) == (one == other)


@pytest.mark.requirement("APPR-08")
@given(
    st.text(st.sampled_from('ab \t\n\\"⟨⟩␣⇥U+02Aаα\u0338\x1b')),
    st.text(st.sampled_from('ab \t\n\\"⟨⟩␣⇥U+02Aаα\u0338\x1b')),
)
def test_nor_do_two_that_are_made_to(one, other):
    for show in (exact, quoted, block):
        assert (show(one) == show(other)) == (one == other)


@pytest.mark.requirement("APPR-08")
@given(st.text(st.characters(exclude_categories=())))
def test_nothing_hidden_comes_through(text):
    for shown in (exact(text), quoted(text), *block(text)):
        assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert {character for character in shown if unicodedata.category(character) == "Zs"} <= {" "}
