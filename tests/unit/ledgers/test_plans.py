"""What is asked often is found by an index, whatever else is in the ledger: told by SQLite's own plan."""

from __future__ import annotations

import contextlib
import re

import pytest

from callslip.ledgers.connection import connect, load_statements, open_ledger

PLANS = {
    "head": ["INDEX sqlite_autoindex_sessions_1"],
    "heads_changed": ["INDEX sessions_by_change"],
    "heads_ready": ["INTEGER PRIMARY KEY", "INDEX sessions_in_hand", "INDEX waits_by_time"],
    "waits_by_id": ["INDEX waits_by_id", "INTEGER PRIMARY KEY"],
    "waits_due": ["INDEX waits_by_time", "INTEGER PRIMARY KEY"],
    "waits_of_session": ["INDEX sqlite_autoindex_sessions_1", "PRIMARY KEY"],
    "advance_session": ["INTEGER PRIMARY KEY", "INDEX sessions_by_change"],
}


@pytest.mark.requirement("LEDG-03")
@pytest.mark.parametrize("name", PLANS)
def test_it_is_found_by_an_index(tmp_path, name):
    statement = load_statements()[name]
    marks = max(map(int, re.findall(r"\?(\d)", statement)), default=statement.count("?"))
    with contextlib.closing(open_ledger(tmp_path / "ledger.db", connect)) as connection:
        rows = connection.execute(f"explain query plan {statement}", (1,) * marks).fetchall()
    looks = [row[3] for row in rows if row[3].startswith(("SEARCH", "SCAN"))]
    by = [re.search(r"USING (?:COVERING )?(INDEX \w+|INTEGER PRIMARY KEY|PRIMARY KEY)", look) for look in looks]
    assert all(by), looks
    assert [found[1] for found in by] == PLANS[name]
