"""Tool search beside the rankers that FastMCP and pydantic-ai ship: recall, false offers and CPU time.

    python bench/routing.py FOLDER [--vectors] [--peer NAME=PYTHON]... [--set NAME]... [--limit 500] [--size 10000]

FOLDER holds NAME.tools.jsonl (id, name, server, description, params: [[name, description], ...]) and
NAME.queries.jsonl (text, gold: [ids]). Each set's first --limit queries are asked. ``--peer fastmcp=ENV/bin/python``
and ``--peer pydantic-ai=ENV/bin/python`` name interpreters of environments of their own, made from
bench/routing_peers/requirements-PEER.txt; the peers then rank the same queries over the same tools, as they ship. A
peer that can't be run is reported as skipped, with the reason.

Recall at five is the share of a query's right tools among the first five. A false offer is one made as fitting for a
query whose right tools were taken out of the set; ``offered`` is how often something is offered when they are in. Times
are CPU milliseconds of this process, at --size tools made from the sets' own by repetition with a word added to each.
Prints one JSON document.
"""

import argparse
import json
import math
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from callslip.ports.embedder import Embedder
from callslip.routing import fit
from callslip.routing.card import Card
from callslip.routing.ranker import Ranker
from callslip.routing.usem import UsemEmbedder

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


def own(cards: list[Card], queries: list[Query], embedder: Embedder | None) -> Figures:
    ranker = Ranker(cards, embedder=embedder)
    found = [recall([hit.id for hit in ranker.rank(query["text"], 5)], query["gold"]) for query in queries]
    offered = [float(bool(ranker.search([query["text"]], 5).hits)) for query in queries]
    return {"recall_at_5": percent(found), "offered": percent(offered), "false_offers": false_offers(ranker, queries)}


def false_offers(ranker: Ranker, queries: list[Query]) -> float:
    """The right tools are taken out of what was found, not out of the index: the others' scores hardly differ."""
    offers = []
    for query in queries:
        hits, near, _ = ranker._ranked(query["text"], None)
        left = [hit for hit in hits if hit.id not in query["gold"]]
        offers.append(float(fit.fits(left[0] if left else None, near)))
    return percent(offers)


def peer(name: str, python: str, tools: Path, queries: list[Query]) -> Figures:
    script = PEERS / f"{name.replace('-', '_')}_rank.py"
    asked = json.dumps({"tools": lines(tools), "queries": [query["text"] for query in queries]})
    try:
        done = subprocess.run(
            [python, str(script)], input=asked, capture_output=True, text=True, timeout=900, check=True
        )
        ranked = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        return {"skipped": " | ".join(error.stderr.strip().splitlines()[-2:])}
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return {"skipped": str(error)}
    return {
        "recall_at_5": percent([recall(found, query["gold"]) for found, query in zip(ranked, queries, strict=True)])
    }


def times(tools: list[dict[str, Any]], queries: list[str], size: int, embedder: Embedder | None) -> Figures:
    cards = [card_of(tools[at % len(tools)], mark="" if at < len(tools) else f"_{at}") for at in range(size)]
    began = time.process_time()
    ranker = Ranker(cards, embedder=embedder)
    built = time.process_time() - began
    spent = []
    for query in queries:
        began = time.process_time()
        ranker.rank(query, 10)
        spent.append(1e3 * (time.process_time() - began))
    spent.sort()
    p95 = spent[math.ceil(0.95 * len(spent)) - 1]
    return {
        "build_s": round(built, 2),
        "query_p50_ms": round(statistics.median(spent), 2),
        "query_p95_ms": round(p95, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vectors", action="store_true", help="measure with the [vectors] extra too")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--size", type=int, default=10_000)
    args = parser.parse_args()
    embedder = UsemEmbedder() if args.vectors else None
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
            rows[known] = peer(known, python, path, queries)
        sets[name] = rows
        all_tools |= {tool["id"]: tool for tool in tools}
        some_queries += [query["text"] for query in queries[:: max(1, len(queries) // 40)]]
    measured = {"words": times(list(all_tools.values()), some_queries, args.size, None)}
    if embedder is not None:
        measured["vectors"] = times(list(all_tools.values()), some_queries, args.size, embedder)
    print(json.dumps({"sets": sets, "tools": args.size, "cpu": measured}, indent=1))


if __name__ == "__main__":
    main()
