"""The five hundred tools of examples/five_hundred_tools bind, say what they do, run, and end."""

import asyncio
import importlib
import inspect
import json
import math
import time

import pytest

from callslip import Runtime, ToolFailed
from callslip.core.routing import Routing
from callslip.providers.scripted import Scripted, calling


@pytest.fixture(scope="module")
def rows():
    return importlib.import_module("library").ROWS


@pytest.fixture(scope="module")
def by_name(rows):
    return {row.tool.spec.name: row.tool for row in rows}


def same(got, wanted):
    """Numbers may be off in the ninth digit: C libraries differ."""
    if type(got) in {int, float} and type(wanted) in {int, float}:
        return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in wanted)
    return type(got) is type(wanted) and got == wanted


def called(tool, **arguments):
    return tool.bound(arguments, None)()


def test_there_are_five_hundred_and_all_bind(rows):
    assert len({row.tool.spec.name for row in rows}) == len(rows) >= 500
    runtime = Runtime(tools=[row.tool for row in rows], routing=Routing(defer="auto"))
    assert len(runtime.catalogue.deferred) == len(rows)
    bad = [part for part in runtime.catalogue.parts() if not part.ok]
    assert bad == []


def test_each_says_what_it_does_and_is_declared_alike(rows):
    for row in rows:
        spec = row.tool.spec
        assert len(spec.description) >= 12, spec.name
        assert (spec.risk, spec.deferred, bool(spec.category)) == ("read", True, True), spec.name


def test_each_runs_on_its_example_with_the_expected_result(rows):
    wrong = {}
    for row in rows:
        assert row.tool.check(row.example) is None, row.tool.spec.name
        got = called(row.tool, **row.example)
        if not same(got, row.result) or json.loads(json.dumps(got, allow_nan=False)) != got:
            wrong[row.tool.spec.name] = got
    assert wrong == {}


def test_every_argument_has_a_limit(rows):
    """No text, list or whole number without one; what may hold anything is limited by what surrounds it."""

    def bounded(schema):
        for form in schema.get("anyOf", [schema]):
            if "enum" in form or "const" in form or form == {} or form.get("type") in {"boolean", "number"}:
                continue
            kind = form.get("type")
            limit = {"string": ("maxLength", "pattern", "format"), "array": ("maxItems",), "object": ("maxProperties",)}
            wanted = limit.get(kind, ("maximum",))
            assert any(key in form for key in wanted), form
        return True

    assert all(bounded(one) for row in rows for one in row.tool.spec.input_schema["properties"].values())


def test_the_largest_arguments_end_soon(by_name):
    began = time.monotonic()
    big = [0.5] * 500
    called(by_name["math.factorial"], n=300)
    called(by_name["builtins.pow"], base=10**15, exponent=1_000_000, modulus=10**15 - 1)
    called(by_name["itertools.product"], lists=[list(range(100))] * 20)
    called(by_name["itertools.permutations"], items=big, size=4)
    called(by_name["difflib.ratio"], a="ab" * 100, b="ba" * 100)
    called(by_name["difflib.get_close_matches"], word="a" * 200, among=["ab" * 100] * 500)
    called(by_name["str.replace"], text="a" * 4000, old="a", new="b" * 200)
    called(by_name["fnmatch.fnmatchcase"], name="a" * 200, pattern="*a" * 99)
    called(by_name["re.addresses"], text="a" * 4000)
    called(by_name["hashlib.pbkdf2_hmac"], password="p", salt="s", rounds=10_000)
    called(by_name["ip_network.subnets"], network="::/0", bits=8)
    called(by_name["statistics.median_grouped"], data=big)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("math.sqrt", {"x": -1}),
        ("operator.mul", {"a": 1e300, "b": 1e300}),
        ("date.add_days", {"day": "9999-12-31", "days": 1}),
        ("zlib.decompress", {"data": "ffff"}),
        ("ast.literal_eval", {"text": "(" * 150}),
        ("struct.unpack_float", {"data": "00"}),
        ("fractions.div", {"a": "1/2", "b": "0"}),
    ],
)
def test_what_can_not_be_computed_is_told_to_the_model(by_name, name, arguments):
    with pytest.raises(ToolFailed) as failed:
        called(by_name[name], **arguments)
    assert failed.value.tool_code == "not_computable"


def test_a_description_is_the_functions_own_unless_the_row_has_words(by_name):
    row = importlib.import_module("library.row")
    assert by_name["math.cbrt"].spec.description == row.documented(math.cbrt) == "Return the cube root of x."
    assert "docstring" in inspect.getdoc(row)


def test_the_page_of_tokens_says_what_a_request_takes(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tokens.py", "What", "day", "of", "the", "week", "was", "20", "July", "1969?"])
    importlib.import_module("tokens").main()
    lines = capsys.readouterr().out.splitlines()
    tokens = {line[:24].strip(): [int(word.replace(",", "")) for word in line[24:].split()] for line in lines[1:4]}
    assert [row[0] for row in tokens.values()] == [500, 1, 6]
    assert all(schemas + names == both for _, schemas, names, both in tokens.values())
    assert tokens["all of them shown"][3] > 20 * tokens["found, and preselected"][3]
    assert "date.weekday" in lines[4]


def test_the_figures_of_the_tutorial_are_still_so():
    import re
    from pathlib import Path

    page = (Path(__file__).resolve().parents[3] / "docs" / "learn" / "hundreds-of-tools.md").read_text()
    tokens = importlib.import_module("tokens")
    for way, routing in tokens.WAYS.items():
        said = re.search(rf"^\| {way} \| (\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", page, re.MULTILINE)
        request = asyncio.run(tokens.first_request(routing, tokens.WORDS))
        measured = [len(request.tools), *tokens.counted(request)]
        for figure, got in zip(said.groups(), measured, strict=False):
            assert int(figure.replace(",", "")) == pytest.approx(got, rel=0.03, abs=2), way


def test_a_found_tool_is_called_in_the_step_after(rows):
    model = Scripted(
        [
            calling(("tool_search", {"queries": ["least common multiple"]})),
            calling(("math.lcm", {"values": [4, 6]})),
            "Twelve.",
        ]
    )

    async def done():
        tools = [row.tool for row in rows]
        async with Runtime(tools=tools, model=model, routing=Routing(defer="auto", preselect="off")) as rt:
            return await rt.run("When do they meet again?", session="s")

    assert asyncio.run(done()).text == "Twelve."
    assert "math.lcm" in [tool.name for tool in model.requests[1].tools]
