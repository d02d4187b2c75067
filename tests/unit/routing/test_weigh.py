"""From words and where they stand to tools; near spellings; words of the same meaning."""

from array import array

import pytest

from callslip.routing import weigh as module
from callslip.routing.card import Card
from callslip.routing.kin import SIGNS, with_kin
from callslip.routing.lexical import LexicalIndex
from callslip.routing.postings import Posting
from callslip.routing.typos import meant
from callslip.routing.weigh import Term, weigh


def term(word: str, weight: float, tools: dict[int, float]) -> Term:
    return Term(word=word, weight=weight, posting=Posting(array("I", tools), array("f", tools.values())))


def test_a_tool_gets_what_the_words_give_it() -> None:
    found = weigh([term("a", 2.0, {1: 0.5, 3: 0.25}), term("b", 1.0, {3: 1.0})], (), below=5)
    assert [(each.tool, each.score, each.covered) for each in found] == [(3, 1.5, 3.0), (1, 1.0, 2.0)]
    assert weigh([], (), below=5) == []
    only = weigh([term("a", 2.0, {1: 0.5, 3: 0.25})], (), below=5, among={3})
    assert [each.tool for each in only] == [3]


def test_a_wish_lifts_the_tool_that_fits_it_best() -> None:
    terms = [term("a", 2.0, {1: 0.5, 2: 0.5, 4: 0.3}), term("b", 1.0, {1: 0.5, 2: 0.5}), term("c", 1.0, {3: 0.5})]
    alone = weigh(terms, (), below=5)
    parted = weigh(terms, (frozenset("ab"), frozenset("c"), frozenset("unknown")), below=5)
    assert [each.tool for each in alone] == [1, 2, 4, 3]
    assert [each.tool for each in parted] == [1, 2, 3, 4]


def test_common_words_are_not_walked_but_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WALKED", 3)
    common = {tool: 0.9 if tool == 7 else 0.1 for tool in range(50)}
    found = weigh([term("common", 1.0, common), term("rare", 1.0, {6: 0.5, 7: 0.5})], (), below=50)
    assert [each.tool for each in found] == [7, 6]
    assert found[0].score == pytest.approx(1.4)
    alone = weigh([term("common", 1.0, common)], (), below=50)
    assert alone[0].tool == 7


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("wether", {"weather"}, ["weather"]),
        ("weathre", {"weather"}, ["weather"]),
        ("weatherr", {"weather"}, ["weather"]),
        ("weathex", {"weather"}, ["weather"]),
        ("weathe", {"weather"}, ["weather"]),
        ("eather", {"weather"}, []),
        ("wxyther", {"weather"}, []),
    ],
)
def test_words_one_letter_off_are_read_as_they_were_meant(word: str, known: set[str], found: list[str]) -> None:
    assert meant(word, known) == found


@pytest.mark.requirement("DEFR-04")
def test_typing_errors_and_other_words_for_the_same_find_the_tool() -> None:
    index = LexicalIndex()
    index.update(
        [
            Card(id="w", name="weather_report", description="Rain and wind of a town."),
            Card(id="m", name="movie_times", description="What is shown tonight."),
            Card(id="i", name="pay_invoice", description="Pays it."),
        ]
    )
    assert [hit.id for hit in index.rank("wether", 3)] == ["w"]
    assert [hit.id for hit in index.rank("film", 3)] == ["m"]
    assert [hit.id for hit in index.rank("bill", 3)] == ["i"]
    assert index.rank("wether", 3)[0].coverage < index.rank("weather", 3)[0].coverage
    index.close()


def test_the_very_word_comes_before_its_kin() -> None:
    index = LexicalIndex()
    index.update([Card(id="a", name="film_times"), Card(id="b", name="movie_times"), Card(id="c", name="c")])
    assert [hit.id for hit in index.rank("movie", 3)] == ["b", "a"]
    index.close()


def test_groups_hold_stems_of_at_least_two_words() -> None:
    signs = [sign for found in SIGNS.values() for sign in found]
    assert all(signs.count(sign) > 1 for sign in set(signs))
    assert with_kin(["film", "xyz"]) == ["film", "xyz", "§film"]
