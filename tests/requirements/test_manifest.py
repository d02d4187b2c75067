"""The manifest and the tests, checked both ways: nothing is claimed without a test, and no test claims what is unknown."""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
ROOT = TESTS.parent
NUMBERS = {
    "call": 9, "spec": 6, "wire": 6, "args": 5, "gate": 9, "appr": 8, "ledg": 8, "reco": 7, "rslt": 6, "para": 6,
    "resi": 7, "defr": 7, "code": 13, "sand": 6, "stat": 8, "orch": 6, "eval": 6, "mcpx": 4, "decl": 3, "obsv": 5,
}  # fmt: skip
"""How many requirements each area has: none disappears unseen."""
MUST_HAVE_MUTANT = {
    *(f"APPR-{n:02}" for n in range(1, 9)),
    *(f"ARGS-{n:02}" for n in range(1, 5)),
    *(f"CALL-{n:02}" for n in range(1, 10)),
    *(f"LEDG-{n:02}" for n in range(1, 9)),
    *(f"RECO-{n:02}" for n in range(1, 8)),
    *(f"SPEC-{n:02}" for n in range(1, 7)),
    *(f"WIRE-{n:02}" for n in range(1, 7)),
    *(f"PARA-{n:02}" for n in range(2, 6)),
    *(f"RESI-{n:02}" for n in range(1, 7)),
    "ARGS-05",
    "GATE-09",
    "OBSV-02",
    "OBSV-03",
    "ORCH-06",
    "RSLT-04",
}


def manifest() -> dict[str, dict[str, str]]:
    """Every requirement by its id."""
    return {
        name: entry for path in sorted(HERE.glob("*.toml")) for name, entry in tomllib.loads(path.read_text()).items()
    }


def marks(source: str) -> Iterator[str]:
    """The ids of every ``mark.requirement("…")`` in a file: decorators, ``pytestmark`` and ``pytest.param`` alike."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requirement"
            and isinstance(node.func.value, ast.Attribute)
            and node.func.value.attr == "mark"
        ):
            assert node.args, "it names no requirement"
            for argument in node.args:
                assert isinstance(argument, ast.Constant), "a requirement is named by a plain text"
                yield argument.value


def claimed() -> dict[str, set[str]]:
    """For each id, the test files that claim it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in TESTS.rglob("test_*.py"):
        for name in marks(path.read_text()):
            found[name].add(str(path.relative_to(ROOT)))
    return found


def faults(known: dict[str, dict[str, str]], tested: dict[str, set[str]]) -> list[str]:
    """How the two contradict each other."""
    found = [f"{name} is claimed by {', '.join(sorted(files))} and is no requirement"
             for name, files in tested.items() if name not in known]  # fmt: skip
    for name, entry in known.items():
        if entry["status"] == "deferred" and name in tested:
            files = ", ".join(sorted(tested[name]))
            found.append(f"{name} is deferred and claimed by {files}: is it partial by now?")
        elif entry["status"] != "deferred" and name not in tested:
            found.append(f"{name} is {entry['status']} and no test shows it")
    return sorted(found)


def test_the_manifest_and_the_tests_agree():
    assert faults(manifest(), claimed()) == []


def test_every_area_is_whole():
    expected = {f"{area.upper()}-{n:02}" for area, number in NUMBERS.items() for n in range(1, number + 1)}
    assert set(manifest()) == expected


@pytest.mark.parametrize("path", sorted(HERE.glob("*.toml")), ids=lambda path: path.stem)
def test_an_area_is_well_formed(path):
    for name, entry in tomllib.loads(path.read_text()).items():
        assert name.startswith(path.stem.upper() + "-"), name
        assert entry["status"] in {"built", "partial", "deferred"}, name
        assert set(entry) == ({"says", "status"} if entry["status"] == "built" else {"says", "status", "reason"}), name
        assert all(text.strip() for text in entry.values()), name
        assert entry["says"].endswith("."), name


KNOWN = {"A-01": {"status": "built"}, "A-02": {"status": "partial"}, "A-03": {"status": "deferred"}}


class TestTheCheckItself:
    @pytest.mark.parametrize(
        ("tested", "says"),
        [
            ({"A-01": {"x"}, "A-02": {"x"}}, []),
            ({"A-01": {"x"}}, ["A-02 is partial and no test shows it"]),
            ({"A-02": {"x"}}, ["A-01 is built and no test shows it"]),
            (
                {"A-01": {"x"}, "A-02": {"x"}, "A-03": {"y"}},
                ["A-03 is deferred and claimed by y: is it partial by now?"],
            ),
            ({"A-01": {"x"}, "A-02": {"x"}, "B-01": {"y", "z"}}, ["B-01 is claimed by y, z and is no requirement"]),
        ],
    )
    def test_faults(self, tested, says):
        assert faults(KNOWN, tested) == says

    def test_marks_are_found_wherever_they_stand(self):
        source = """
import pytest
pytestmark = [pytest.mark.anyio, pytest.mark.requirement("P-01")]
@pytest.mark.requirement("C-01")
class TestIt:
    @pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.requirement("V-01"))])
    @pytest.mark.requirement("F-01")
    async def test_it(self, n): ...
TestMade = pytest.mark.requirement("M-01")(object)
# pytest.mark.requirement("N-01")
TEXT = 'pytest.mark.requirement("N-02")'
"""
        assert sorted(marks(source)) == ["C-01", "F-01", "M-01", "P-01", "V-01"]


def _made(name):
    """How a test of that name may be made."""
    return f"def {name}(", f"class {name}", f"\n{name} = "


def mutants():
    """The list of ``mutants.py``, which is a program of its own."""
    sys.path.insert(0, str(HERE))
    try:
        return importlib.import_module("mutants").MUTANTS
    finally:
        sys.path.remove(str(HERE))


class TestMutants:
    """That they die is shown by ``make mutants``; here, that they can still be made."""

    def test_each_changes_exactly_one_place_that_is_there(self):
        for mutant in mutants():
            text = (ROOT / "src" / "callslip" / mutant.file).read_text()
            assert text.count(mutant.old) == 1, f"{mutant.name}: {mutant.old!r} occurs {text.count(mutant.old)} times"
            ast.parse(text.replace(mutant.old, mutant.new))

    def test_every_list_of_them_is_in_the_list(self):
        there = mutants()
        for file in sorted(HERE.glob("mutants_*.py")):
            sys.path.insert(0, str(HERE))
            try:
                module = importlib.import_module(file.stem)
            finally:
                sys.path.remove(str(HERE))
            lists = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, tuple)]
            written = [one for of in lists for one in of if type(one).__name__ == "Mutant"]
            assert written, file.name
            assert {one.name for one in written} <= {one.name for one in there}, file.name

    def test_their_names_are_unique_and_their_ids_known(self):
        names = [mutant.name for mutant in mutants()]
        assert len(set(names)) == len(names)
        assert {mutant.id for mutant in mutants()} <= set(manifest())

    def test_every_id_that_needs_one_has_one(self):
        assert MUST_HAVE_MUTANT - {mutant.id for mutant in mutants()} == set()

    def test_the_tests_they_name_are_there(self):
        for mutant in mutants():
            for test in mutant.tests:
                path, *inside = test.split("::")
                text = (ROOT / path).read_text()
                assert all(any(word in text for word in _made(name)) for name in inside), test
