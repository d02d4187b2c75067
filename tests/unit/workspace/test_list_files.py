from __future__ import annotations

import os
from pathlib import Path

import pytest

from callslip.errors import ToolFailed
from callslip.workspace import walk as walk_module
from callslip.workspace.file_pattern import file_pattern


@pytest.fixture
def tree(root: Path, tmp_path: Path):
    for name in ("b.py", "a/x.py", "a/deep/y.py", "a/z.txt", "a.txt", ".git/objects/ab", "c/d/e.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.py").write_text("")
    (root / "escape").symlink_to("../outside")
    (root / "inner").symlink_to("a")
    os.mkfifo(root / "pipe")


@pytest.mark.requirement("SAND-06")
@pytest.mark.usefixtures("tree")
def test_everything_in_order(use):
    result = use("list_files")
    assert [(entry["path"], entry["type"], entry["size"]) for entry in result["entries"]] == [
        (".git", "directory", 0),
        ("a", "directory", 0),
        ("a/deep", "directory", 0),
        ("a/deep/y.py", "file", 11),
        ("a/x.py", "file", 6),
        ("a/z.txt", "file", 7),
        ("a.txt", "file", 5),
        ("b.py", "file", 4),
        ("c", "directory", 0),
        ("c/d", "directory", 0),
        ("c/d/e.md", "file", 8),
        ("escape", "link", 0),
        ("inner", "link", 0),
        ("pipe", "other", 0),
    ]
    assert (result["path"], result["truncated"]) == (".", False)
    assert "skipped" not in result


@pytest.mark.usefixtures("tree")
def test_patterns_and_places(use):
    def paths(**arguments):
        return [entry["path"] for entry in use("list_files", **arguments)["entries"]]

    assert paths(pattern="*.py") == ["a/deep/y.py", "a/x.py", "b.py"]
    assert paths(pattern="./*.py") == ["b.py"]
    assert paths(pattern="a/**/*.py") == ["a/deep/y.py", "a/x.py"]
    assert paths(path="a", pattern="./*") == ["a/deep", "a/x.py", "a/z.txt"]
    assert paths(path="inner", pattern="*.py") == ["a/deep/y.py", "a/x.py"]
    assert paths(path="a/../c") == ["c/d", "c/d/e.md"]


@pytest.mark.usefixtures("tree")
def test_the_limit_is_said(use):
    result = use("list_files", limit=3)
    assert [entry["path"] for entry in result["entries"]] == [".git", "a", "a/deep"]
    assert result["truncated"]
    assert "first 3" in result["note"]
    assert not use("list_files", pattern="*.md", limit=1)["truncated"]


@pytest.mark.usefixtures("tree")
def test_a_huge_tree_is_bounded(use, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walk_module, "MAX_VISITED", 5)
    result = use("list_files")
    assert result["truncated"]
    assert len(result["entries"]) == 5
    assert "entries were looked at" in result["note"]


@pytest.mark.usefixtures("tree")
def test_refusals(refused):
    assert refused("list_files", path="escape").tool_code == "outside_root"
    assert refused("list_files", path="a.txt").tool_code == "not_a_directory"
    assert refused("list_files", path="nothing").not_found
    assert refused("list_files", path="..").tool_code == "outside_root"
    assert refused("list_files", pattern="[z-a]").tool_code == "bad_pattern"
    assert refused("list_files", pattern="").tool_code == "bad_pattern"


def test_a_name_that_is_not_utf8_is_counted(use, root: Path):
    (root / os.fsdecode(b"caf\xe9")).write_text("")
    result = use("list_files")
    assert result["entries"] == []
    assert result["skipped"] == {"name_not_utf8": 1}


def test_a_directory_swapped_while_walking_is_counted(workspace, root: Path):
    (root / "a").mkdir()
    (root / "a" / "f").write_text("")
    (root / "b").mkdir()
    with workspace.directory(".") as start:
        walk = walk_module.Walk(workspace, start)
        seen = []
        for entry in walk:
            seen.append(entry.path)
            if entry.path == "a":
                (root / "a" / "f").unlink()
                (root / "a").rmdir()
                (root / "a").symlink_to("b")
    assert seen == ["a", "b"]
    assert walk.skipped == {"unreadable": 1}


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**", ["a", "a/b"], []),
        ("*.py", ["a.py", "x/a.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "xsrc/a"]),
        ("src/", ["src/a"], ["src"]),
        ("**/test_*.py", ["test_a.py", "x/y/test_b.py"], ["x/atest_.py"]),
        ("a?c", ["abc", "x/abc"], ["ac", "a/c"]),
        ("[ab].x", ["a.x"], ["c.x"]),
        ("[!ab].x", ["c.x"], ["a.x", "/.x"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("a.b", ["a.b"], ["axb"]),
        ("{a", ["{a"], ["a"]),
        ("[a", ["[a"], ["a"]),
        ("é*", ["éa"], ["ea"]),
    ],
)
def test_file_pattern(pattern: str, yes: list[str], no: list[str]):
    matches = file_pattern(pattern)
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


def test_a_nasty_pattern_is_linear():
    assert not file_pattern("**/" + "*a" * 100 + "b")("a" * 4_000)


def test_unbalanced_braces_are_refused():
    with pytest.raises(ToolFailed):
        file_pattern("{{a}")
