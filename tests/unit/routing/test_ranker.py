"""The whole search: several queries, names, servers, and an honest word when nothing fits."""

from pathlib import Path
from typing import Any

import pytest

from callslip.errors import ConfigError
from callslip.routing import usem
from callslip.routing.card import Card
from callslip.routing.ranker import Ranker

CARDS = (
    Card(id="meteo|forecast", name="forecast", server="meteo", description="Weather of the next days at a place."),
    Card(id="meteo|storms", name="storm_warning", server="meteo", description="Warnings of storms and weather."),
    Card(id="bank|pay", name="pay_invoice", server="bank", description="Pays an invoice from an account."),
    Card(id="bank|balance", name="balance", server="bank", description="Money on an account."),
)


class Axes:
    """An embedder whose vectors are counts of a few words, so that nearness can be worked out by hand."""

    name = "axes"
    version = "1"
    reads_unspaced = False
    remote = False
    topics = (("weather", "umbrella"), ("invoice", "debt"), ("money", "wealth"), ("storm",))
    dimensions = len(topics)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    def embed(self, texts: Any) -> Any:
        numpy = pytest.importorskip("numpy")
        if self.broken:
            raise RuntimeError("no more vectors")
        self.asked.extend(texts)
        rows = [[float(any(word in text.lower() for word in topic)) for topic in self.topics] for text in texts]
        array = numpy.array(rows, dtype="float32") + 1e-3
        return array / numpy.linalg.norm(array, axis=1, keepdims=True)


def ids(hits: Any) -> list[str]:
    return [hit.id for hit in hits]


@pytest.mark.requirement("DEFR-02")
def test_each_query_gets_its_turn_within_the_bound() -> None:
    ranker = Ranker(CARDS)
    answer = ranker.search(["weather days place", "pay invoice"], 2)
    assert ids(answer.hits) == ["meteo|forecast", "bank|pay"]
    assert answer.nothing == ""
    assert ids(ranker.search(["weather", "account"], 3).hits) == ["meteo|forecast", "bank|balance", "meteo|storms"]
    assert ids(ranker.rank_many(["weather days place", "pay invoice"], 3))[:2] == ["meteo|forecast", "bank|pay"]


@pytest.mark.requirement("DEFR-02")
def test_names_can_be_selected() -> None:
    ranker = Ranker(CARDS)
    assert ids(ranker.search(["select:balance, PayInvoice, nobody"], 5).hits) == ["bank|balance", "bank|pay"]
    unknown = ranker.search(["select:nobody"], 5)
    assert unknown.hits == ()
    assert "No tool has that name" in unknown.nothing
    assert ids(ranker.search(["select:balance"], 5, server="meteo").hits) == []


def test_a_server_may_be_asked_alone() -> None:
    assert ids(Ranker(CARDS).search(["account"], 5, server="bank").hits) == ["bank|balance", "bank|pay"]


@pytest.mark.requirement("DEFR-05")
def test_what_is_far_behind_is_not_offered_with_what_fits() -> None:
    ranker = Ranker(CARDS)
    assert ids(ranker.rank("money on an account", 5)) == ["bank|balance", "bank|pay"]
    assert ids(ranker.search(["money on an account"], 5).hits) == ["bank|balance"]
    assert ids(ranker.likely("money on an account", 5).hits) == ["bank|balance"]


@pytest.mark.requirement("DEFR-05")
def test_that_nothing_fits_is_said_with_what_came_nearest() -> None:
    ranker = Ranker(CARDS)
    far = ranker.search(["translate a long poem about old weather into Icelandic verse with rhymes"], 5)
    assert far.hits == ()
    assert "fits well enough" in far.nothing
    assert 0 < len(far.nearest) <= 3
    assert "has any of the words" in ranker.search(["zzz qqq"], 5).nothing
    assert "no words" in ranker.search(["", "😀", "the of"], 5).nothing
    assert "no words" in ranker.search([], 5).nothing
    assert "no tools" in Ranker().search(["weather"], 5).nothing
    assert ids(ranker.search(["zzz qqq", "pay invoice"], 1).hits) == ["bank|pay"]


@pytest.mark.requirement("DEFR-03")
def test_an_update_takes_tools_away_at_once() -> None:
    ranker = Ranker(CARDS)
    assert ranker.update(CARDS[:1]).removed == 3
    assert ids(ranker.rank("pay invoice", 5)) == []
    assert ranker.select("balance") == []
    ranker.close()


def test_vectors_find_what_is_meant_in_other_words() -> None:
    pytest.importorskip("numpy")
    embedder = Axes()
    assert ids(Ranker(CARDS).rank("settle my debt", 1)) == []
    assert ids(Ranker(CARDS, embedder=embedder).rank("settle my debt", 1)) == ["bank|pay"]
    assert ids(Ranker(CARDS, embedder=embedder).rank("settle my debt", 9, server="meteo"))[0].startswith("meteo|")


def test_only_what_changed_is_embedded_and_vectors_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    first = Axes()
    Ranker(CARDS, embedder=first, path=tmp_path / "tools").close()
    assert len(first.asked) == 4
    again = Axes()
    ranker = Ranker(CARDS, embedder=again, path=tmp_path / "tools")
    assert again.asked == []
    ranker.update([*CARDS[1:], Card(id="new", name="umbrella")])
    assert len(again.asked) == 1
    (tmp_path / "tools.vectors").write_bytes(b"no database at all, and long enough to be read as one" * 20)
    damaged = Axes()
    told = Ranker(CARDS, embedder=damaged, path=tmp_path / "tools").updated.trouble
    assert "vectors" in told
    assert "anew" in told
    assert len(damaged.asked) == 4


def test_an_embedder_that_fails_leaves_words_and_is_told_of() -> None:
    pytest.importorskip("numpy")
    embedder = Axes()
    ranker = Ranker(CARDS, embedder=embedder)
    embedder.broken = True
    answer = ranker.search(["pay invoice"], 5)
    assert ids(answer.hits)[0] == "bank|pay"
    assert "no more vectors" in answer.trouble
    assert "words alone" in ranker.update([*CARDS, Card(id="n", name="new")]).trouble
    assert ids(ranker.rank("new", 1)) == ["n"]
    embedder.broken = False
    assert ranker.update([*CARDS, Card(id="n", name="new")]).trouble == ""
    assert ranker.search(["pay invoice"], 5).trouble == ""


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usem, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"callslip\[vectors\]"):
        usem.UsemEmbedder()


def test_other_weights_than_the_known_ones_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "resources").mkdir()
    monkeypatch.setattr(usem, "find_spec", lambda name: type("Found", (), {"origin": str(tmp_path / "__init__.py")}))
    with pytest.raises(ConfigError, match="can't be read"):
        usem.UsemEmbedder()
    (tmp_path / "resources" / "weights.npz").write_bytes(b"other")
    with pytest.raises(ConfigError, match="SHA-256"):
        usem.UsemEmbedder()
