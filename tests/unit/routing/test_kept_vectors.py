"""Vectors in a file that others use, too, and that may be damaged, locked, or somebody else's."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from callslip.routing import kept_vectors
from callslip.routing.card import Card
from callslip.routing.kept_vectors import beside, damaged
from callslip.routing.ranker import Ranker
from callslip.routing.request import read
from callslip.routing.vectors import GivenUp, VectorIndex

numpy = pytest.importorskip("numpy")
pytestmark = pytest.mark.requirement("DEFR-04")

CARDS = tuple(Card(id=f"t{n}", name=f"t{n}", description=f"Does thing number {n}.") for n in range(300))


class Counting:
    """Another vector for each text; counts what it is asked for."""

    name, version, dimensions, reads_unspaced, remote = "counting", "1", 8, True, False

    def __init__(self) -> None:
        self.asked = 0
        self.batches_left = 1_000
        self.scale = 1.0

    def embed(self, texts: Any) -> Any:
        if not self.batches_left:
            raise RuntimeError("no more credit")
        self.batches_left -= 1
        self.asked += len(texts)
        rows = numpy.stack([numpy.random.default_rng(list(text.encode())).normal(size=8) for text in texts])
        return rows / numpy.linalg.norm(rows, axis=1, keepdims=True) * self.scale


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "tools.db.vectors"
    assert VectorIndex(Counting(), made).update(CARDS) == ""
    return made


def opened(path: Path | None, embedder: Counting) -> str:
    return VectorIndex(embedder, path).update(CARDS)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e30, 3e38, 0.0, 0.5])
def test_rows_that_are_no_vectors_of_length_one_are_made_anew(path: Path, number: float) -> None:
    row = numpy.full(8, number, dtype="<f4").tobytes()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("update vector set row = ?", (row,))
    embedder = Counting()
    assert opened(path, embedder) == ""
    assert embedder.asked == 300
    again = Counting()
    opened(path, again)
    assert again.asked == 0


def test_one_bad_row_costs_one_text_and_blinds_no_search(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    Ranker(CARDS, embedder=Counting(), path=path).close()
    with contextlib.closing(sqlite3.connect(beside(path))) as db, db:
        row = numpy.full(8, numpy.nan, dtype="<f4").tobytes()
        db.execute("update vector set row = ? where identity = ?", (row, CARDS[0].identity))
    embedder = Counting()
    ranker = Ranker(CARDS, embedder=embedder, path=path)
    assert embedder.asked == 1
    assert [hit.id for hit in ranker.search(["thing number 7"], 3).hits][:1] == ["t7"]
    ranker.close()


@pytest.mark.parametrize("scale", [1e15, 1e-5, 1e37])
def test_what_an_embedder_gives_is_brought_to_length_one(scale: float) -> None:
    plain, scaled = Counting(), Counting()
    scaled.scale = scale
    near = []
    for each in (plain, scaled):
        index = VectorIndex(each)
        index.update(CARDS)
        near.append(index.near(read("thing number 7"), 3).scores)
    assert near[1] == pytest.approx(near[0], abs=1e-3)
    assert len(near[1]) == 3


@pytest.mark.parametrize("scale", [0.0, float("nan"), 1e300])
def test_what_has_no_length_is_refused_and_said(scale: float) -> None:
    embedder = Counting()
    embedder.scale = scale
    ranker = Ranker(CARDS, embedder=embedder)
    assert "words alone" in ranker.updated.trouble
    answer = ranker.search(["thing number 7"], 3)
    assert ([hit.id for hit in answer.hits][:1], "words alone" in answer.trouble) == (["t7"], True)


@pytest.mark.parametrize("kept", [True, False])
def test_what_was_embedded_before_one_batch_failed_is_not_paid_for_again(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "v" if kept else None
    embedder = Counting()
    embedder.batches_left = 2
    index = VectorIndex(embedder, path)
    with pytest.raises(RuntimeError, match="no more credit"):
        index.update(CARDS)
    assert (embedder.asked, len(index)) == (256, 0)
    embedder.batches_left = 9
    if kept:
        index = VectorIndex(embedder, path)
    assert index.update(CARDS) == ""
    assert (embedder.asked, len(index)) == (300, 300)


def test_who_gives_it_up_is_heard_between_two_batches(tmp_path: Path) -> None:
    embedder = Counting()
    index = VectorIndex(embedder, tmp_path / "v")
    with pytest.raises(GivenUp):
        index.update(CARDS, lambda: embedder.asked < 128)
    assert embedder.asked == 128
    again = Counting()
    opened(tmp_path / "v", again)
    assert again.asked == 300 - 128


class TestWhatIsNotLive:
    OTHERS = tuple(Card(id=f"o{n}", name=f"o{n}", description=f"Does other thing {n}.") for n in range(20))

    def asked(self, path: Path, cards: tuple[Card, ...], name: str = "counting") -> int:
        embedder = Counting()
        embedder.name = name
        assert VectorIndex(embedder, path).update(cards) == ""
        return embedder.asked

    def test_two_apps_that_share_a_folder_pay_once(self, path: Path) -> None:
        paid = [self.asked(path, cards) for cards in (self.OTHERS, CARDS, self.OTHERS)]
        assert paid == [20, 0, 0]
        paid = [self.asked(path, CARDS, name) for name in ("other", "counting", "other")]
        assert paid == [300, 0, 0]

    def test_only_beyond_a_few_times_what_is_live_is_it_forgotten(self, path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(kept_vectors, "_SPARE", 263)
        assert self.asked(path, self.OTHERS[:12]) == 12, "there are 312, and 4 * 12 + 263 are kept"
        assert (self.asked(path, self.OTHERS[:12]), self.asked(path, CARDS)) == (0, 300)

    def test_just_as_many_stay(self, path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(kept_vectors, "_SPARE", 264)
        assert (self.asked(path, self.OTHERS[:12]), self.asked(path, CARDS)) == (12, 0)

    def test_of_many_that_are_there_only_those_that_are_wanted_are_read(self, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("create temp table live (identity text primary key)")
            plan = [str(row[-1]) for row in db.execute(f"explain query plan {kept_vectors._READ}", ("e",))]
        assert any("embedder=? AND identity=?" in step for step in plan), plan


class TestOthersFiles:
    def test_one_that_another_process_has_to_itself_is_left_alone(self, path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(kept_vectors, "_WAIT", 0.0)
        embedder = Counting()
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("begin exclusive")
            told = opened(path, embedder)
            other.execute("update vector set embedder = 'other'")
            other.commit()
        assert ("locked" in told, "left alone" in told, embedder.asked) == (True, True, 300)
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute("select distinct embedder from vector").fetchall() == [("other",)]

    def test_one_that_is_damaged_is_replaced(self, path: Path) -> None:
        path.write_bytes(b"no database at all, and long enough to be read as one" * 20)
        assert "made anew" in opened(path, Counting())
        again = Counting()
        assert opened(path, again) == ""
        assert again.asked == 0

    def test_one_with_other_tables_is_replaced(self, path: Path) -> None:
        path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("create table vector (a, b)")
        assert "made anew" in opened(path, Counting())
        assert opened(path, Counting()) == ""

    def test_one_that_another_process_is_just_setting_up_is_left_alone(self, path: Path) -> None:
        path.unlink()
        path.touch()
        with path.open("rb") as theirs:
            reader = kept_vectors.KeptVectors(path, "e", 8, numpy)
            assert (reader.read({"x"}), reader.trouble) == ({}, "")
            assert path.exists()
            assert path.stat().st_ino == os.fstat(theirs.fileno()).st_ino

    def test_one_without_the_table_that_is_sound_is_not_damaged(self, path: Path) -> None:
        path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("create table theirs (a)")
        again = Counting()
        assert (opened(path, Counting()), opened(path, again), again.asked) == ("", "", 0)
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute("select count(*) from theirs").fetchone() == (0,)

    def test_a_folder_in_its_place_costs_no_meaning(self, path: Path) -> None:
        path.unlink()
        path.mkdir()
        index = VectorIndex(Counting(), path)
        told = index.update(CARDS)
        assert (len(index), told.count("could not be kept")) == (300, 1)
        assert path.is_dir()

    def test_one_that_may_not_be_looked_at_costs_no_meaning(self, path: Path, monkeypatch: Any) -> None:
        def forbidden(self: Path) -> bool:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "is_file", forbidden)
        index = VectorIndex(Counting(), path)
        told = index.update(CARDS)
        assert (len(index), "Permission denied" in told, "left alone" in told) == (300, True, True)

    @pytest.mark.parametrize(
        ("code", "is_damaged"),
        [
            (sqlite3.SQLITE_BUSY_SNAPSHOT, False), (sqlite3.SQLITE_READONLY_DBMOVED, False),
            (sqlite3.SQLITE_CANTOPEN_ISDIR, False), (sqlite3.SQLITE_IOERR_READ, False), (sqlite3.SQLITE_FULL, False),
            (sqlite3.SQLITE_CORRUPT_VTAB, True), (sqlite3.SQLITE_NOTADB, True), (sqlite3.SQLITE_ERROR, True),
        ],
    )  # fmt: skip
    def test_which_errors_speak_of_the_file_itself(self, code: int, is_damaged: bool) -> None:
        error = sqlite3.OperationalError("x")
        error.sqlite_errorcode = code
        assert damaged(error) is is_damaged

    def test_what_the_file_system_refuses_says_nothing_of_it(self) -> None:
        assert not damaged(PermissionError(13, "no"))
        assert damaged(sqlite3.OperationalError("Could not decode to UTF-8 column"))
