"""The documentation as a whole: what must be named is named, links lead somewhere, nothing is of one machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from callslip import errors
from callslip.config import Config
from callslip.core.budget import DailyBudget, SessionBudget
from callslip.core.event import Event
from callslip.core.retry import Retry
from callslip.core.wait import WaitKind
from callslip.runtime.parts import Limits

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
REFERENCE = DOCS / "reference"


def section(page: str, heading: str) -> str:
    """A page's text from a heading to the next of the same rank."""
    text = (REFERENCE / page).read_text()
    found = re.search(rf"^(#+) {re.escape(heading)}$(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/reference/{page} has no heading {heading!r}"
    return found[2]


def rows(text: str) -> list[str]:
    """The first cells of a table, without their code marks."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("event", get_args(Event), ids=lambda event: event.__struct_config__.tag)
def test_every_event_is_documented_with_its_fields(event):
    assert rows(section("events.md", f"`{event.__struct_config__.tag}`")) == list(event.__struct_fields__)


def test_no_documented_event_is_gone():
    named = re.findall(r"^### `(\w+)`$", (REFERENCE / "events.md").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(event.__struct_config__.tag for event in get_args(Event))


def test_every_setting_is_documented():
    assert rows(section("config.md", "Settings")) == list(Config.__struct_fields__)


def test_every_limit_is_documented_with_its_default():
    text = section("config.md", "Limits")
    assert rows(text) == list(Limits.__struct_fields__)
    assert _defaults(text) == {name: getattr(Limits(), name) for name in Limits.__struct_fields__ if name != "retry"}


def test_every_budget_is_documented():
    text = section("config.md", "Budgets")
    assert rows(text) == list(SessionBudget.__struct_fields__)
    assert all(f"`{name}`" in text.rpartition("requester_day")[2] for name in DailyBudget.__struct_fields__)


def test_every_setting_of_retries_is_documented_with_its_default():
    text = section("config.md", "Retry")
    assert rows(text) == list(Retry.__struct_fields__)
    assert _defaults(text) == {name: getattr(Retry(), name) for name in Retry.__struct_fields__}


def _defaults(text: str) -> dict[str, float | None]:
    found = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, re.MULTILINE)
    return {name: None if value == "never" else float(value) for name, value in found}


def test_every_kind_of_wait_is_documented():
    assert rows((REFERENCE / "waits.md").read_text())[: len(WaitKind)] == [kind.value for kind in WaitKind]


def all_errors(kind: type[errors.CallslipError] = errors.CallslipError) -> list[type[errors.CallslipError]]:
    below = [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
    return [kind, *(deeper for one in below for deeper in all_errors(one))]


def test_every_error_is_documented_with_its_code_layer_and_retryable():
    text = (REFERENCE / "errors.md").read_text()
    wanted = {error.__name__: (error.code, error.layer, "yes" if error.retryable else "no") for error in all_errors()}
    found = {
        name: (code, layer, retryable)
        for name, code, layer, retryable in re.findall(
            r"^\| `(\w+)` \| `(\w+)` \| (\w+) \| (yes|no) \|", text, re.MULTILINE
        )
    }
    assert found == wanted


def test_every_command_is_documented():
    from callslip.cli.main import EXIT_CODES, NAMES, cli

    text = (REFERENCE / "cli.md").read_text()
    for name in NAMES:
        described = section("cli.md", f"`callslip {name}`")
        command = cli.get_command(None, name)
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        shared = {option for parameter in cli.params for option in parameter.opts}
        missing = [option for option in options - shared if option.startswith("--") and f"`{option}" not in described]
        assert not missing, f"callslip {name}: {missing}"
    for option in {option for parameter in cli.params for option in parameter.opts if option.startswith("--")}:
        assert f"`{option}" in text
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(EXIT_CODES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_one_title_and_names_no_machine(page):
    text = page.read_text()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    assert not re.search(r"/(?:home|root|tmp|Users)/", text)


RECORDS = sorted((DOCS / "adr").glob("[0-9]*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_decision_record_is_one_page_of_three_parts(record):
    text = record.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= 60


def test_decision_records_are_numbered_without_a_gap():
    assert [int(record.stem[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_decision_records_and_pages_named_in_the_source_exist():
    for file in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"docs/adr/(\d{4})", file.read_text()):
            assert any(record.name.startswith(name) for record in RECORDS), f"{file.name} names docs/adr/{name}"
        for name in re.findall(r"docs/([a-z]+/[a-z-]+\.md)", file.read_text()):
            assert (DOCS / name).exists(), f"{file.name} names docs/{name}"


def test_every_public_name_has_a_place_in_the_documentation():
    import callslip

    text = "".join(page.read_text() for page in PAGES)
    assert [name for name in callslip.__all__ if f"`{name}`" not in text and f"{name}" not in text] == []


def test_structs_are_what_these_tests_take_them_for():
    assert all(issubclass(event, msgspec.Struct) for event in get_args(Event))
