from __future__ import annotations

import hashlib
import os
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from callslip.workspace import page as page_module
from callslip.workspace.page import PAGE_BYTES, read_page
from callslip.workspace.root import Root


@pytest.mark.requirement("SAND-06")
def test_a_small_file(use, root: Path):
    (root / "f").write_bytes(b"one\ntwo\nthree")
    assert use("read_file", path="./f") == {
        "path": "f",
        "text": "one\ntwo\nthree",
        "encoding": "utf-8",
        "line_ends": "lf",
        "first_line": 1,
        "lines": 3,
        "lines_total": 3,
        "size": 13,
        "sha256": hashlib.sha256(b"one\ntwo\nthree").hexdigest(),
        "truncated": False,
    }


def test_an_empty_file(use, refused, root: Path):
    (root / "f").touch()
    result = use("read_file", path="f")
    assert (result["text"], result["lines"], result["lines_total"], result["truncated"]) == ("", 0, 0, False)
    assert refused("read_file", path="f", offset=1).tool_code == "no_such_line"


def test_pages_follow_each_other(use, refused, root: Path):
    (root / "f").write_text("".join(f"{number}\n" for number in range(10)))
    first = use("read_file", path="f", limit=4)
    assert (first["text"], first["truncated"], first["next_offset"]) == ("0\n1\n2\n3\n", True, 4)
    last = use("read_file", path="f", offset=8, limit=4)
    assert (last["text"], last["truncated"], last["first_line"]) == ("8\n9\n", False, 9)
    assert "next_offset" not in last
    assert "it has 10 lines" in str(refused("read_file", path="f", offset=10))


def test_a_hundred_megabytes_are_read_in_little_memory(use, root: Path):
    with (root / "big").open("wb") as big:
        big.write(b"first\n" + b"x" * 100 + b"\n")
        big.truncate(100 * 1024 * 1024)
        big.seek(0, os.SEEK_END)
        big.write(b"\nlast\n")
    tracemalloc.start()
    started = time.process_time()
    try:
        result = use("read_file", path="big", limit=1)
        assert use("read_file", path="big", offset=3)["text"] == "last\n"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (result["text"], result["lines_total"]) == ("first\n", 4)
    assert peak < 8 * 1024 * 1024
    assert time.process_time() - started < 5


def test_beyond_the_scan_the_total_is_unknown(use, refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_module, "SCAN_BYTES", 1024 * 1024)
    with (root / "big").open("wb") as big:
        big.write(b"first\n" * 200_000)
        big.truncate(10 * 1024 * 1024)
    result = use("read_file", path="big", limit=2)
    assert (result["lines_total"], result["sha256"], result["truncated"], result["next_offset"]) == (
        None, None, True, 2,
    )  # fmt: skip
    assert refused("read_file", path="big", offset=300_000).tool_code == "no_such_line"


def test_a_long_line_is_cut_and_said_to_be(use, root: Path):
    (root / "f").write_text("é" * PAGE_BYTES + "\nnext\n")
    result = use("read_file", path="f")
    assert result["text"] == "é" * (PAGE_BYTES // 2)
    assert (result["truncated"], result["lines"], result["next_offset"], result["encoding"]) == (True, 1, 1, "utf-8")
    assert "longer than" in result["note"]
    assert use("read_file", path="f", offset=1)["text"] == "next\n"


def test_a_page_ends_between_lines(use, root: Path):
    line = "x" * 99 + "\n"
    (root / "f").write_text(line * 9_000)
    result = use("read_file", path="f", limit=9_000)
    assert result["lines"] == PAGE_BYTES // 100 == result["next_offset"]
    assert result["text"] == line * result["lines"]


def test_not_utf8_is_shown_and_said(use, root: Path):
    (root / "f").write_bytes(b"caf\xe9 \xff\nok \xef\xbf\xbd\n")
    result = use("read_file", path="f")
    assert result["text"] == "caf\ufffd \ufffd\nok \ufffd\n"
    assert result["encoding"].startswith("not utf-8, 2 invalid")


def test_line_ends_and_mark(use, root: Path):
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    result = use("read_file", path="f")
    assert (result["text"], result["line_ends"], result["encoding"]) == (
        "a\nb\n", "crlf", "utf-8 with byte order mark",
    )  # fmt: skip
    (root / "m").write_bytes(b"a\r\nb\n")
    assert use("read_file", path="m")["line_ends"] == "mixed"
    assert use("read_file", path="m")["text"] == "a\r\nb\n"


def test_binary_is_refused(refused, root: Path):
    (root / "f").write_bytes(b"\x7fELF\0\0\0")
    (root / "u").write_bytes("text".encode("utf-16"))
    assert "binary" in str(refused("read_file", path="f"))
    assert "UTF-16" in str(refused("read_file", path="u"))


def test_cancelling_stops_it(refused, context, root: Path):
    (root / "f").write_text("x")
    context.cancel()
    assert refused("read_file", path="f").tool_code == "cancelled"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r\n", "é".encode()]), max_size=40).map(b"".join),
    offset=st.integers(0, 20),
    limit=st.integers(1, 20),
    chunk=st.integers(1, 7),
    size=st.integers(6, 30),
)
def test_any_page_is_the_same_lines_as_a_plain_split(
    tmp_path: Path, data: bytes, offset: int, limit: int, chunk: int, size: int
):
    (tmp_path / "f").write_bytes(data)
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    with (
        pytest.MonkeyPatch.context() as patch,
        Root(tmp_path).open_file("f") as opened,
    ):
        patch.setattr(page_module, "CHUNK_BYTES", chunk)
        patch.setattr(page_module, "PAGE_BYTES", size)
        if offset and offset >= len(lines):
            with pytest.raises(Exception, match="has no line"):
                read_page(opened, offset, limit, "f", lambda: None)
            return
        page = read_page(opened, offset, limit, "f", lambda: None)
    wanted = lines[offset : offset + limit]
    kept: list[bytes] = []
    for line in wanted:
        if sum(map(len, kept)) + len(line) > size:
            break
        kept.append(line)
    assert page.lines_total == len(lines)
    assert page.sha256 == hashlib.sha256(data).hexdigest()
    if wanted and not kept:
        assert page.line_cut
        assert page.lines == 1
        assert wanted[0].startswith(page.data)
        page.data.decode()
    else:
        assert page.data == b"".join(kept)
        assert page.lines == len(kept)
        assert not page.line_cut
