"""Which file a path means (PARA-02)."""

import os

import msgspec
import pytest

from callslip.authorities.resources import Resources
from callslip.core.claim import Claim, Kind

pytestmark = pytest.mark.requirement("PARA-02")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "work"
    (root / "src" / "pkg").mkdir(parents=True)
    (root / "src" / "pkg" / "a.py").write_text("a")
    (root / "b").write_text("b")
    (root / "to_file").symlink_to("src/pkg/a.py")
    (root / "to_folder").symlink_to(root / "src")
    (root / "to_nothing").symlink_to("src/not_yet")
    (root / "src" / "up").symlink_to("..")
    os.link(root / "b", root / "src" / "hard")
    (root / "loop1").symlink_to("loop2")
    (root / "loop2").symlink_to("loop1")
    (tmp_path / "other").symlink_to(root)
    return root


def meet(root, one, other, other_root=None):
    mine, theirs = Resources(root).claim(one), Resources(other_root or root).claim(other)
    assert mine.conflicts(theirs) == theirs.conflicts(mine)
    return mine.conflicts(theirs)


A = "file:src/pkg/a.py"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, "file:./src//pkg/./a.py"),
        (A, "file:src/pkg/a.py/"),
        (A, "file:src/pkg/../pkg/a.py"),
        (A, "file:../work/src/pkg/a.py"),
        (A, "file:{root}/src/pkg/a.py"),
        (A, "file://{root}/src/pkg/a.py"),
        (A, "file:to_file"),
        (A, "file:to_folder/pkg/a.py"),
        (A, "file:src/up/src/up/to_file"),
        (A, "file:{root}/../other/to_folder/pkg/a.py"),
        (A, "file:SRC/Pkg/A.PY"),
        ("file:b", "file:src/hard"),
        ("file:b", "file:to_folder/hard"),
        ("file:src/not_yet", "file:to_nothing"),
        ("file:new/deep/x", "file:new/deep/../deep/x"),
        ("file:new/deep/x", "file:New/DEEP/X"),
        ("file:straße", "file:STRASSE"),
        ("file:caf\N{LATIN SMALL LETTER E WITH ACUTE}", "file:cafe\N{COMBINING ACUTE ACCENT}"),
        ("file:CAF\N{LATIN CAPITAL LETTER E WITH ACUTE}", "file:cafe\N{COMBINING ACUTE ACCENT}"),
        ("file:\N{KELVIN SIGN}", "file:k"),
        ("file:zero\N{ZERO WIDTH JOINER}width", "file:zerowidth"),
        ("file:heart\N{VARIATION SELECTOR-16}", "file:heart"),
        ("tree:src", A),
        ("tree:src", "file:src/new/deep/x"),
        ("tree:src", "file:to_file"),
        ("tree:to_folder", A),
        ("tree:new", "file:new/deep/x"),
        ("tree:NEW", "tree:new/deep"),
        ("tree:.", A),
        ("tree:/", A),
        ("tree:/", "file:/etc/hostname"),
        ("tree:..", A),
        ("tree:../other", A),
        ("file:", A),  # a path that is nothing is the workspace
        ("file:.", "file:new"),
        ("file:src", A),  # a folder, with all that is in it
        ("read file:src", A),
        ("file:to_folder", A),
        ("file:loop1", "file:loop1"),
        ("file:a\0b", "file:a\0b"),
    ],
)
def test_one_file_by_whatever_name(root, one, other):
    assert meet(root, one.format(root=root), other.format(root=root))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, "file:src/pkg/b.py"),
        (A, "read file:b"),
        ("read " + A, "read file:to_file"),
        ("tree:src/pkg", "file:src/hard"),
        ("tree:src", "file:src2/a.py"),
        ("tree:new", "file:newer/x"),
        ("file:new", "file:new/x"),  # not a folder yet
        ("file:new/a", "file:new/b"),
        ("tree:src", "file:../src/x"),
        ("file:a b", "file:a b "),
        ("file:①", "file:1"),
        ("browser", "file:browser"),
        ("slot:b", "file:b"),
    ],
)
def test_what_is_not_the_same_is_told_apart(root, one, other):
    assert not meet(root, one, other)


