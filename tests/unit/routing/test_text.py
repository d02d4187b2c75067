"""Texts as the words that search goes by."""

import pytest
from hypothesis import given, strategies as st

from callslip.routing.request import read
from callslip.routing.stem import stem
from callslip.routing.text import MAX_TEXT, name_key, spaced, words
from callslip.routing.unspaced import share


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("send_email-toUser", ["send", "email", "user"]),
        ("HTTPServer.parseJSON", ["http", "server", "pars", "json"]),
        ("PDFs", ["pdf"]),
        ("Weather_1_FindIt", ["weather", "1", "find"]),
        ("utf8", ["utf8", "utf", "8"]),
        ("Don't you want the user's files?", ["don", "user", "file"]),
        ("ＣＡＦÉ naïve", ["cafe", "naiv"]),
        ("查天气", ["查", "天", "气", "查天", "天气"]),
        ("查weather", ["查", "weather"]),
        ("हिन्दी", ["हिन्दी"]),
        ("😀 … ---", []),
        ("", []),
    ],
)
@pytest.mark.requirement("DEFR-04")
def test_texts_become_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("feed", "feed"),
        ("plastered", "plaster"), ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"),
        ("hopping", "hop"), ("falling", "fall"), ("filing", "file"), ("happy", "happi"), ("relational", "relat"),
        ("vietnamization", "vietnam"), ("triplicate", "triplic"), ("hopefulness", "hope"), ("adjustment", "adjust"),
        ("adoption", "adopt"), ("effective", "effect"), ("probate", "probat"), ("rate", "rate"), ("controll", "control"),
        ("as", "as"), ("v2", "v2"), ("naïve", "naïve"), ("s" * 50, "s" * 50),
    ],
)  # fmt: skip
def test_stems_are_those_of_the_published_algorithm(word: str, root: str) -> None:
    assert stem(word) == root


@given(st.text(max_size=300))
def test_any_text_has_words_that_full_text_search_can_be_asked_for(text: str) -> None:
    for word in words(text):
        assert word
        assert " " not in word
        assert '"' not in word
    assert isinstance(name_key(text), str)
    assert 0 <= share(text) <= 1
    read(text)


def test_work_is_bounded_and_both_ends_of_a_long_request_count() -> None:
    request = read("weather in Oslo. " + "filler " * 3_000 + "translate this letter")
    assert len(request.text) <= MAX_TEXT + 1
    assert {"weather", "translat"} <= set(request.words)


def test_a_request_is_taken_apart_into_wishes() -> None:
    request = read("What's the weather in Oslo? Book a table for two, and then send_invoice to Ann")
    assert [part.strip() for part in request.part_texts] == [
        "What's the weather in Oslo?",
        "Book a table for two",
        "then send_invoice to Ann",
    ]
    assert request.names[1:] == ("send_invoice",)
    assert read("only one wish").parts == ()
    assert read("请用pay_invoice付款 or bank|payInvoice").names[1:] == (
        "请用pay_invoice付款",
        "bank|payInvoice",
        "pay_invoice",
    )
    assert len(read("pay rent today. " * 20).parts) <= 6


def test_letters_that_this_python_does_not_know_are_of_their_script() -> None:
    assert share("\U0002ebe1") == share("天") == 1.0
    assert share("天 sky") == 0.25


def test_names_are_alike_that_differ_in_case_and_separators() -> None:
    assert name_key("getUser-Info") == name_key("get_user.info") == "getuserinfo"
    assert spaced("getUser_info") == "get User info"
