"""docs/reference/codes.md names every code that the source can give a model, and no other.

The codes are read from the source by the shapes in which it writes one.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "callslip"
PAGE = ROOT / "docs" / "reference" / "codes.md"
OPEN_ENDED = {"tool_failed"}
"""Codes that stand as a default in errors.py and reach the model all the same."""
NOT_SHOWN = {"schema/lint.py": "advice to whoever writes tools", "errors.py": "codes of exceptions; errors.md has them"}
OUTSIDE = ("cli", "testing")
"""Surfaces: nothing in them answers a model."""
FIRST_ARGUMENT = {"_at", "Defect", "_mark"}
"""Functions of ``schema`` that take a code first."""


def source_files() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if name not in NOT_SHOWN and name.partition("/")[0] not in OUTSIDE:
            yield name, ast.parse(file.read_text())


@functools.cache
def shown_codes() -> dict[str, set[str]]:
    """Each code with the files it stands in."""
    found: dict[str, set[str]] = {}
    for name, module in source_files():
        for code in _codes(name, module):
            found.setdefault(code, set()).add(name)
    return found


def _codes(name: str, module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg in {"code", "error_code"}:
            yield from _texts(node.value)
        elif isinstance(node, ast.Call) and name.startswith("schema/"):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in FIRST_ARGUMENT and node.args:
                yield from _texts(node.args[0])
        elif isinstance(node, ast.FunctionDef) and name == "schema/parse.py" and node.name == "_syntax":
            for inside in ast.walk(node):
                if isinstance(inside, ast.Return) and isinstance(inside.value, ast.Tuple):
                    yield from _texts(inside.value.elts[0])
        elif isinstance(node, ast.FunctionDef) and name == "runtime/outcome.py" and node.name == "_describe":
            for inside in ast.walk(node):
                if isinstance(inside, ast.Return) and isinstance(inside.value, ast.Tuple):
                    yield from _texts(inside.value.elts[1])
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            yield from _tables(name, node)


def _tables(name: str, node: ast.AnnAssign | ast.Assign) -> Iterator[str]:
    """Codes in tables of other shapes."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    table = (name, getattr(target, "id", ""))
    if not isinstance(node.value, ast.Dict):
        return
    for value in node.value.values:
        if table == ("workspace/os_fault.py", "_MEANINGS") and isinstance(value, ast.Tuple):
            yield from _texts(value.elts[0])
        elif table == ("runtime/outcome.py", "_FAILURES") and isinstance(value, ast.Tuple):
            yield from _texts(value.elts[1])
        elif table == ("agent/batch.py", "_WAIT_CODES"):
            yield from _texts(value)


def _texts(node: ast.expr) -> Iterator[str]:
    """The text constants an expression can come to; a condition's own constants are not among them."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def documented() -> list[str]:
    """The codes in the first column of the page's tables."""
    _, _, codes = PAGE.read_text().partition("## Before the dispatch")
    return re.findall(r"^\| `([a-z_]+)` \|", codes, re.MULTILINE)


def test_every_code_of_the_source_is_documented():
    missing = {code: files for code, files in shown_codes().items() if code not in documented()}
    assert not missing, f"docs/reference/codes.md does not name {missing}"


def test_no_documented_code_is_gone():
    assert set(documented()) - set(shown_codes()) - OPEN_ENDED == set()


def test_the_eight_statuses_and_three_effects_are_documented():
    from callslip.core.result import Effect, Status

    text = PAGE.read_text()
    assert [word for word in (*Status, *Effect) if f"`{word}`" not in text] == []


def test_the_reading_finds_codes_of_every_shape():
    found = shown_codes()
    assert {"unknown_tool", "timeout", "no_space", "not_object", "duplicate_key", "invalid_escape", "parked"} <= set(
        found
    )
