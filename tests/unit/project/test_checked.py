import pytest

from callslip.project.checked import check
from callslip.project.held import Change

pytestmark = pytest.mark.requirement("GATE-09")


@pytest.fixture
def accepted(tree):
    tree.write("app.py", "1")
    tree.write("pkg/mod.py", "2")
    return tree.digests()


def kinds(checked):
    return [(change.path, change.kind) for change in checked.held]


def test_what_is_as_accepted(tree, accepted):
    checked = check(tree.root, accepted, [tree.root / "app.py"])
    assert checked.held == ()
    assert checked.files == {"app.py": b"1", "pkg/mod.py": b"2"}
    assert checked.get(tree.root / "pkg" / "mod.py") == b"2"
    assert checked.get(tree.root / "other.py") is None


def test_changed_gone_and_never_accepted(tree, accepted):
    tree.write("app.py", "1 ")
    (tree.root / "pkg" / "mod.py").unlink()
    tree.write("new.py")
    checked = check(tree.root, accepted, [tree.root / "new.py", tree.root / "not_there.py"])
    assert kinds(checked) == [("app.py", "changed"), ("new.py", "new"), ("pkg/mod.py", "gone")]
    assert checked.files == {}


def test_a_file_that_is_neither_is_not_looked_at(tree, accepted):
    tree.write("scratch.py")
    assert check(tree.root, accepted).held == ()


def test_a_file_that_was_read_already_is_not_read_again(tree, accepted):
    tree.write("app.py", "swapped")
    assert check(tree.root, accepted, known={"app.py": b"1"}).held == ()
    tree.write("app.py", "1")
    assert kinds(check(tree.root, accepted, known={"app.py": b""})) == [("app.py", "changed")]
    assert kinds(check(tree.root, {}, [tree.root / "app.py"], known={"app.py": b"1"})) == [("app.py", "new")]


def test_a_link_counts_by_the_contents_of_what_it_leads_to(tree, accepted, tmp_path):
    (tree.root / "app.py").unlink()
    (tmp_path / "elsewhere").write_text("1")
    (tree.root / "app.py").symlink_to(tmp_path / "elsewhere")
    assert check(tree.root, accepted).held == ()
    (tmp_path / "elsewhere").write_text("other")
    assert isinstance(check(tree.root, accepted).held[0], Change)


def test_a_folder_in_a_files_place_and_a_file_in_a_folders(tree, accepted):
    (tree.root / "app.py").unlink()
    (tree.root / "app.py").mkdir()
    (tree.root / "pkg" / "mod.py").unlink()
    (tree.root / "pkg").rmdir()
    (tree.root / "pkg").write_text("")
    assert kinds(check(tree.root, accepted)) == [("app.py", "gone"), ("pkg/mod.py", "gone")]