@pytest.mark.parametrize("name", ["new/deep/x", "x", "src/x", "to_folder/x", "ÄÖ/Ü"])
def test_a_file_is_the_same_before_and_after_it_was_made(root, name):
    before = Resources(root).claim(f"file:{name}")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("new")
    after = Resources(root).claim(f"file:{name}")
    assert before.conflicts(after)
    (root / name).unlink()
    (root / "elsewhere").write_text("replaced")
    (root / "elsewhere").rename(root / name)
    assert after.conflicts(Resources(root).claim(f"file:{name}")), "its name, though another inode"


def test_a_hard_link_that_was_made_meanwhile_is_the_same_file(root):
    held = Resources(root).claim("file:b")
    os.link(root / "b", root / "later")
    assert held.conflicts(Resources(root).claim("file:later"))


def test_a_folder_that_stands_in_two_places_is_known_by_what_it_is(root):
    """As a bind mount: the folders' inodes are the same, their names are not."""
    ino = os.stat(root).st_ino
    here = Resources(root)

    def there(text):
        claim = here.claim(text)
        ids = tuple(name.replace("name ", "name /mount") for name in claim.ids)
        above = tuple(name.replace("name ", "name /mount") for name in claim.above)
        return msgspec.structs.replace(claim, ids=ids, above=above)

    assert any(f":{ino}" in name for name in there("file:b").above)
    for text in ("file:b", "file:new", "file:src/new/x", "tree:src", "tree:."):
        assert here.claim(text).conflicts(there(text)), text
    assert here.claim("tree:..").conflicts(there("file:b")), "folders above the workspace too"
    before = there("file:new/x")
    (root / "new").mkdir()
    (root / "new" / "x").touch()
    assert before.conflicts(here.claim("file:new/x"))


def test_sessions_with_other_workspaces_mean_the_same_file(root):
    assert meet(root, A, "file:pkg/a.py", root / "src")
    assert meet(root, A, "file:a.py", root / "to_folder" / "pkg")
    assert meet(root, "tree:.", "file:new", root / "src")
    assert meet(root, "file:src/new/x", "file:new/x", root / "src")
    assert not meet(root, A, A, root / "src")


def test_without_a_workspace_paths_begin_in_the_current_folder(root, monkeypatch):
    monkeypatch.chdir(root / "src")
    assert Resources(None).claim("file:pkg/a.py").conflicts(Resources(root).claim(A))


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 1000 + "y", "\ud800", "a/\ud800/b", "loop1/x", "/\ud800"])
def test_what_no_file_can_be_called_is_claimed_all_the_same(root, name):
    claim = Resources(root).claim(f"file:{name}")
    assert claim.conflicts(Resources(root).claim(f"file:{name}"))
    assert not name.startswith("/") or claim.above[0] == "name "
    assert not claim.conflicts(Resources(root).claim("file:b"))
    assert msgspec.json.decode(msgspec.json.encode(claim), type=Claim) == claim, "it can be written down"
    assert len(msgspec.json.encode(claim)) < 200_000


def test_a_file_whose_name_is_not_unicode_is_found(root):
    name = b"\xff\xfe".decode("utf-8", "surrogateescape")
    (root / name).write_text("x")
    os.link(root / name, root / "plain")
    claim = Resources(root).claim(f"file:{name}")
    assert claim.conflicts(Resources(root).claim("file:plain"))
    msgspec.json.encode(claim)


def test_names_that_can_not_be_written_down_are_made_plain(root):
    for text in ("browser:\ud800", "slot:\ud800"):
        msgspec.json.encode(Resources(root).claim(text))


def test_what_lies_very_deep_is_claimed_by_a_folder_above_it(root):
    folders = ["d"] * 80
    deep = Resources(root).claim("file:" + "/".join([*folders, "x"]))
    assert deep.kind is Kind.TREE
    assert deep.conflicts(Resources(root).claim("file:" + "/".join([*folders, "y"])))
    assert deep.conflicts(Resources(root).claim("file:" + "/".join([*folders[:70], "y"])))
    assert not deep.conflicts(Resources(root).claim("file:" + "/".join([*folders[:40], "y"])))


@pytest.mark.parametrize("name", ["a/" * 100_000 + "b", "/" + "a/" * 100_000, "../" * 2000, "ä" * 4000])
def test_a_path_longer_than_there_can_be_is_everything(root, name):
    claim = Resources(root).claim(f"file:{name}")
    assert claim.conflicts(Resources(root).claim("file:b"))
    assert claim.conflicts(Resources(root).claim("read file:/etc/hostname"))
    assert sum(map(len, claim.ids + claim.above)) < 1000
