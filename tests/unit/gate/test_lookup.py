"""Names as models emit them."""

from __future__ import annotations

import pytest

from callslip.core.result import Status
from callslip.gate.lookup import lookup
from callslip.gate.refusal import Refusal

pytestmark = pytest.mark.requirement("CALL-02")

BOUND = ["read_file", "github.issues.create"]


def message(name: str, visible: list[str] = BOUND) -> str:
    refusal = lookup(name, visible)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.code, refusal.field_errors) == (Status.NOT_FOUND, "unknown_tool", ())
    return refusal.message


@pytest.mark.parametrize(
    ("emitted", "meant"),
    [
        ("read_file", "read_file"),
        ("functions.read_file", "read_file"),
        ("read_file\n", "read_file"),
        ("  read_file ", "read_file"),
        ("read_file(path: string)", "read_file"),
        ("read_file (\n  path: string,\n)", "read_file"),
        ("functions.read_file(path)", "read_file"),
        ("github.issues.create", "github.issues.create"),
        ("functions.github.issues.create", "github.issues.create"),
    ],
)
def test_one_reading_is_left(emitted, meant):
    assert lookup(emitted, BOUND) == meant


def test_a_tool_that_really_bears_the_invented_prefix_is_meant_first():
    assert lookup("functions.x", ["x", "functions.x"]) == "functions.x"


@pytest.mark.parametrize(("emitted", "near"), [("Read_File", "read_file"), ("read_fil", "read_file"),
                                               ("github.issue.create", "github.issues.create")])  # fmt: skip
def test_another_case_or_spelling_is_refused_and_the_nearest_name_told(emitted, near):
    assert f"Did you mean {near}?" in message(emitted)


def test_without_a_near_name_the_tools_are_listed():
    assert message("zzz").endswith("The tools are: github.issues.create, read_file.")
    many = [f"tool_{n:02}" for n in range(30)]
    assert message("zzz", many).endswith("tool_19….")
    assert message("zzz", []).endswith("No tools are available.")


def test_only_visible_names_are_told():
    assert "github" not in message("github.issues.creat", ["read_file"]).replace("'github.issues.creat'", "")


@pytest.mark.parametrize("emitted", ["", "()", "functions.", "\x00", "x" * 100_000, "(" * 5000, "\ud800"])
def test_whatever_is_emitted_is_answered_shortly(emitted):
    assert len(message(emitted)) < 400
