"""One order from words and meaning, and the word that nothing fits."""

import pytest

from callslip.routing import fit
from callslip.routing.fuse import fuse
from callslip.routing.hit import Hit
from callslip.routing.vectors import Near


def hit(name: str, score: float, coverage: float, *, exact: bool = False) -> Hit:
    return Hit(id=name, score=score, coverage=coverage, exact=exact)


NEAR = Near(scores={"meant": 6.0, "word": 0.0}, cosines={})


@pytest.mark.requirement("DEFR-04")
def test_words_that_explain_the_request_outweigh_meaning_and_few_words_do_not() -> None:
    assert [each.id for each in fuse([hit("word", 0.5, 1.0)], NEAR)] == ["word", "meant"]
    assert [each.id for each in fuse([hit("word", 0.5, 0.05)], NEAR)] == ["meant", "word"]


def test_an_embedder_that_cannot_read_the_script_adds_nothing() -> None:
    assert [each.id for each in fuse([hit("word", 0.5, 0.05)], NEAR, trust=0.0)] == ["word"]


def test_exact_names_stay_in_front_and_nothing_is_named_twice() -> None:
    found = fuse(
        [hit("named", 1.0, 1.0, exact=True), hit("word", 0.1, 0.1)], Near(scores={"named": 1.0, "x": 9.0}, cosines={})
    )
    assert [each.id for each in found] == ["named", "x", "word"]


def test_without_words_meaning_alone_decides() -> None:
    assert [each.id for each in fuse([], NEAR)] == ["meant", "word"]
    assert fuse([], Near(scores={}, cosines={})) == []


@pytest.mark.requirement("DEFR-05")
def test_what_explains_too_little_does_not_fit() -> None:
    assert not fit.fits(None)
    assert fit.fits(hit("a", 0.0, 0.0, exact=True))
    assert fit.fits(hit("a", 0.1, fit.WORDS_BAR + 0.01))
    assert not fit.fits(hit("a", 0.1, fit.WORDS_BAR))
    assert not fit.fits(hit("a", 0.1, fit.WORDS_BAR + 0.01), NEAR)
    assert fit.fits(hit("meant", 0.1, fit.WORDS_BAR + 0.01), NEAR)
