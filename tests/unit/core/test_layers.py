"""Every error names its layer (OBSV-03): codes of calls, errors of the library, documents in JSON."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from callslip import ToolFailed, errors
from callslip.answering.faults import Refused, document_of
from callslip.cli.failure import described
from callslip.cli.main import cli
from callslip.core import layers
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.result import Effect, Status
from callslip.ports.model import Proposal

pytestmark = pytest.mark.requirement("OBSV-03")

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "callslip"
CODES = (ROOT / "docs/reference/codes.md").read_text()
KNOWN = [code for codes in layers.CODES.values() for code in codes]
ADVICE = {"schema/lint.py"}
"""Files whose codes name advice on a tool's declaration, and no failure."""
NO_FAILURES = {"While a call waits", "Statuses", "Effects", "Layers"}
"""Sections of codes.md that list something else."""


def documented():
    """Every code of codes.md that says why something failed."""
    sections = re.split(r"^##+ (.+)$", CODES, flags=re.MULTILINE)
    for title, text in zip(sections[1::2], sections[2::2], strict=True):
        if title not in NO_FAILURES:
            yield from re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def written():
    """Every code that our own source gives a failure: ``code="…"``, of whatever that is."""
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if name in ADVICE or name.startswith(("testing/", "cli/", "answering/")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.keyword)
                and node.arg in {"code", "error_code"}
                and isinstance(node.value, ast.Constant)
            ):
                yield name, node.value.value


def test_every_documented_code_has_one_layer_and_every_code_with_a_layer_is_documented():
    assert len(KNOWN) == len(set(KNOWN))
    assert set(KNOWN) == set(documented())


def test_every_code_that_the_source_gives_has_a_layer():
    found = {(name, code) for name, code in written() if code and code not in KNOWN}
    assert found == set(), "name it in core/layers.py and docs/reference/codes.md"


def test_the_table_of_layers_in_the_documentation_is_the_one_in_the_code():
    text = CODES[CODES.index("## Layers") : CODES.index("## Before the dispatch")]
    table = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) \|$", text, re.MULTILINE))
    assert tuple(table) == layers.LAYERS
    for layer, said in table.items():
        named = set(re.findall(r"`(\w+)`", said))
        assert named <= set(layers.CODES[layer]), layer


def all_errors(kind=errors.CallslipError):
    return [kind, *(deeper for one in kind.__subclasses__() for deeper in all_errors(one))]


def test_every_error_of_the_library_names_one():
    for kind in all_errors():
        assert kind.layer in layers.LAYERS, kind.__name__
        assert kind.code, kind.__name__
    assert layers.of_error("model_unavailable") == "network"
    assert layers.of_error("nonsense") == "runtime"


@pytest.mark.parametrize("error", [errors.Busy(), errors.ModelUnavailable("x"), OSError(5, "x"), KeyError("x")])
def test_every_error_in_json_names_one(error):
    assert described(error)["layer"] in layers.LAYERS
    assert document_of(error)["error"]["layer"] in layers.LAYERS


@pytest.mark.parametrize(("status", "layer"), [(400, "protocol"), (401, "policy"), (403, "policy"), (415, "protocol")])
def test_a_request_that_is_turned_away_is_told_by_what(status, layer):
    assert document_of(Refused(status, "kind", "why"))["error"]["layer"] == layer


@pytest.mark.parametrize("words", [["show", "nothing"], ["resolve"], ["--nonsense"], ["run", "x", "--app", "no.py:rt"]])
def test_every_error_of_the_command_line_in_json_names_one(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (document,) = CliRunner().invoke(cli, [*words, "--json"]).stdout.splitlines()
    assert json.loads(document)["error"]["layer"] in layers.LAYERS


def response(code="", layer="", status=Status.FATAL_ERROR):
    return FunctionResponse(
        call_id="c", lane="settled", status=status, effect=Effect.NONE, error_code=code or None, layer=layer
    )


def test_an_event_may_say_more_than_its_code():
    assert layers.of_response(response("unavailable")) == "tool"
    assert layers.of_response(response("unavailable", "network")) == "network"
    assert layers.of_response(response("no_such_invoice")) == "tool"
    assert layers.of_response(response("unavailable", "of a later version")) == "tool"
    assert layers.of_response(response(status=Status.SUCCESS)) is None
    failed = AttemptFailed(call_id="c", attempt=1, nonce="n", effect=Effect.NONE, code="interrupted")
    assert layers.of_attempt(failed) == "runtime"


@pytest.mark.anyio
async def test_each_outcome_names_where_it_failed():
    from callslip import Runtime, tool

    @tool(risk="read")
    async def fetch(how: str) -> str:
        """Fetch."""
        if how == "broken":
            raise ConnectionResetError
        if how == "none":
            raise ToolFailed("There is none.", code="no_such_thing")
        if how == "bug":
            raise ZeroDivisionError
        return "here"

    @tool(risk="dangerous")
    async def drop() -> None:
        """Drop."""

    calls = [("fetch", how) for how in ("fine", "broken", "none", "bug")]
    proposals = [Proposal(tool=name, arguments={"how": how}) for name, how in calls]
    proposals += [
        Proposal(tool="fetch", arguments={"why": "x"}),
        Proposal(tool="fetch", arguments='{"how": "x"'),
        Proposal(tool="fecth", arguments={}),
        Proposal(tool="drop", arguments={}),
    ]
    async with Runtime(tools=[fetch, drop], policy={"dangerous": "deny"}) as runtime:
        runtime.parts.draw = lambda: 0.0
        batch = await runtime.dispatch(proposals, session="s", step="1")
    assert [one.layer for one in batch.results] == [
        None, "network", "tool", "tool", "validation", "protocol", "model", "policy",
    ]  # fmt: skip


@pytest.mark.anyio
async def test_a_call_that_waits_has_not_failed_anywhere():
    from callslip import Runtime, tool

    @tool(risk="dangerous")
    async def drop() -> None:
        """Drop."""

    async with Runtime(tools=[drop]) as runtime:
        batch = await runtime.dispatch([Proposal(tool="drop", arguments={})], session="s", step="1")
    assert [one.layer for one in batch.results] == [None]


@pytest.mark.anyio
async def test_a_run_that_fails_says_by_which_error():
    from callslip import Runtime
    from callslip.providers.scripted import Scripted, saying

    async with Runtime(model=Scripted([saying("")])) as runtime:
        with pytest.raises(errors.EmptyReply):
            await runtime.run("hello", session="s")
        ended = (await runtime.parts.ledger.read("s"))[-1].record.event
    assert (ended.code, layers.of_error(ended.code)) == ("empty_reply", "protocol")
