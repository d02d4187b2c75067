"""Act three: killed between the charge and its record. Act four: a new process finds out what happened."""

from __future__ import annotations

from demo import calls, wire
from demo.act_ask import TOOL
from demo.stage import AMOUNT_CENTS, Stage, counted, euros

NEXT = "send_letter"
_CONTROL = "control"


def killed(stage: Stage) -> None:
    """The agent pays, and its process dies before it can write down that it paid."""
    screen, claims = stage.screen, stage.claims
    worker = stage.worker(hold=TOOL)
    if stage.watch(worker).get("kind") != "held":
        stage.missed(worker, TOOL)
        return
    stage.bank.until("charge")
    screen.line()
    charges, cents = stage.charged()
    screen.fact("the bank", f"{counted(charges)}, {euros(cents)}: the money has left.", bold=True)
    alive = stage.alive()
    status = stage.kill(worker, "Nothing of it is recorded yet.")
    log = stage.log()
    word = [calls.decisions(log, TOOL)[-1].approval_id]
    claims.check("it was dispatched on Mara's word", calls.approvals(log, TOOL), word)
    claims.check("the look that found no process alive finds this worker, while it lives", alive, [worker.pid])
    claims.check("the worker was ended by SIGKILL: exit status -9", status, -9)
    claims.check(f"the bank counts one charge of {euros(AMOUNT_CENTS)}", stage.charged(), (1, AMOUNT_CENTS))
    seen = len(calls.dispatches(log, TOOL)), len(calls.responses(log, TOOL))
    claims.check("the log on disk says dispatched, and not settled", seen, (1, 0))
    screen.line()
    screen.prose("Was the invoice paid? The log alone can't tell. To pay again may pay twice; not to pay, never.")


def settled(stage: Stage) -> None:
    """A new process asks the tool's probe. It then goes on, up to where it is held for the next kill."""
    screen, claims = stage.screen, stage.claims
    screen.act(4, "A new process asks, instead of guessing")
    stage.running = stage.worker(hold=NEXT)
    stage.watch(stage.running, until_settled=TOOL)
    log = stage.log()
    notes = [note for answer in calls.responses(log, TOOL) for note in answer.notes]
    charges, cents = stage.charged()
    screen.line()
    claims.check("it was settled by the tool's probe: the bank was asked for this very call", notes, [calls.BY_PROBE])
    claims.check("it was dispatched once: nothing was sent again", len(calls.dispatches(log, TOOL)), 1)
    claims.check(f"the bank still counts one charge of {euros(AMOUNT_CENTS)}", (charges, cents), (1, AMOUNT_CENTS))
    _control(stage)
    stage.summary.append(
        ("invoice paid", f"{counted(charges)}, {euros(cents)}, {', '.join(notes) or 'not by its probe'}")
    )


def _control(stage: Stage) -> None:
    """This bank would not have hidden a repeat: send one, on an account of its own."""
    body = {"account": _CONTROL, "invoice": "CONTROL", "amount_cents": 1}
    for _ in range(2):
        wire.ask(stage.url, "POST", "/charges", body, {"Idempotency-Key": "the same key"})
    claim = "this bank hides no repeat: one key, sent twice to a control account, was charged twice"
    stage.claims.check(claim, stage.charged(_CONTROL)[0], 2)
