"""The book's file: torn ends, a lost index, a file that was cut."""

import json
import os
import stat

import msgspec
import pytest

from callslip.audit import lines
from callslip.audit.book import INDEX, Book
from callslip.audit.entry import GENESIS, Entry, read, write
from callslip.audit.index import Tip
from callslip.errors import LogBroken

pytestmark = pytest.mark.anyio


def entry(n=1, **fields):
    return Entry(**({"at": n, "kind": "user_message", "session": "s", "seq": n, "digest": f"{n:064x}"} | fields))


@pytest.fixture
def book(tmp_path):
    book = Book(tmp_path / "audit")
    assert book.take()
    yield book
    book.close()


def fill(book, *numbers, detail=b""):
    return book.append(book.ready(), [(entry(n), detail) for n in numbers], {})


def reopened(book):
    book.index.close()
    return book.ready()


class TestALine:
    def test_it_is_one_json_object_and_reads_back(self):
        text, digest = write(entry(said="a\nb\t\u2028"), b'{"arguments":[1,2]}', n=1, prev=GENESIS)
        assert json.loads(text)["detail"] == {"arguments": [1, 2]}
        one = read(text)
        assert (one.digest, one.line.entry.said, one.values()) == (digest, "a\nb\t\u2028", {"arguments": [1, 2]})
        assert b"\n" not in text
        bare, _ = write(entry(), b"", n=1, prev=GENESIS)
        assert "detail" not in json.loads(bare)
        assert (read(bare).values(), read(bare).detail_altered) == ({}, False)

    def test_the_digest_covers_all_but_the_detail_and_the_detail_is_bound(self):
        text, digest = write(entry(tool="pay"), b'{"arguments":1}', n=1, prev=GENESIS)
        assert read(text.replace(b"pay", b"buy")).digest != digest
        other = read(text.replace(b'"arguments":1', b'"arguments":2'))
        assert (other.digest, other.detail_altered) == (digest, True)

    @pytest.mark.parametrize(
        "text", [b"", b"{}", b"nonsense", b'{"n":1,"prev":"zz","entry":{"at":1,"kind":"k","session":"s"}}', b"\xff"]
    )
    def test_what_is_no_line(self, text):
        with pytest.raises(LogBroken):
            read(text)

    def test_a_detail_cant_say_anything_of_the_entry(self):
        """JSON lets a name come twice, and the last one counts: here in the part that is not hashed."""
        text, _ = write(entry(tool="pay"), b"{}", n=1, prev=GENESIS)
        size = 300
        for _ in range(3):
            other = entry(tool="harmless", detail_sha256="0" * 64, detail_size=size)
            detail = b'1,"entry":' + msgspec.json.encode(other)
            size = len(detail)
        forged = text[: text.index(b',"detail":')] + b',"detail":' + detail + b"}"
        assert json.loads(forged)["entry"]["tool"] == "harmless"
        with pytest.raises(LogBroken, match="two things at once"):
            read(forged)


