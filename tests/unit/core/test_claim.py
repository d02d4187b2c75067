"""Claims as text, and whether two of them can be held at once (PARA-02)."""

import pytest

from callslip.core.claim import Claim, Kind, Wanted, complaint, fill, unfilled, wanted

pytestmark = pytest.mark.requirement("PARA-02")


@pytest.mark.parametrize(
    ("text", "kind", "name", "shared"),
    [
        ("file:a", Kind.FILE, "a", False),
        ("read file:a", Kind.FILE, "a", True),
        ("read  file:a", Kind.FILE, "a", True),
        ("file: a ", Kind.FILE, " a ", False),  # a name of its own: not trimmed, or it would be another file
        ("file:a\n", Kind.FILE, "a\n", False),
        ("file:", Kind.FILE, "", False),
        ("file:a:b", Kind.FILE, "a:b", False),
        ("file:read x", Kind.FILE, "read x", False),
        ("tree:src", Kind.TREE, "src", False),
        ("slot: github ", Kind.SLOT, "github", False),
        ("browser", Kind.NAMED, "browser", False),
        (" browser:1 ", Kind.NAMED, "browser:1", False),
        ("read browser:1", Kind.NAMED, "browser:1", True),
        ("file", Kind.NAMED, "file", False),
        ("named:x", Kind.NAMED, "named:x", False),
        ("reader", Kind.NAMED, "reader", False),
        ("FILE:a", Kind.NAMED, "FILE:a", False),
    ],
)
def test_a_claim_is_taken_apart(text, kind, name, shared):
    assert wanted(text) == Wanted(kind, name, shared)


@pytest.mark.parametrize(
    ("templates", "arguments", "filled"),
    [
        (["file:{path}"], {"path": "a"}, ("file:a",)),
        (["file:{path}", "browser"], {"path": "a"}, ("browser", "file:a")),
        (["file:{path}", "file:{to}"], {"path": "a", "to": "a"}, ("file:a",)),
        (["file:{path}"], {}, ("file:",)),
        (["file:{path}"], {"path": None}, ("file:",)),
        (["file:{paths}"], {"paths": ["b", "a", "b"]}, ("file:a", "file:b")),
        (["file:{paths}"], {"paths": []}, ("file:",)),
        (["file:{paths}"], {"paths": ["a", None]}, ("file:", "file:a")),
        (["file:{folder}/{names}"], {"folder": "x", "names": ["a", "b"]}, ("file:x/a", "file:x/b")),
        (["{a}:{b}:{a}"], {"a": [1, 2], "b": True}, ("1:True:1", "2:True:2")),
        (["file:{path}"], {"path": "{other}", "other": "no"}, ("file:{other}",)),
        (["file:{paths}"], {"paths": [str(n) for n in range(1001)]}, ("file:",)),
        (["file:{a}{b}"], {"a": [str(n) for n in range(101)], "b": list("0123456789")}, ("file:",)),
        ([], {"path": "a"}, ()),
    ],
)
def test_templates_are_filled_with_the_arguments(templates, arguments, filled):
    assert fill(templates, arguments) == filled


def claim(kind, *ids, shared=False, above=()):
    return Claim(text="", kind=Kind(kind), shared=shared, ids=ids, above=above)


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (claim("file", "1"), claim("file", "1"), True),
        (claim("file", "1", "2"), claim("file", "2", "3"), True),
        (claim("file", "1"), claim("file", "2"), False),
        (claim("file", "1", shared=True), claim("file", "1", shared=True), False),
        (claim("file", "1", shared=True), claim("file", "1"), True),
        (claim("tree", "1"), claim("file", "2", above=("1",)), True),
        (claim("tree", "1"), claim("tree", "2", above=("0", "1")), True),
        (claim("tree", "1", shared=True), claim("tree", "2", above=("1",), shared=True), False),
        (claim("tree", "1", shared=True), claim("file", "2", above=("1",)), True),
        (claim("file", "1"), claim("file", "2", above=("1",)), False),  # a file holds nothing
        (claim("tree", "1", above=("0",)), claim("tree", "2", above=("0",)), False),
        (claim("named", "1"), claim("named", "1"), True),
        (claim("named", "1"), claim("file", "1"), False),
        (claim("named", "1"), claim("tree", "0", above=("1",)), False),
        (claim("slot", "1"), claim("slot", "1"), False),
        (claim("slot", "1"), claim("named", "1"), False),
    ],
)
def test_two_claims_conflict_both_ways_or_neither(one, other, conflict):
    assert one.conflicts(other) is conflict
    assert other.conflicts(one) is conflict


GOOD = [
    "file:{path}", "read file:{path}", "tree:{path}", "tree:", "file:notes.txt", "slot:github", "slot:{path}", "browser",
    "browser:{path}", "read browser:{path}", "one at a time", "reader", "writer:{path}", "shared-drive", "profile:{path}",
    "ticket: {path}", "{path}", "write",
]  # fmt: skip
WRONG = [
    ("", "is empty"),
    ("read ", "is empty"),
    ("  ", "is empty"),
    (" file:{path}", "has blanks around it"),
    ("read  file:{path}", "has blanks around it"),
    ("file:{path}\n", "has blanks around it"),
    ("read\tfile:{path}", "can't be seen"),
    ("reads file:{path}", "begins with 'reads '"),
    ("Read file:{path}", "begins with 'Read '"),
    ("write file:{path}", "begins with 'write '"),
    ("shared file:{path}", "begins with 'shared '"),
    ("exclusive browser", "begins with 'exclusive '"),
    ("read read file:{path}", "begins with 'read '"),
    ("read:file:{path}", "begins with 'read:'"),
    ("File:{path}", "begins with 'File', where 'file' may be meant"),
    ("read TREE:{path}", "begins with 'TREE', where 'tree' may be meant"),
    ("files:{path}", "begins with 'files', where 'file' may be meant"),
    ("file :{path}", "begins with 'file ', where 'file' may be meant"),
    ("file: {path}", "has a blank after its colon"),
    ("slot: github", "has a blank after its colon"),
    ("file", "without a colon"),
    ("slot:", "names no slot"),
    ("file://{path}", "is an address"),
    ("file:{pth}", "names {pth}, which is no argument of the tool: it takes path"),
    ("file:{path", "has braces"),
    ("file:{path.x}", "has braces"),
    ("file:{path!r}", "has braces"),
    ("file:{}", "has braces"),
    ("file:path}", "has braces"),
]


@pytest.mark.parametrize("template", GOOD)
def test_a_claim_that_says_what_it_is_of(template):
    assert complaint(template, ["path"]) is None


@pytest.mark.parametrize(("template", "told"), WRONG)
def test_what_is_nearly_a_claim_is_none(template, told):
    assert told in (complaint(template, ["path"]) or "nothing")


def test_a_name_is_not_looked_for_where_nobody_knows_them_all():
    assert complaint("file:{pth}", None) is None
    assert "it takes none" in (unfilled("{host}", []) or "")
    assert unfilled("{host}", ["host"]) is None
