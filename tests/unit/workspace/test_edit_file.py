from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from callslip.core.events.tool_dispatch import Evidence
from callslip.errors import ToolFailed
from callslip.workspace import edit_file as module
from callslip.workspace.difference import MAX_DIFF_CHARACTERS, difference
from callslip.workspace.exact_replace import Passage, exact_replace
from callslip.workspace.seen import Seen


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_replaces_one_passage(use, root: Path):
    (root / "f.py").write_text("a = 1\nb = 2\nc = 3\n")
    result = use("edit_file", path="f.py", old="b = 2\n", new="b = 20\nbb = 2\n")
    assert (root / "f.py").read_text() == "a = 1\nb = 20\nbb = 2\nc = 3\n"
    assert result == {
        "path": "f.py",
        "replaced": 1,
        "lines_added": 2,
        "lines_removed": 1,
        "diff": "@@ -1,3 +1,4 @@\n a = 1\n-b = 2\n+b = 20\n+bb = 2\n c = 3",
        "size": 26,
        "sha256": sha(b"a = 1\nb = 20\nbb = 2\nc = 3\n"),
    }


def test_counts(use, refused, root: Path):
    (root / "f").write_text("x\ny\nx\nx\n")
    error = refused("edit_file", path="f", old="x", new="z")
    assert error.tool_code == "ambiguous_match"
    assert "occurs 3 times" in str(error)
    assert "line 1, 3, 4" in str(error)
    assert refused("edit_file", path="f", old="x", new="z", count=2).tool_code == "ambiguous_match"
    assert use("edit_file", path="f", old="x", new="z", count=3)["replaced"] == 3
    assert use("edit_file", path="f", old="z", new="", replace_all=True)["replaced"] == 3
    assert (root / "f").read_text() == "\ny\n\n\n"
    assert refused("edit_file", path="f", old="nothing", new="", replace_all=True).tool_code == "no_match"


def test_overlapping_places_are_ambiguous(use, refused, root: Path):
    (root / "f").write_text("aaa")
    assert refused("edit_file", path="f", old="aa", new="b").tool_code == "ambiguous_match"
    assert use("edit_file", path="f", old="aa", new="b", replace_all=True)["replaced"] == 1


def test_no_match_helps(refused, root: Path):
    (root / "f").write_text("import os\n\ndef compute(value):\n    return  value + 1\n")
    near = str(refused("edit_file", path="f", old="def compute(valeu):", new=""))
    assert "0 matches" in near
    assert "line 3: def compute(value):" in near
    spaces = str(refused("edit_file", path="f", old="return value + 1", new=""))
    assert "same words stand at line 4" in spaces
    assert "Nearest" not in str(refused("edit_file", path="f", old="zzzzzzzzzzzzz", new=""))
    assert refused("edit_file", path="f", old="\n\n\n\n", new="").tool_code == "no_match"


@pytest.mark.parametrize(("old", "new", "count"), [("", "x", 1), ("a", "a", 1), ("a", "b", 0)])
def test_senseless_edits(refused, root: Path, old: str, new: str, count: int):
    (root / "f").write_text("a")
    assert refused("edit_file", path="f", old=old, new=new, count=count).tool_code == "bad_edit"


def test_line_ends_and_mark_are_kept(use, root: Path):
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    use("edit_file", path="f", old="a\nb", new="a\nB\nB2")
    assert (root / "f").read_bytes() == b"\xef\xbb\xbfa\r\nB\r\nB2\r\nc\r\n"
    use("edit_file", path="f", old="c\r\n", new="d\r\n")
    assert (root / "f").read_bytes() == b"\xef\xbb\xbfa\r\nB\r\nB2\r\nd\r\n"
    (root / "m").write_bytes(b"a\r\nb\nc\nd\r\n")
    use("edit_file", path="m", old="b\nc", new="x\ny")
    assert (root / "m").read_bytes() == b"a\r\nx\ny\nd\r\n"
    use("edit_file", path="m", old="a\nx", new="p\nq")
    assert (root / "m").read_bytes() == b"p\r\nq\ny\nd\r\n"


def test_what_is_not_text_is_refused(refused, root: Path):
    (root / "latin").write_bytes(b"caf\xe9")
    (root / "binary").write_bytes(b"a\0b")
    before = (root / "latin").stat().st_ino
    assert "first at byte 3" in str(refused("edit_file", path="latin", old="c", new="k"))
    assert refused("edit_file", path="binary", old="a", new="k").tool_code == "not_text"
    assert (root / "latin").stat().st_ino == before


def test_refuses_targets(refused, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "outside").write_text("abc")
    (root / "out").symlink_to("../outside")
    os.link(tmp_path / "outside", root / "hard")
    (root / "f").write_text("abcdefgh")
    arguments = {"old": "b", "new": "x"}
    assert refused("edit_file", path="out", **arguments).tool_code == "outside_root"
    assert refused("edit_file", path="hard", **arguments).tool_code == "hard_link"
    missing = refused("edit_file", path="a/b", **arguments)
    assert missing.not_found
    assert refused("edit_file", path="f", old="b", new="\ud800").tool_code == "bad_text"
    monkeypatch.setattr(module, "MAX_EDITED_BYTES", 8)
    assert refused("edit_file", path="f", old="b", new="bb").tool_code == "too_large"
    monkeypatch.setattr(module, "MAX_EDITED_BYTES", 7)
    assert refused("edit_file", path="f", **arguments).tool_code == "too_large"
    assert (tmp_path / "outside").read_text() == "abc"
    assert sorted(os.listdir(root)) == ["f", "hard", "out"]


