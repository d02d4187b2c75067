"""Act seven: the audit answers who, what, when and why. One byte of a copy of it is edited, and that is found."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

from callslip.core.events.user_message import UserMessage
from demo import calls, people
from demo.act_ask import TOOL
from demo.act_verify import NOT_INTACT
from demo.commands import callslip, quietly
from demo.stage import AMOUNT_CENTS, MARA, OLGA, TEXT, Stage, euros

COPY = "edited"
_NAMES = b'"approved_by":["'
_WANTED = {"amount_cents": AMOUNT_CENTS, "invoice": "INV-2041", "payee": "Hollis Paper Ltd"}


def told(stage: Stage) -> None:
    """Ask the audit about the payment, verify it, and verify a copy that names another approver."""
    screen, claims = stage.screen, stage.claims
    screen.act(7, "Who did it, what, when, and why")
    callslip(stage, "audit", "query", "--tool", TOOL)
    screen.line()
    screen.prose("The forged yes stands there too, and the question after it says that it did not count.", dim=True)
    book = [json.loads(line) for line in quietly(stage, OLGA, "audit", "query", "--json").splitlines()]
    entries = [entry for entry in book if entry.get("tool") == TOOL]
    yes, payment, outcome = (
        _last(entries, kind) for kind in ("approval_decided", "tool_dispatch", "function_response")
    )
    who = payment["requester"], payment["approved_by"], yes["key"]
    claims.check("who: in Olga's name, on Mara's word, with her key", who, (OLGA, [MARA], people.key(stage, MARA)))
    what = payment["detail"]["arguments"], outcome["effect"]
    claims.check(f"what: {euros(AMOUNT_CENTS)} to Hollis Paper Ltd, and it is done", what, (_WANTED, "done"))
    claims.check("when: after her yes, and before the outcome", yes["at"] <= payment["at"] <= outcome["at"])
    words = [event.text for seq, event in stage.log() if isinstance(event, UserMessage) and seq in payment["message"]]
    approval = calls.decisions(stage.log(), TOOL)[-1].approval_id
    why = words, payment["rules"], payment["approval"]
    claims.check("why: the user's words, the rule, her approval", why, ([TEXT], [f"tool.{TOOL}"], approval))
    screen.line()
    _verified(stage, payment["n"], len(book))


def _verified(stage: Stage, entry: int, count: int) -> None:
    screen, claims = stage.screen, stage.claims
    code, said = callslip(stage, "audit", "verify")
    screen.line()
    claims.check(f"the audit verifies: {count} entries, each bound to all before it, and to the log", code, 0)
    claims.check("it says itself that no head of it is kept elsewhere yet", "Nothing of it is anchored" in said)
    screen.line()
    screen.prose("In a copy, one byte of it is edited, where it says who approved:")
    offset, before, after = _edit(stage, entry)
    screen.fact(f"byte {offset:,}", f"{before} becomes {after}", color="red")
    screen.line()
    code, said = callslip(stage, "audit", "verify", "--state", COPY)
    screen.line()
    named = {int(number) for number in re.findall(r"chain: entry (\d+) is not what was written", said)}
    claims.check(f"exit code {NOT_INTACT}, and it names entry {entry}", (code, named), (NOT_INTACT, {entry}))
    where = ", ".join(map(str, sorted(named))) or "none"
    stage.summary.append(("audit", f"{count} entries verified; edited byte found, in entry {where}"))


def _last(entries: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(entry for entry in reversed(entries) if entry["kind"] == kind)


def _edit(stage: Stage, entry: int) -> tuple[int, str, str]:
    """Another approver's name in that entry, in a copy of the state folder. Where, and the name before and after."""
    shutil.copytree(stage.state, stage.folder / COPY)
    book = stage.folder / COPY / "audit" / "book.jsonl"
    data = bytearray(book.read_bytes())
    line = data.index(b'{"n":%d,' % entry)
    offset = data.index(_NAMES, line) + len(_NAMES)
    end = data.index(b'"', offset)
    before = data[offset:end].decode()
    data[offset] ^= 1
    book.write_bytes(data)
    return offset, before, data[offset:end].decode()
