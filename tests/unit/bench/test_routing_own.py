"""The project's own routing test set is whole: what its README says of it is so, and no label points nowhere."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "bench" / "routing_own"
HAN_OR_KANA = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
LATIN_WORD = re.compile("[A-Za-z]{2,}")
RULES_OUT = re.compile(r"\b(?:not|no|don't)\b|别", re.IGNORECASE)


def rows(name):
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def tools():
    return {tool["id"]: tool for tool in rows("own.tools.jsonl")}


@pytest.fixture(scope="module")
def queries():
    return rows("own.queries.jsonl")


@pytest.fixture(scope="module")
def readme():
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def of(queries, kind):
    return [query for query in queries if query["kind"] == kind]


def test_every_tool_has_the_form_and_an_id_of_its_own(tools):
    assert len(tools) == len(rows("own.tools.jsonl"))
    for tool in tools.values():
        assert tool.keys() == {"id", "name", "server", "description", "params"}
        assert tool["id"] == f"{tool['server']}|{tool['name']}"
        names = [name for name, description in tool["params"] if isinstance(description, str)]
        assert len(set(names)) == len(tool["params"]), tool["id"]
        assert all(names)


def test_every_query_has_the_form_an_id_and_a_text_of_its_own(queries):
    for query in queries:
        assert query.keys() == {"qid", "text", "gold", "kind", "lang", "why"}
        assert query["why"].endswith("."), query["qid"]
        assert query["lang"] in {"en", "zh", "ja", "mixed"}
    assert len({query["qid"] for query in queries}) == len(queries)
    assert len({" ".join(query["text"].casefold().split()) for query in queries}) == len(queries)


def test_it_is_as_large_as_was_promised(tools, queries):
    assert len(tools) >= 120
    assert len(queries) >= 60
    assert len(of(queries, "unanswerable")) >= 25


def test_gold_names_tools_that_exist_each_once(tools, queries):
    for query in queries:
        assert set(query["gold"]) <= tools.keys(), query["qid"]
        assert len(set(query["gold"])) == len(query["gold"]), query["qid"]


def test_only_what_no_tool_can_serve_has_no_gold_and_only_multi_has_several(queries):
    for query in queries:
        match query["kind"]:
            case "unanswerable":
                assert query["gold"] == [], query["qid"]
            case "multi":
                assert len(query["gold"]) > 1, query["qid"]
            case _:
                assert len(query["gold"]) == 1, query["qid"]


def test_a_request_of_a_kind_is_of_that_kind(tools, queries):
    for query in of(queries, "exact_name"):
        assert all(tools[gold]["name"] in query["text"] for gold in query["gold"]), query["qid"]
    for query in of(queries, "negation"):
        assert RULES_OUT.search(query["text"]), query["qid"]
    for query in of(queries, "chinese"):
        assert HAN_OR_KANA.search(query["text"]), query["qid"]
        assert query["lang"] == "zh"
    for query in of(queries, "mixed_language"):
        assert LATIN_WORD.search(query["text"]), query["qid"]
        assert query["lang"] == "mixed"
    for query in of(queries, "long"):
        assert len(query["text"]) > (100 if query["lang"] == "zh" else 300), query["qid"]


def test_a_name_that_two_servers_share_is_told_apart_by_the_server(tools, queries):
    shared = {name for name, times in Counter(tool["name"] for tool in tools.values()).items() if times > 1}
    assert shared == {"search_messages"}
    told = [query for query in of(queries, "exact_name") if tools[query["gold"][0]]["name"] in shared]
    assert len(told) == 2
    assert all(tools[query["gold"][0]]["server"] in query["text"] for query in told)


def test_the_readme_counts_what_is_there(tools, queries, readme):
    said = {kind: int(number) for kind, number in re.findall(r"^\| `(\w+)` \| (\d+) \|", readme, re.MULTILINE)}
    assert said == Counter(query["kind"] for query in queries)
    servers = {tool["server"] for tool in tools.values()}
    params = [param for tool in tools.values() for param in tool["params"]]
    served = sum(bool(query["gold"]) for query in queries)
    foreign = sum(bool(HAN_OR_KANA.search(tool["description"])) for tool in tools.values())
    empty = sum(not tool["description"] for tool in tools.values())
    said_elsewhere = " ".join(readme.split())
    for sentence in (
        f"{len(tools)} tools of {len(servers)} servers",
        f"{len(queries)} requests:",
        f"{served} can be served, {len(queries) - served} can't",
        f"{foreign} described in Chinese or Japanese",
        f"{sum(bool(description) for _, description in params)} of {len(params)} parameters described",
    ):
        assert sentence in said_elsewhere
    assert empty == 1
