import os

import pytest

from callslip.errors import ConfigError
from callslip.project import files
from callslip.project.files import covered, key, read

pytestmark = pytest.mark.requirement("GATE-09")


def test_every_module_below_counts_and_what_others_made_does_not(tree):
    for name in ("app.py", "pkg/__init__.py", "pkg/deep/mod.py", "a/b.py"):
        tree.write(name, f"# {name}")
    for name in (
        "notes.txt", ".hidden/x.py", ".x.py", "__pycache__/x.py", "node_modules/x.py", "pkg/__pycache__/m.cpython.pyc",
        "env/lib/x.py", "env/pyvenv.cfg",
    ):  # fmt: skip
        tree.write(name)
    assert covered(tree.root) == {
        name: f"# {name}".encode() for name in ("a/b.py", "app.py", "pkg/__init__.py", "pkg/deep/mod.py")
    }


def test_the_workspace_and_the_state_do_not_count_however_they_are_spelled(tree):
    tree.write("app.py")
    tree.write("files/x.py")
    tree.write("state/x.py")
    (tree.root.parent / "alias").symlink_to(tree.root / "files")
    assert set(covered(tree.root, apart=[tree.root.parent / "alias", tree.root / "state", tree.root / "gone"])) == {
        "app.py"
    }


def test_in_a_workspace_only_what_is_named_counts(tree):
    app = tree.write("sub/app.py", "1")
    tree.write("sub/other.py")
    named = [app, tree.root / "sub" / "gone.py"]
    assert covered(tree.root / "sub", apart=[tree.root], named=named) == {"app.py": b"1"}


def test_links_count_by_their_place_and_links_to_folders_are_not_followed(tree, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "mod.py").write_text("out")
    (tree.root / "one.py").symlink_to(tmp_path / "outside" / "mod.py")
    (tree.root / "dangling.py").symlink_to(tmp_path / "gone.py")
    (tree.root / "folder").symlink_to(tmp_path / "outside")
    (tree.root / "loop").symlink_to(tree.root)
    assert covered(tree.root) == {"one.py": b"out"}


def test_what_lies_outside_is_named_in_full(tree, tmp_path):
    elsewhere = tmp_path / "replies.jsonl"
    elsewhere.write_text("{}")
    assert covered(tree.root, named=[elsewhere, elsewhere]) == {str(elsewhere): b"{}"}
    (tmp_path / "alias").symlink_to(tree.root)
    assert key(tree.root, tmp_path / "alias" / "app.py") == "app.py"
    assert key(tree.root, tree.root / "x" / ".." / "app.py") == "app.py"


def test_a_pipe_a_folder_and_a_name_that_cant_be_written_down(tree):
    os.mkfifo(tree.root / "pipe.py")
    (tree.root / "folder.py").mkdir()
    (tree.root / os.fsdecode(b"\xff.py")).write_text("")
    assert covered(tree.root) == {}
    assert read(tree.root / "pipe.py") is None


def test_too_much_is_said_and_not_cut(tree, monkeypatch):
    tree.write("a.py", "x" * 10)
    tree.write("b.py", "x")
    monkeypatch.setattr(files, "LARGEST", 9)
    with pytest.raises(ConfigError, match="more than 0 MiB"):
        covered(tree.root)
    monkeypatch.setattr(files, "LARGEST", 10)
    assert len(covered(tree.root)) == 2
    monkeypatch.setattr(files, "MOST", 1)
    with pytest.raises(ConfigError, match="more than 1 Python files"):
        covered(tree.root)
