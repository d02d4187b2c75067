from __future__ import annotations

import time
from pathlib import Path

import pytest

from callslip.workspace import search_text as module


@pytest.fixture
def tree(root: Path):
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return one()\n")
    (root / "b.txt").write_text("One day\r\nno\r\n")
    (root / "c.bin").write_bytes(b"one\0two")
    (root / "link").symlink_to("b.txt")


@pytest.mark.requirement("SAND-06")
@pytest.mark.usefixtures("tree")
def test_finds_lines(use):
    assert use("search_text", pattern=r"^def \w+") == {
        "matches": [
            {"path": "src/a.py", "line": 1, "text": "def one():"},
            {"path": "src/a.py", "line": 5, "text": "def two():"},
        ],
        "files_searched": 2,
        "truncated": False,
        "skipped": {"binary": 1},
    }


@pytest.mark.usefixtures("tree")
def test_choices(use):
    def found(**arguments):
        return [(match["path"], match["line"]) for match in use("search_text", **arguments)["matches"]]

    assert found(pattern="one", ignore_case=True) == [("b.txt", 1), ("src/a.py", 1), ("src/a.py", 6)]
    assert found(pattern="one", glob="*.py") == [("src/a.py", 1), ("src/a.py", 6)]
    assert found(pattern="one", path="src") == [("src/a.py", 1), ("src/a.py", 6)]
    assert found(pattern="One", path="b.txt") == [("b.txt", 1)]
    assert found(pattern="One", path="link") == [("b.txt", 1)]
    assert found(pattern="day$", path="b.txt") == []  # CRLF: the line ends in \r
    assert found(pattern="^$", path="src") == [("src/a.py", 3), ("src/a.py", 4)]
    assert found(pattern=r"1\s+def") == []  # never over two lines
    assert found(pattern="x*", path="b.txt") == [("b.txt", 1), ("b.txt", 2)]


@pytest.mark.usefixtures("tree")
def test_the_limit_is_said(use):
    result = use("search_text", pattern="one", limit=1)
    assert len(result["matches"]) == 1
    assert result["truncated"]
    assert "first 1" in result["note"]
    assert not use("search_text", pattern="two", limit=1)["truncated"]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "missing )"),
        ("(?=a)", "perl operator"),
        (r"(a)\1", "escape"),
        ("", "characters"),
        ("\ud800", "surrogate"),
    ],
)
def test_a_bad_pattern_is_answered_with_the_reason(refused, pattern: str, reason: str):
    error = refused("search_text", pattern=pattern)
    assert error.tool_code == "bad_pattern"
    assert reason in str(error)


def test_a_nasty_pattern_takes_linear_time(use, root: Path):
    (root / "f").write_text("a" * 100_000 + "\n")
    started = time.process_time()
    assert use("search_text", pattern="(a+)+(a*)*$b")["matches"] == []
    assert time.process_time() - started < 2


def test_a_long_line_is_shown_around_the_match(use, root: Path):
    (root / "f").write_text("é" * 5_000 + "needle" + "é" * 5_000)
    text = use("search_text", pattern="needle")["matches"][0]["text"]
    assert "needle" in text
    assert len(text) < 400
    assert text.startswith("…")
    assert text.endswith("…")


def test_large_and_binary_files_are_counted(use, root: Path):
    with (root / "big").open("wb") as big:
        big.truncate(100 * 1024 * 1024)
    (root / "odd").write_bytes(b"needle \xff\n")
    result = use("search_text", pattern="needle")
    assert result["skipped"] == {"too_large": 1}
    assert result["matches"] == [{"path": "odd", "line": 1, "text": "needle \ufffd"}]
    assert use("search_text", pattern="needle", path="big")["skipped"] == {"too_large": 1}


def test_it_stops_before_the_deadline_with_what_it_has(use, context, root: Path):
    for number in range(5):
        (root / f"{number}").write_text("needle")
    context._clock.milliseconds = context.deadline - 500
    result = use("search_text", pattern="needle")
    assert result["truncated"]
    assert "time" in result["note"]


def test_it_stops_after_so_many_bytes(use, root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 10)
    for number in range(5):
        (root / f"{number}").write_text("needle")
    result = use("search_text", pattern="needle")
    assert result["files_searched"] == 2
    assert result["truncated"]


def test_cancelling_stops_it(refused, context, root: Path):
    (root / "f").write_text("x")
    context.cancel()
    assert refused("search_text", pattern="x").tool_code == "cancelled"


@pytest.mark.usefixtures("tree")
def test_no_place_no_search(refused):
    assert refused("search_text", pattern="x", path="nothing").not_found
    assert refused("search_text", pattern="x", path="../root").tool_code == "outside_root"
