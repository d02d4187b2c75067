"""Act five: the same kill in a call that nobody can ask about. It is parked, and a person answers."""

from __future__ import annotations

from difflib import unified_diff

from demo import calls
from demo.act_pay import NEXT as TOOL
from demo.commands import callslip
from demo.stage import TEMPLATE, Stage

REASON = "it lies in the tray"


def killed(stage: Stage) -> None:
    """The letter is posted, and the worker dies again."""
    screen, claims, worker = stage.screen, stage.claims, stage.running
    screen.act(5, "The same again, where nobody can be asked")
    screen.prose("A letter can't be traced, so send_letter declares no way to recover. Its worker is killed too.")
    if stage.watch(worker).get("kind") != "held":
        stage.missed(worker, TOOL)
        return
    stage.bank.until("letter")
    screen.line()
    screen.fact("the mail room", f"{len(stage.books()['letters'])} letter posted.", bold=True)
    status = stage.kill(worker, "Nothing of it is recorded yet.")
    log = stage.log()
    seen = len(calls.dispatches(log, TOOL)), len(calls.responses(log, TOOL))
    claims.check("killed again, exit status -9: dispatched, and not settled", (status, *seen), (-9, 1, 0))
    if not claims.failed:
        stage.summary.insert(0, ("worker killed by SIGKILL", "2 times, between an effect and its record"))


def parked(stage: Stage) -> None:
    """A new process neither repeats it nor drops it: it asks."""
    screen, claims = stage.screen, stage.claims
    screen.line()
    last = stage.watch(stage.worker())
    screen.line()
    claims.check("not repeated, not dropped: parked, and the session waits", last.get("status"), "waiting")
    claims.check("the log names the parked call", calls.parked(stage.log(), TOOL), 1)
    claims.check("still one letter in the tray", len(stage.books()["letters"]), 1)
    screen.line()
    code, said = callslip(stage, "waits")
    screen.line()
    (wait,) = calls.waits(stage.log()) or [""]
    claims.check("the command line lists this very wait", (code, bool(wait) and wait in said), (0, True))


def answered(stage: Stage) -> None:
    """A person looks, says what happened, and the session comes to its end."""
    screen, claims = stage.screen, stage.claims
    screen.line()
    screen.prose("Nobody can ask the post, but a person can walk to the tray and look.", dim=True)
    (wait,) = calls.waits(stage.log())
    code, _ = callslip(stage, "resolve", wait, "happened", "--reason", REASON)
    screen.line()
    claims.check("the verdict was taken", code, 0)
    screen.line()
    stage.trace.verdict(stage.log())
    last = stage.watch(stage.worker())
    letters = len(stage.books()["letters"])
    screen.line()
    claims.check("the session came to its end", last.get("status"), "finished")
    claims.check("one letter, dispatched once", (letters, len(calls.dispatches(stage.log(), TOOL))), (1, 1))
    claims.check('payments.toml differs in one line: money = "2.1.0"', _changed(stage), _WANTED)
    stage.summary.append(("letter posted", f"{letters}, parked and answered by a person"))


_WANTED = ['-money = "1.9.4"', '+money = "2.1.0"']


def _changed(stage: Stage) -> list[str]:
    before = (TEMPLATE / "payments.toml").read_text(encoding="utf-8").splitlines()
    after = (stage.workspace / "payments.toml").read_text(encoding="utf-8").splitlines()
    return [line for line in unified_diff(before, after, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]
