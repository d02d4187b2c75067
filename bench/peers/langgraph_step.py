"""Measures one node of a LangGraph graph with SqliteSaver and durability="sync".

The graph is one node that an edge sends back to itself, so each superstep runs the node once, stores its
writes and stores a checkpoint. SqliteSaver itself sets journal_mode=WAL and leaves synchronous to SQLite
(FULL unless it was built otherwise); the script sets FULL on the saver's connection and reports it.
"""

import sqlite3
from pathlib import Path
from typing import Any, TypedDict

import peer_common
from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]


class State(TypedDict):
    count: int


def graph(folder: Path, node: Any, last: int) -> tuple[Any, sqlite3.Connection]:
    connection = sqlite3.connect(folder / "langgraph.sqlite", check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    builder = StateGraph(State)
    builder.add_node("noop", node)
    builder.add_edge(START, "noop")
    builder.add_conditional_edges("noop", lambda state: END if state["count"] >= last else "noop")
    return builder.compile(checkpointer=SqliteSaver(connection)), connection


def config(steps: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": "bench"}, "recursion_limit": steps + 10}


def pragmas(connection: sqlite3.Connection) -> dict[str, str]:
    return {
        f"sqlite_{name}": str(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("journal_mode", "synchronous")
    }


def step(folder: Path, meter: peer_common.Meter, _server: peer_common.Server) -> dict[str, Any]:
    def noop(_state: State) -> State:
        return {"count": meter.effect()}

    compiled, connection = graph(folder, noop, meter.total)
    compiled.invoke({"count": 0}, config(meter.total), durability="sync")
    durability = {**pragmas(connection), "durability": "sync"}
    packages = ["langgraph", "langgraph-checkpoint-sqlite"]
    return meter.report("langgraph", packages, durability)


def worker(folder: Path, _url: str) -> None:
    """Starts the graph, or resumes it from its last checkpoint."""

    def crash(_state: State) -> State:
        return {"count": peer_common.crash_once(folder)}

    compiled, _ = graph(folder, crash, 1)
    crashed = (folder / "effects").exists()
    compiled.invoke(None if crashed else {"count": 0}, config(1), durability="sync")


if __name__ == "__main__":
    peer_common.main("langgraph", step, worker)
