"""Letters that pass for others are found, and writing that misleads nobody is left alone."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from callslip.cli.lookalikes import _ALWAYS, _PUNCTUATION, _TABLE, suspects

pytestmark = pytest.mark.requirement("APPR-08")


def found(text):
    return "".join(text[at] for at in suspects(text))


@pytest.mark.parametrize(
    "text",
    [
        "привет", "Привет, мир", "Это большое письмо о погоде, и т.д./etc", "世界", "你好,世界", "用Python写", "A股", "卡拉OK",
        "Tシャツ", "안녕하세요", "中文와 한글", "καλημέρα", "Ελλάδα και Κύπρος", "قراءة", "שלום", "hello שלום", "नमस्ते १२", "١٢",
        "naïve café", "Jörg Müller", "Łódź", "Straße", "œuvre", "ısı", "don’t", "“quoted” – so…", "x²", "½kg", "№5", "5 µm", "™",
        "①", "时间：12:30", "価格：100円。", "A，B", "a→b", "👍🏽", "пароль_user", "e\u0301t\u00e9", "",
    ],
)  # fmt: skip
def test_honest_writing_is_not_marked(text):
    assert found(text) == ""


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("pаypal.com", "а"), ("pay the аpple store", "а"), ("раураl", "раура"), ("аррӏе.com", "аррӏе"), ("gооgle", "оо"),
        ("user_а", "а"), ("foo/сор", "сор"), ("оса", "оса"), ("микроsоft", "роо"), ("Gοοgle", "οο"), ("ΑΒΒ", "ΑΒΒ"),
        ("ｐａｙ", "ｐａｙ"), ("𝐩𝐚𝐲", "𝐩𝐚𝐲"), ("𝟏𝟎𝟎", "𝟏𝟎𝟎"), ("Ⅷ", "Ⅷ"), ("ﬁle", "ﬁ"), ("ɡoogle", "ɡ"), ("ſecret", "ſ"), ("\u212aelvin", "\u212a"),
        ("google．com", "．"), ("a／b", "／"), ("user＠host", "＠"), ("rm‑rf", "‑"), ("12٣", "٣"), ("paid٥", "٥"), ("ᎠᎡ", "ᎠᎡ"),
        ("Δt", "Δ"), ("abcд", "д"), ("абвd", "аб"), ("жшd", "d"), ("paypal ո", "ո"), ("俄语оса", "оса"), ("שpay", "ש"),
    ],
)  # fmt: skip
def test_what_misleads_is_marked(text, marked):
    """Case 21."""
    assert found(text) == marked


def test_what_each_is_taken_for():
    assert suspects("pаypal") == {1: "a"}
    assert suspects("ﬁle") == {0: "fi"}
    assert suspects("Δt") == {0: ""}  # it merely does not belong


def test_accents_hide_nothing():
    assert found("g\u043e\u0301\u043egle") == "оо"
    assert found("pаypal\u0301") == "а"


@given(st.text())
def test_it_never_fails_and_ascii_is_never_marked_alone(text):
    places = suspects(text)
    assert all(0 <= at < len(text) for at in places)
    if text.isascii():
        assert places == {}


@given(
    st.text(st.sampled_from("абвгдежзиклмнопрстуфхцчшщъыьэюя"), min_size=1).filter(lambda word: set(word) - set(_TABLE))
)
def test_a_word_in_one_script_is_never_marked(word):
    assert suspects(f"{word} и {word}") == {}


def test_the_table_is_one():
    for one, like in {**_TABLE, **_ALWAYS, **_PUNCTUATION}.items():
        assert not one.isascii()
        assert like.isascii()
        assert len(one) == 1
    for one in _TABLE:
        assert unicodedata.normalize("NFD", one) == one or unicodedata.normalize("NFC", one) == one
