import io
import sys

import click
import pytest

from callslip.cli import look, moments


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("short", 10, "short"),
        ("exactly", 7, "exactly"),
        ("too long", 5, "too …"),
        ("世界世界", 5, "世界…"),
        ("世界世界", 4, "世…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 0, ""),
        ("abc", None, "abc"),
    ],
)
def test_cut_counts_columns_and_never_splits_a_character(text, most, cut):
    assert look.cut(text, most) == cut
    assert most is None or look.width(look.cut(text, most)) <= max(most, 0)


def test_wrap_breaks_at_spaces_only():
    assert look.wrap("one two three", 7) == ["one two", "three"]
    assert look.wrap("exceptionally long", 5) == ["exceptionally", "long"]
    assert look.wrap("世界 世界", 5) == ["世界", "世界"]
    assert look.wrap("one two", None) == ["one two"]


@pytest.mark.parametrize(
    ("columns", "head", "lines"),
    [
        (None, "! ", ["! one two three four five six seven eight"]),
        (30, "! ", ["! one two three four five six", "  seven eight"]),
        (30, "  ", ["  one two three four five six", "  seven eight"]),
        (30, "世界 ", ["世界 one two three four five", "     six seven eight"]),
        (30, "a long head: ", ["a long head:", "    one two three four five", "    six seven eight"]),
        (50, "a long head: ", ["a long head: one two three four five six seven", "             eight"]),
    ],
)
def test_later_lines_hang_under_the_first(columns, head, lines, monkeypatch, capsys):
    monkeypatch.setattr(look, "columns", lambda: columns)
    look.hang(head, "one two three four five six seven eight")
    assert capsys.readouterr().out.splitlines() == lines


def test_table_lines_up_wide_characters(capsys):
    look.table(("id", "what"), [("世界", "a"), ("abcdef", look.Cell("b\x1b", "red"))])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines == ["ID      WHAT", "世界    a", "abcdef  b\\x1b"]


def test_no_color_is_honoured(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert look.paint("x", "red") != "x"
    monkeypatch.setenv("NO_COLOR", "")
    assert look.paint("x", "red", bold=True) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert look.paint("x", "red") == "x"


def test_marks_for_terminals_without_unicode(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert look.mark("ok") == "✓"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert [look.mark(kind) for kind in ("ok", "bad", "wait", "next", "dot")] == ["ok", "no", "||", ">", "-"]


def test_progress_only_on_a_terminal(monkeypatch, capsys):
    look.Progress().show("half")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = look.Progress()
    progress.show("half")
    progress.clear()
    progress.clear()
    assert capsys.readouterr().err == "\r\x1b[Khalf\r\x1b[K"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1500, "1.5 s"),
        (90_000, "1 min"),
        (7_200_000, "2 h"),
        (86_400_000 * 20, "20 d"),
        (-5, "0 ms"),
    ],
)
def test_spans(milliseconds, text):
    assert moments.span(milliseconds) == text


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (-5, "due now"), (0, "due now"), (1, "in 1 s"), (999, "in 1 s"), (1001, "in 2 s"), (59_000, "in 59 s"),
        (61_000, "in 1 min"), (7_200_000, "in 2 h"),
    ],
)  # fmt: skip
def test_what_is_still_to_come(monkeypatch, left, text):
    monkeypatch.setattr(moments, "now", lambda: 1_700_000_000_000)
    assert moments.due(1_700_000_000_000 + left) == text


def test_moments():
    assert moments.age(moments.now()) == "just now"
    assert moments.age(moments.now() - 7_200_500) == "2 h ago"
    assert moments.age(moments.now() + 60_900).startswith("in ")
    assert moments.clock(1_700_000_000_123).endswith(".123")
    assert moments.day(1_700_000_000_123).startswith("2023-11-1")