class TestTheFile:
    def test_only_its_owner_reads_it(self, book):
        fill(book, 1)
        for path in (book.path, book.folder / INDEX, book.folder / "lock"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(book.folder.stat().st_mode) == 0o700

    def test_one_writer_at_a_time(self, book):
        other = Book(book.folder)
        assert not other.take()
        book.give_back()
        assert other.take()
        other.close()

    def test_lines_backwards_are_lines_forwards(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        path.write_bytes(b"".join(b"%d" % n * (n % 7 + 1) + b"\n" for n in range(50)) + b"half")
        monkeypatch.setattr(lines, "_PIECE", 16)
        monkeypatch.setattr(lines, "_BACK", 16)
        whole = [line.text for line in lines.lines(path) if line.whole]
        assert len(whole) == 50
        assert list(lines.backwards(path)) == whole[::-1]
        assert list(lines.backwards(tmp_path / "none")) == []
        path.write_bytes(b"half")
        assert list(lines.backwards(path)) == []
        path.write_bytes(b"one\n")
        assert list(lines.backwards(path)) == [b"one"]

    def test_what_others_wrote_is_taken_in(self, book):
        fill(book, 1, 2)
        other = Book(book.folder)
        other._lock, book._lock = book._lock, None
        tip = fill(other, 3)
        assert other.row("s").seq == 0, "rows are the caller's to say"
        other.index.remove()
        assert book.ready() == tip
        assert book.row("s").seq == 3
        other.close()


class TestATornEnd:
    @pytest.mark.parametrize("torn", [b"{", b"\0" * 700, b'{"n":3,"prev":"00'])
    @pytest.mark.parametrize("index", ["kept", "lost"])
    def test_it_is_cut_off(self, book, torn, index):
        tip = fill(book, 1, 2)
        good = book.path.read_bytes()
        book.path.write_bytes(good + torn)
        if index == "lost":
            book.index.remove()
        assert reopened(book) == tip
        assert book.path.read_bytes() == good

    def test_whole_lines_before_it_stay(self, book):
        tip = fill(book, 1)
        text, digest = write(entry(2), b"{}", n=2, prev=tip.digest)
        third, _ = write(entry(3), b"{}", n=3, prev=digest)
        with book.path.open("ab") as file:
            file.write(text + b"\n" + third[: len(third) // 2])
        found = reopened(book)
        assert (found.count, found.digest) == (2, digest)
        assert book.row("s").seq == 2
        assert book.path.stat().st_size == found.size

    def test_with_holes_before_whole_lines_as_after_a_power_cut(self, book):
        tip = fill(book, 1)
        two, digest = write(entry(2), b"", n=2, prev=tip.digest)
        three, _ = write(entry(3), b"", n=3, prev=digest)
        with book.path.open("ab") as file:
            file.write(b"\0" * len(two) + b"\n" + three + b"\n")
        assert reopened(book) == tip
        assert book.path.stat().st_size == tip.size

    def test_without_the_index_a_hole_in_the_middle_is_no_torn_end(self, book):
        fill(book, 1, 2, 3)
        data = book.path.read_bytes()
        book.path.write_bytes(data.replace(b'"seq":2', b'"seq":7'))
        book.index.remove()
        with pytest.raises(LogBroken, match="what follows entry 2 does not fit"):
            book.ready()
        assert book.path.read_bytes() != data, "and nothing is mended"


class TestTheIndexIsACache:
    def test_it_is_made_again_from_the_book(self, book):
        tip = fill(book, 1, 2, 3)
        book.index.remove()
        assert book.ready() == tip
        assert (book.row("s").seq, book.row("s").story) == (3, None)
        assert book.index.cursor().change == 0

    @pytest.mark.parametrize("rubbish", [b"", b"no database at all" * 300])
    def test_or_when_it_is_damaged(self, book, rubbish):
        tip = fill(book, 1, 2, 3)
        book.index.remove()
        (book.folder / INDEX).write_bytes(rubbish)
        assert book.ready() == tip

    def test_a_book_before_its_index_was_cut(self, book):
        fill(book, 1, 2, 3)
        book.path.write_bytes(b"".join(line + b"\n" for line in book.path.read_bytes().splitlines()[:2]))
        with pytest.raises(LogBroken, match=r"was cut: \d+ bytes of it are gone"):
            reopened(book)

    def test_a_book_that_ends_in_another_entry_was_altered(self, book):
        fill(book, 1, 2, 3)
        data = book.path.read_bytes()
        book.path.write_bytes(data.replace(b'"seq":3', b'"seq":4'))
        with pytest.raises(LogBroken, match="entry 3 is not the one written there"):
            reopened(book)

    def test_an_empty_folder(self, book):
        assert book.ready() == Tip()
        assert list(lines.readable(book.path)) == []


def test_a_detail_is_blanked_in_its_place(book):
    rows = [(entry(1, arguments_blob="sha256:aa"), b'{"arguments":"secret"}')]
    rows += [(entry(2, arguments_blob="sha256:bb"), b'{"arguments":"kept"}')]
    rows += [(entry(3, session="t", arguments_blob="sha256:aa"), b'{"arguments":"theirs"}')]
    tip = book.append(book.ready(), rows, {})
    size = os.stat(book.path).st_size
    assert book.erase("s", ["sha256:aa"]) == 1
    assert book.erase("s", ["sha256:aa"]) == 0
    assert reopened(book) == tip
    assert os.stat(book.path).st_size == size
    one, two, three = lines.readable(book.path)
    assert (one.erased, one.detail_altered, one.values()) == (True, False, {})
    assert (two.values(), three.values()) == ({"arguments": "kept"}, {"arguments": "theirs"})
    assert json.loads(book.path.read_bytes().splitlines()[0])["detail"] is None
