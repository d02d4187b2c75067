import re
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from callslip.providers import aliases
from callslip.providers.aliases import ANTHROPIC, CHAT, GEMINI, RESPONSES, Aliases, WireRule

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMES = st.lists(st.one_of(st.text(max_size=90), st.from_regex(r"[a-z_.]{1,8}", fullmatch=True)), max_size=12)


def wire(name):
    return Aliases([name], CHAT).wire(name)


def test_a_legal_name_is_its_own_alias():
    table = Aliases(["read_file"], CHAT)
    assert table.wire("read_file") == "read_file"
    assert table.tool("read_file") == "read_file"


@pytest.mark.requirement("SPEC-02")
def test_dots_get_an_alias_that_can_be_read_and_maps_back():
    table = Aliases(["github.issues.create"], CHAT)
    alias = table.wire("github.issues.create")
    assert alias.startswith("github_issues_create_")
    assert LEGAL.fullmatch(alias)
    assert table.tool(alias) == "github.issues.create"
    assert table.tool("github.issues.create") is None


@pytest.mark.requirement("SPEC-02")
def test_names_that_look_alike_do_not_meet():
    table = Aliases(["a.b", "a_b", "a/b", "a b"], CHAT)
    assert len({table.wire(name) for name in ("a.b", "a_b", "a/b", "a b")}) == 4
    assert table.wire("a_b") == "a_b"


def test_a_tool_named_like_an_alias_does_not_take_its_place():
    thief = wire("pay.out")
    table = Aliases(["pay.out", thief], CHAT)
    assert table.wire("pay.out") == thief, "the alias stays what it is without the other tool"
    assert table.tool(thief) == "pay.out"
    assert table.tool(table.wire(thief)) == thief


def test_a_long_name_keeps_within_the_length():
    name = "mcp." + "x" * 70
    assert len(wire(name)) == 64
    assert wire(name) != wire(name + "y")


@pytest.mark.parametrize("name", ["", "...", "é", "\ud800", "a\nb", "read_file\n"])
def test_any_text_has_a_legal_alias(name):
    table = Aliases([name], CHAT)
    assert LEGAL.fullmatch(table.wire(name))
    assert table.tool(table.wire(name)) == name


@pytest.mark.requirement("SPEC-02")
def test_a_reserved_name_gets_an_alias():
    rule = WireRule(characters="a-z_", longest=40, reserved=frozenset({"tool_search"}))
    table = Aliases(["tool_search", "other"], rule)
    assert table.wire("tool_search").startswith("tool_search_")
    assert table.tool(table.wire("tool_search")) == "tool_search"
    assert table.wire("other") == "other"


def test_an_alias_that_happens_to_be_reserved_is_not_used():
    rule = WireRule(characters=CHAT.characters, longest=64, reserved=frozenset({wire("a.b")}))
    table = Aliases(["a.b"], rule)
    assert table.wire("a.b") != wire("a.b")
    assert table.tool(table.wire("a.b")) == "a.b"


def test_a_name_only_seen_in_history_has_the_alias_it_had_when_bound():
    assert Aliases([], CHAT).wire("old.tool") == wire("old.tool")
    assert Aliases(["a", "b.c"], CHAT).wire("old.tool") == wire("old.tool")


def test_the_alias_is_the_same_in_another_process():
    program = "from callslip.providers.aliases import *; print(Aliases(['a.b'], CHAT).wire('a.b'))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == wire("a.b") == "a_b_fzztnxeoxkd6"


def test_two_names_with_one_digest_are_told_apart_whatever_their_order(monkeypatch):
    monkeypatch.setattr(aliases, "digest", lambda name, attempt: f"{attempt:a>12}".replace("0", "a"))
    one, two = Aliases(["x.y", "x/y"], CHAT), Aliases(["x/y", "x.y"], CHAT)
    assert one.wire("x.y") != one.wire("x/y")
    assert (one.wire("x.y"), one.wire("x/y")) == (two.wire("x.y"), two.wire("x/y"))
    assert one.wire("x y") not in {one.wire("x.y"), one.wire("x/y")}


@given(NAMES)
def test_one_to_one_and_legal_on_any_names(names):
    table = Aliases(names, CHAT)
    wires = {name: table.wire(name) for name in names}
    assert len(set(wires.values())) == len(wires)
    assert all(LEGAL.fullmatch(alias) for alias in wires.values())
    assert all(table.tool(alias) == name for name, alias in wires.items())


@given(NAMES, NAMES)
def test_an_alias_does_not_depend_on_the_other_names(names, others):
    table, more = Aliases(names, CHAT), Aliases([*others, *names], CHAT)
    assert [table.wire(name) for name in names] == [more.wire(name) for name in names]


@given(NAMES)
def test_tools_that_bear_all_the_aliases_change_nothing(names):
    plain = {name: Aliases(names, CHAT).wire(name) for name in names}
    crowded = Aliases([*names, *plain.values()], CHAT)
    assert {name: crowded.wire(name) for name in names} == plain
    assert {name: crowded.tool(alias) for name, alias in plain.items()} == {name: name for name in names}


RULES = {"chat": CHAT, "responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
PATTERNS = {**dict.fromkeys(RULES, LEGAL), "gemini": re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")}
"""As the vendors say it, each in one expression."""


@pytest.mark.requirement("SPEC-02")
@pytest.mark.parametrize("rule", RULES)
class TestEveryProvider:
    @given(NAMES)
    def test_its_names_are_legal_one_to_one_and_lead_back(self, rule, names):
        table = Aliases(names, RULES[rule])
        wires = {name: table.wire(name) for name in names}
        assert len(set(wires.values())) == len(wires)
        assert all(PATTERNS[rule].fullmatch(alias) for alias in wires.values())
        assert not RULES[rule].reserved.intersection(wires.values())
        assert all(table.tool(alias) == name for name, alias in wires.items())

    def test_dots_are_legal_or_get_an_alias_that_is_the_same_at_every_run(self, rule):
        alias = Aliases(["github.issues.create"], RULES[rule]).wire("github.issues.create")
        assert alias == ("github.issues.create" if rule == "gemini" else wire("github.issues.create"))

    @pytest.mark.parametrize("names", [("a.b", "a_b"), ("a:b", "a/b", "a_b"), ("x" * 65, "x" * 66), ("é", "è", "_")])
    def test_names_that_look_alike_do_not_meet(self, rule, names):
        table = Aliases(names, RULES[rule])
        assert len({table.wire(name) for name in names}) == len(names)


@pytest.mark.requirement("SPEC-02")
@pytest.mark.parametrize("name", sorted(RESPONSES.reserved))
def test_a_name_of_openais_own_tools_is_not_sent_to_responses(name):
    table = Aliases([name], RESPONSES)
    assert table.wire(name).startswith(f"{name}_")
    assert table.tool(table.wire(name)) == name
    assert Aliases([name], CHAT).wire(name) == name


@pytest.mark.requirement("SPEC-02")
@pytest.mark.parametrize("name", ["9/list", "-x", ".hidden", ":x", "9", "-", ""])
def test_a_name_for_gemini_begins_with_a_letter_or_an_underscore(name):
    table = Aliases([name, f"_{name}"], GEMINI)
    assert PATTERNS["gemini"].fullmatch(table.wire(name))
    assert table.wire(name) != table.wire(f"_{name}")
    assert table.tool(table.wire(name)) == name
