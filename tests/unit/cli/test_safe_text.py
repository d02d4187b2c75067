import json
import unicodedata

from hypothesis import given, strategies as st

from callslip.cli.safe_text import one_line, visible, visible_json


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
