"""The same errand in LangGraph, run by a Python that has it: audit, edit, pay, in a graph with a durable checkpointer.

Uses of Callslip nothing at all. ``first`` stands still after the charge, for the same kill; ``again`` resumes the graph
from its last checkpoint, as LangGraph does it: a node that did not end is run from its beginning.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, TypedDict

from demo.parent import end_with_parent
from demo.versions import audit
from demo.wire import ask

ACCOUNT = "langgraph"
INVOICE = "INV-2041"


class State(TypedDict):
    findings: int
    edited: bool
    charge: str


def say(kind: str, **what: Any) -> None:
    """One line for the story."""
    print(json.dumps({"kind": kind, **what}), flush=True)


def main() -> None:
    _, moment, folder, bank = sys.argv
    end_with_parent()
    try:  # imported here, so that a Python without it can say so
        from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]  # noqa: PLC0415
        from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        say("missing")
        return
    workspace = Path(folder)

    def check(_: State) -> dict[str, Any]:
        return {"findings": len(audit(workspace)["findings"])}  # type: ignore[arg-type]

    def edit(_: State) -> dict[str, Any]:
        config = workspace / "payments.toml"
        config.write_text(config.read_text().replace('money = "1.9.4"', 'money = "2.1.0"'))
        return {"edited": True}

    def pay(_: State) -> dict[str, Any]:
        body = {"account": ACCOUNT, "invoice": INVOICE, "payee": "Hollis Paper Ltd", "amount_cents": 184_000}
        charge = ask(bank, "POST", "/charges", body, {"Idempotency-Key": INVOICE})
        if moment == "first":
            say("held")
            time.sleep(600)
        return {"charge": charge["charge"]}

    builder = StateGraph(State)
    for name, node in (("check", check), ("edit", edit), ("pay", pay)):
        builder.add_node(name, node)
    for start, end in ((START, "check"), ("check", "edit"), ("edit", "pay"), ("pay", END)):
        builder.add_edge(start, end)
    database = sqlite3.connect(workspace.parent / "langgraph.db", check_same_thread=False)
    graph = builder.compile(checkpointer=SqliteSaver(database))
    begin = {"findings": 0, "edited": False, "charge": ""} if moment == "first" else None
    graph.invoke(begin, {"configurable": {"thread_id": "office"}}, durability="sync")
    say("end")


if __name__ == "__main__":
    main()
