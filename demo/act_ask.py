"""Act one: the payment waits for a person. Act two: somebody answers in her name. Act three begins with her answer."""

from __future__ import annotations

import select
import shlex
import sys
from pathlib import Path

import click

from demo import calls, people
from demo.child import module
from demo.commands import callslip, has_no_code, quietly
from demo.stage import AMOUNT_CENTS, MARA, OLGA, SESSION, TEXT, Stage

TOOL = "pay_invoice"
STATE = "../state"
"""Of Mara's desk."""
NOTE = "as ordered"
WAITING = 3
"""The exit code of a worker whose session waits."""
_NOTHING: tuple[tuple[int, int], list[int]] = ((0, 0), [])
"""Charged, and dispatched."""
_OFTEN = 0.3
"""Seconds between two looks for the viewer's answer."""


def asked(stage: Stage) -> None:
    """The agent audits and edits, and comes to rest before it pays. A person is shown what it wants to do."""
    screen, claims = stage.screen, stage.claims
    screen.act(1, "The payment waits for a person")
    screen.fact("the user", f"“{TEXT}”")
    screen.line()
    stage.trace.legend()
    worker = stage.worker(text=TEXT)
    last = stage.watch(worker)
    log = stage.log()
    if not calls.questions(log, TOOL):
        stage.missed(worker, TOOL)
        return
    screen.line()
    waits = calls.waits(log)
    ended = last.get("status"), worker.wait(), len(waits)
    claims.check("the session waits, and its worker has ended by itself: exit status 3", ended, ("waiting", WAITING, 1))
    claims.check("no process of it is alive: whoever answers may take a week", stage.alive(), [])
    claims.check("the bank counts nothing", stage.charged(), (0, 0))
    if claims.failed:
        return
    screen.line()
    screen.prose("Mara has a terminal of her own, with her key, the state folder, and nothing of the application.")
    code, said = callslip(stage, "inbox", "--state", STATE, who=MARA)
    screen.line()
    seen = code, all(text in said for text in (*waits, "Hollis Paper Ltd", "INV-2041", str(AMOUNT_CENTS)))
    claims.check("she is shown the whole call, as it would be made", seen, (0, True))


def forged(stage: Stage) -> None:
    """A process without her key writes a yes in her name into the log. The worker does not pay."""
    screen, claims = stage.screen, stage.claims
    screen.act(2, "Somebody answers in her name")
    screen.prose(
        "Another process of the same account may write the file, and has the library. It puts a yes into the log, with "
        "Mara's name and public key and a signature that it has made up."
    )
    forger = stage.start("the forger", *module("demo.forger", str(stage.state), SESSION, MARA))
    forger.until("forged")
    forger.wait()
    screen.line()
    stage.trace.decision(stage.log())
    intact = quietly(stage, OLGA, "verify")
    claims.check("well forged: in its place, and the log verifies with it", "what was written" in intact)
    screen.line()
    last = stage.watch(stage.worker())
    log = stage.log()
    screen.line()
    claims.check("the worker did not pay: the bank counts nothing, nothing was dispatched", _paid(stage), _NOTHING)
    claims.check("it asks again, and the session waits", (last.get("status"), len(calls.waits(log))), ("waiting", 1))
    why = "; ".join(calls.questions(log, TOOL)[-1].again)
    claims.check(f"the question says why: {why or 'nothing'}", f"signature is not {MARA}'s" in why)
    if not claims.failed:
        stage.summary.append(("forged approval", "did not count: nothing was paid on it"))


def approved(stage: Stage) -> None:
    """Mara says yes, from a process that knows nothing of the application."""
    screen, claims = stage.screen, stage.claims
    screen.act(3, "Mara approves. The worker dies between the charge and its record")
    (wait,) = calls.waits(stage.log())
    if stage.options.interactive:
        _by_hand(stage, wait)
    else:
        code, _ = callslip(stage, "approve", wait, "--yes", "--note", NOTE, "--state", STATE, who=MARA)
        screen.line()
        claims.check("her yes was taken", code, 0)
    claims.check("where she sits there is none of the application's code", has_no_code(stage, MARA))
    log = stage.log()
    said = calls.decisions(log, TOOL)[-1]
    seen = said.approval_id, said.decision, said.proof.principal, people.fault(stage, said, TOOL)
    claims.check("the log has it, and the signature is hers", seen, (wait, "approved", MARA, None))
    moved = _paid(stage), stage.alive()
    claims.check("a yes by itself moves no money: the bank counts nothing, and nothing runs", moved, (_NOTHING, []))
    screen.line()
    stage.trace.decision(log)


def _paid(stage: Stage) -> tuple[tuple[int, int], list[int]]:
    return stage.charged(), calls.dispatches(stage.log(), TOOL)


def _by_hand(stage: Stage, wait: str) -> None:
    """Let the viewer be Mara, in a terminal of theirs."""
    screen = stage.screen
    program = Path(sys.executable).with_name("callslip")
    start = [str(program)] if program.exists() else [sys.executable, "-P", "-m", "callslip.cli.main"]
    screen.prose("You are Mara now. In another terminal, look at the call, and approve it:")
    screen.line()
    for words in (("inbox",), ("approve", wait)):
        line = shlex.join([*start, *words, "--state", str(stage.state)])
        click.echo(f"XDG_CONFIG_HOME={shlex.quote(str(stage.folder / MARA))} {line}")  # whole, to be copied
    screen.line()
    screen.line(click.style("Waiting for your answer. Enter has the demo give it here.", fg="red"), rest=0)
    while wait in calls.waits(stage.log()):
        if select.select([sys.stdin], [], [], _OFTEN)[0]:
            sys.stdin.readline()
            quietly(stage, MARA, "approve", wait, "--yes", "--note", NOTE, "--state", STATE)
            return
