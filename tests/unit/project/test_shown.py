import pytest

from callslip.project.shown import difference


def test_a_change():
    lines = difference("app.py", b"a\nb\n", b"a\nc\n")
    assert lines == ["--- app.py (accepted)", "+++ app.py (now)", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]


def test_new_and_gone():
    assert difference("a.py", None, b"x\n") == ["--- /dev/null", "+++ a.py (now)", "@@ -0,0 +1 @@", "+x"]
    assert difference("a.py", b"x\n", None) == ["--- a.py (accepted)", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"]


def test_nothing_is_left_out():
    long = "x" * 100_000
    many = "".join(f"line {n}\n" for n in range(5000))
    lines = difference("a.py", b"", f"{long}\n{many}".encode())
    assert f"+{long}" in lines
    assert len([line for line in lines if line.startswith("+line ")]) == 5000


def test_ends_of_lines_are_differences_too():
    assert difference("a.py", b"x", b"x\n")[-3:] == ["-x", "\\ No newline at end of file", "+x"]
    assert difference("a.py", b"x\n", b"x\r\n")[-2:] == ["-x", "+x\r"]
    assert difference("a.py", b"x\fy\n", b"x\x0bz\n")[-2:] == ["-x\fy", "+x\x0bz"]  # no line ends to Python


@pytest.mark.parametrize("data", [b"\xff", b"a\0b"])
def test_what_is_no_text(data):
    assert difference("m.bin", b"x", data) == [f"m.bin is not text: 1 bytes were accepted, now it has {len(data)}."]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"# coding: utf-8\nx\n", None),
        (b"\xef\xbb\xbfx\n", None),
        (b"# coding: utf-7\n# +AAo-import os\n", "as utf-7"),
        (b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\n", "as iso-8859-1"),
        (b"# coding: nonsense\n", "its encoding is unknown"),
    ],
)
def test_an_encoding_that_says_something_else_than_it_shows(text, told):
    first = difference("a.py", None, text)[0]
    assert first == "--- /dev/null" if told is None else told in first
    assert difference("a.txt", None, text)[0] == "--- /dev/null"


def test_a_copy_that_was_lost_costs_the_difference_only():
    lines = difference("a.py", None, b"x\n", kept=False)
    assert "not kept any more" in lines[0]
    assert lines[-1] == "+x"
