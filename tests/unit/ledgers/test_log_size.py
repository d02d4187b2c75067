"""How much the log weighs: large payloads once, compressed, beside it."""

from __future__ import annotations

import random

import pytest

from callslip import Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.ledgers.connection import load_statements, migrations

pytestmark = pytest.mark.anyio


def weight(folder) -> int:
    """Bytes of log and blobs; the audit is another log."""
    files = [*folder.glob("ledger.db*"), *(folder / "blobs").rglob("*")]
    return sum(path.stat().st_size for path in files if path.is_file())


@pytest.mark.requirement("LEDG-05")
async def test_a_megabyte_of_payloads_weighs_less_than_it_was_and_the_same_again_next_to_nothing(tmp_path):
    made = random.Random(17)
    rows = [{"id": made.getrandbits(64), "note": f"order {n} of {made.choice('abcdef') * 40}"} for n in range(12_000)]

    @tool(risk="read")
    async def read() -> list[dict]:
        """Read all."""
        return rows

    state = tmp_path / "state"
    async with Runtime(tools=[read], state=state) as runtime:
        await runtime.dispatch([{"name": "read", "input": {}}], session="s", step="1")
        (first,) = [
            s.record.event for s in await runtime.parts.ledger.read("s") if isinstance(s.record.event, FunctionResponse)
        ]
        assert first.structured.size > 1_000_000
        assert len(await runtime.parts.blobs.get(first.structured.blob)) == first.structured.size
    once = weight(state)
    assert once < first.structured.size
    async with Runtime(tools=[read], state=state) as runtime:
        for step in "2345":
            await runtime.dispatch([{"name": "read", "input": {}}], session="s", step=step)
    assert weight(state) - once < 0.02 * first.structured.size


@pytest.mark.requirement("LEDG-01")
def test_no_statement_edits_or_removes_a_record():
    statements = [*load_statements().values(), *migrations()]
    touching = [sql for sql in statements if "records" in sql and not sql.lstrip().startswith(("select", "create"))]
    assert [sql.split("(")[0].strip() for sql in touching] == ["insert into records"]
