"""One order from words and meaning, and the word that nothing fits."""

import pytest

from callslip.routing import fit
from callslip.routing.fuse import fuse
from callslip.routing.hit import Hit
from callslip.routing.vectors import Near


def hit(name: str, score: float, coverage: float, *, exact: bool = False) -> Hit:
    return Hit(id=name, score=score, coverage=coverage, exact=exact)


NEAR = Near(scores={"meant": 6.0, "word": 0.0})


@pytest.mark.requirement("DEFR-04")
def test_words_that_explain_the_request_outweigh_meaning_and_few_words_do_not() -> None:
    assert [each.id for each in fuse([hit("word", 0.5, 1.0)], NEAR)] == ["word", "meant"]
    assert [each.id for each in fuse([hit("word", 0.5, 0.05)], NEAR)] == ["meant", "word"]


def test_an_embedder_that_cannot_read_the_script_adds_nothing() -> None:
    assert [each.id for each in fuse([hit("word", 0.5, 0.05)], NEAR, trust=0.0)] == ["word"]


def test_exact_names_stay_in_front_and_nothing_is_named_twice() -> None:
    found = fuse([hit("named", 1.0, 1.0, exact=True), hit("word", 0.1, 0.1)], Near(scores={"named": 1.0, "x": 9.0}))
    assert [each.id for each in found] == ["named", "x", "word"]


def test_without_words_meaning_alone_decides() -> None:
    assert [each.id for each in fuse([], NEAR)] == ["meant", "word"]
    assert fuse([], Near(scores={})) == []


def test_without_an_embedder_the_order_is_that_of_the_words() -> None:
    found = fuse([hit("a", 0.5, 0.64), hit("b", 0.25, 0.9)])
    assert [(each.id, each.rating) for each in found] == [("a", 0.8), ("b", 0.4)]


@pytest.mark.requirement("DEFR-05")
def test_whether_anything_fits_goes_by_rating_standing_out_name_and_how_the_score_was_come_by() -> None:
    def best(rating: float, *, coverage: float = 0.8, behind: float = 0.5) -> list[Hit]:
        return [
            Hit(id="a", score=0.5, coverage=coverage, rating=rating),
            Hit(id="b", score=0.1, coverage=0.2, rating=behind),
        ]

    assert not fit.fits([], 1.0)
    assert fit.fits([hit("a", 0.0, 0.0, exact=True)], 0.0)
    assert fit.fits(best(0.9), 0.3)
    assert not fit.fits(best(0.5), 0.3)
    assert not fit.fits(best(0.9, behind=0.9), 0.0)
    assert fit.fits(best(0.9, behind=0.9), 0.6)
    assert not fit.fits(best(0.9, coverage=0.51), 0.0)
    assert not fit.fits(best(0.9), 0.2, by_meaning=True)
    assert fit.fits(best(1.1), 0.5, by_meaning=True)
    assert not fit.fits([hit("meant", 0.0, 0.0)], 0.0)


def test_what_is_far_behind_the_best_is_not_offered_after_it() -> None:
    def rated(name: str, rating: float, *, exact: bool = False) -> Hit:
        return Hit(id=name, score=0.5, coverage=0.5, exact=exact, rating=rating)

    found = [rated("named", 2.0, exact=True), rated("best", 0.8), rated("near", 0.4), rated("far", 0.39)]
    assert [each.id for each in fit.worth(found)] == ["named", "best", "near"]
    assert [each.id for each in fit.worth(found[1:])] == ["best", "near"]
    assert fit.worth([]) == []