@pytest.mark.requirement("SAND-06")
@pytest.mark.anyio
async def test_evidence(tools, context, root: Path):
    (root / "f").write_text("one two")
    arguments = {"path": "f", "old": "two", "new": "2"}
    evidence = await tools["edit_file"].prepare(arguments)
    assert evidence == Evidence(target="f", before=sha(b"one two"), after=sha(b"one 2"))
    assert await tools["edit_file"].digest("f") == evidence.before
    result = await tools["edit_file"].run(arguments, context)
    assert result["sha256"] == evidence.after == await tools["edit_file"].digest("f")
    with pytest.raises(ToolFailed):
        await tools["edit_file"].prepare(arguments)


@pytest.mark.anyio
async def test_a_change_between_prepare_and_run_is_found_even_if_the_passage_is_still_there(tools, context, root: Path):
    (root / "f").write_text("one two")
    arguments = {"path": "f", "old": "two", "new": "2"}
    await tools["edit_file"].prepare(arguments)
    (root / "f").write_text("three two")
    with pytest.raises(ToolFailed) as caught:
        await tools["edit_file"].run(arguments, context)
    assert (caught.value.tool_code, caught.value.effect) == ("changed_meanwhile", "none")
    assert (root / "f").read_text() == "three two"


def test_a_change_just_before_the_rename_is_found(refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    (root / "f").write_text("one two")
    monkeypatch.setattr(module, "stop_if_cancelled", lambda _context: (root / "f").write_text("theirs"))
    assert refused("edit_file", path="f", old="two", new="2").tool_code == "changed_meanwhile"
    assert (root / "f").read_text() == "theirs"


@pytest.mark.anyio
async def test_the_digest_of_what_can_not_be_read_is_an_error_not_a_guess(tools, root: Path):
    os.mkfifo(root / "fifo")
    (root / "loop").symlink_to("loop")
    for target in ("fifo", "loop", "../x", ".env"):
        with pytest.raises(ToolFailed):
            await tools["edit_file"].digest(target)


def test_help_for_a_huge_file_takes_bounded_time():
    text = "\n".join(f"the quick brown fox {number} jumps over the lazy dog" * 3 for number in range(50_000))
    started = time.process_time()
    with pytest.raises(ToolFailed):
        exact_replace(text, Passage(old="the quick brown fox jumped over the lazy dog" * 3, new=""), "f")
    assert time.process_time() - started < 5


text = st.text(alphabet="ab\n", max_size=12)


@given(head=text, tail=text, old=text.filter(bool), new=text)
def test_exactly_once_or_not_at_all(head: str, tail: str, old: str, new: str):
    whole = head + old + tail
    places = [at for at in range(len(whole)) if whole.startswith(old, at)]
    passage = Passage(old=old, new=new)
    if old == new or len(places) != 1:
        with pytest.raises(ToolFailed):
            exact_replace(whole, passage, "f")
    else:
        assert exact_replace(whole, passage, "f") == (head + new + tail, 1)


@given(before=st.text(alphabet="abc\n", max_size=60), after=st.text(alphabet="abc\n", max_size=60))
def test_a_diff_leads_from_the_old_text_to_the_new(before: str, after: str):
    compared = difference(before, after)
    old, new = lines(before), lines(after)
    result, position, last = [], 0, ""
    for line in compared.text.split("\n") if compared.text else []:
        if line.startswith("@@"):
            first, _ = line.split("-")[1].split(" ")[0].split(",")
            start = int(first) - 1
            result += old[position:start]
            position = start
            continue
        if line.startswith("\\"):
            if last in (" ", "+"):
                result[-1] = result[-1].removesuffix("\n")
            continue
        if line[:1] in (" ", "-"):
            assert old[position].removesuffix("\n") == line[1:]
            position += 1
        if line[:1] in (" ", "+"):
            result.append(line[1:] + "\n")
        last = line[:1]
    result += old[position:]
    assert "".join(result) == after
    assert len(new) - len(old) == compared.added - compared.removed


def lines(text: str) -> list[str]:
    parts = [line + "\n" for line in text.split("\n")]
    return parts[:-1] if text.endswith("\n") or not text else [*parts[:-1], parts[-1].removesuffix("\n")]


def test_a_long_diff_keeps_head_and_tail_and_says_how_much():
    compared = difference("\n".join(map(str, range(5_000))), "\n".join(map(str, range(5_000, 9_000))))
    assert (compared.added, compared.removed) == (4_000, 5_000)
    assert len(compared.text) < MAX_DIFF_CHARACTERS + 100
    assert "characters of the diff are shown" in compared.text
    assert compared.text.endswith("+8999\n\\ No newline at end of file")
    assert "(5,000 characters)" in difference("x", "y" * 5_000).text


def test_what_was_seen_is_forgotten_in_time():
    seen = Seen()
    for number in range(1_500):
        seen.remember((number,), "a")
    assert not seen.differs((0,), "b")
    assert seen.differs((1_499,), "b")
    assert not seen.differs((1_499,), "b")
    assert not seen.differs((1_498,), "a")
