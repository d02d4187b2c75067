"""Tool search beside the rankers that FastMCP and pydantic-ai ship: recall, false offers and CPU time.

    python bench/routing.py FOLDER [--vectors] [--peer NAME=PYTHON]... [--set NAME]... [--limit 500] [--size 10000]

FOLDER holds NAME.tools.jsonl (id, name, server, description, params: [[name, description], ...]) and
NAME.queries.jsonl (text, gold: [ids]). Each set's first --limit queries are asked. ``--peer fastmcp=ENV/bin/python``
and ``--peer pydantic-ai=ENV/bin/python`` name interpreters of environments of their own, made from
bench/routing_peers/requirements-PEER.txt; the peers then rank the same queries over the same tools, as they ship. A
peer that can't be run is reported as skipped, with the reason.

Recall at five is the share of a query's right tools among the first five. A false offer is one made as fitting for a
query whose right tools were left out; ``offered`` is how often something is offered when they are in. Times are CPU
milliseconds of the process: ``cpu_ms`` on the set itself, and ``cpu`` at --size tools made from the sets' own by
repetition with a word added to each; ``embed_s`` is what embedding them took, which is done once and kept.
Prints one JSON document.

For a scorer that takes MODULE:FACTORY, with FACTORY(tools) -> rank(query, k), :func:`lexical` and :func:`hybrid` are
the two columns, from the root of the repository: ``bench.routing:lexical`` and ``bench.routing:hybrid``.
"""

import argparse
import json
import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from callslip.ports.embedder import Embedder
from callslip.routing.card import Card
from callslip.routing.ranker import Ranker
from callslip.routing.usem import UsemEmbedder

OWN = Path(__file__).with_name("routing_own")
PEERS = Path(__file__).parent / "routing_peers"
Figures = dict[str, Any]
Query = dict[str, Any]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def card_of(tool: dict[str, Any], *, mark: str = "") -> Card:
    return Card(
        id=tool["id"] + mark,
        name=tool["name"] + mark,
        server=tool.get("server") or "",
        description=f"{tool.get('description') or ''} {mark}".strip(),
        parameters=tuple((str(name), str(said)) for name, said in tool.get("params") or ()),
    )


def recall(found: list[str], gold: list[str]) -> float:
    return sum(name in gold for name in found[:5]) / len(set(gold))


def percent(values: list[float]) -> float:
    return round(100 * statistics.fmean(values), 1) if values else 0.0


def lexical(tools: list[dict[str, Any]]) -> Callable[[str, int], list[str]]:
    return _ranking(Ranker(map(card_of, tools)))


def hybrid(tools: list[dict[str, Any]]) -> Callable[[str, int], list[str]]:
    return _ranking(Ranker(map(card_of, tools), embedder=the_embedder()))


def _ranking(ranker: Ranker) -> Callable[[str, int], list[str]]:
    return lambda query, k: [hit.id for hit in ranker.rank(query, k)]


@cache
def the_embedder() -> UsemEmbedder:
    return UsemEmbedder()


def own(cards: list[Card], queries: list[Query], embedder: Embedder | None) -> Figures:
    ranker = Ranker(cards, embedder=embedder)
    found, spent, offered, false = [], [], [], []
    unserved = [query for query in queries if not query["gold"]]
    tempted = [float(bool(ranker.search([query["text"]], 5).hits)) for query in unserved]
    for query in served(queries):
        began = time.process_time()
        hits = ranker.rank(query["text"], 5)
        spent.append(1e3 * (time.process_time() - began))
        found.append(recall([hit.id for hit in hits], query["gold"]))
        offered.append(float(bool(ranker.search([query["text"]], 5).hits)))
        false.append(float(bool(ranker.search([query["text"]], 5, without=query["gold"]).hits)))
    figures = {
        "recall_at_5": percent(found),
        "cpu_ms": round(statistics.median(spent), 2),
        "offered": percent(offered),
        "false_offers": percent(false),
    }
    return figures | ({"unanswerable": len(unserved), "offered_all_the_same": percent(tempted)} if unserved else {})


def served(queries: list[Query]) -> list[Query]:
    """Those that some tool can serve."""
    return [query for query in queries if query["gold"]]


def peer(name: str, python: str, tools: Path, queries: list[Query]) -> Figures:
    script = PEERS / f"{name.replace('-', '_')}_rank.py"
    asked = json.dumps({"tools": lines(tools), "queries": [query["text"] for query in queries]})
    try:
        done = subprocess.run(
            [python, str(script)], input=asked, capture_output=True, text=True, timeout=3_600, check=True
        )
        told = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        return {"skipped": " | ".join(error.stderr.strip().splitlines()[-2:])}
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return {"skipped": str(error)}
    found = [recall(ids, query["gold"]) for ids, query in zip(told["ranked"], queries, strict=True)]
    return {"recall_at_5": percent(found), "cpu_ms": round(statistics.median(told["cpu_ms"]), 2)}


def times(tools: list[dict[str, Any]], queries: list[str], size: int, embedder: Embedder | None) -> Figures:
    cards = [card_of(tools[at % len(tools)], mark="" if at < len(tools) else f"_{at}") for at in range(size)]
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools"
        if embedder is not None:
            began = time.process_time()
            Ranker(cards, embedder=embedder, path=path).close()
            figures["embed_s"] = round(time.process_time() - began, 2)
            path.unlink()
        began = time.process_time()
        ranker = Ranker(cards, embedder=embedder, path=path if embedder is not None else None)
        figures["build_s"] = round(time.process_time() - began, 2)
    spent = []
    for query in queries:
        began = time.process_time()
        ranker.rank(query, 10)
        spent.append(1e3 * (time.process_time() - began))
    spent.sort()
    figures["query_p50_ms"] = round(statistics.median(spent), 2)
    figures["query_p95_ms"] = round(spent[math.ceil(0.95 * len(spent)) - 1], 2)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=OWN)
    parser.add_argument("--vectors", action="store_true", help="measure with the [vectors] extra too")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--size", type=int, default=10_000)
    args = parser.parse_args()
    embedder = the_embedder() if args.vectors else None
    names = args.set or sorted(path.name.split(".")[0] for path in args.folder.glob("*.tools.jsonl"))
    sets: dict[str, Figures] = {}
    all_tools: dict[str, dict[str, Any]] = {}
    some_queries: list[str] = []
    for name in names:
        path = args.folder / f"{name}.tools.jsonl"
        tools, queries = lines(path), lines(args.folder / f"{name}.queries.jsonl")[: args.limit]
        cards = [card_of(tool) for tool in tools]
        rows = {"words": own(cards, queries, None)}
        if embedder is not None:
            rows["vectors"] = own(cards, queries, embedder)
        for each in args.peer:
            known, _, python = each.partition("=")
            rows[known] = peer(known, python, path, served(queries))
        sets[name] = rows
        all_tools |= {tool["id"]: tool for tool in tools}
        some_queries += [query["text"] for query in queries[:: max(1, len(queries) // 40)]]
    measured = {"words": times(list(all_tools.values()), some_queries, args.size, None)}
    if embedder is not None:
        measured["vectors"] = times(list(all_tools.values()), some_queries, args.size, embedder)
    print(json.dumps({"sets": sets, "tools": args.size, "cpu": measured}, indent=1))


if __name__ == "__main__":
    main()
