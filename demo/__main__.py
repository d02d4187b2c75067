"""``python -m demo``: the whole story, from a fresh folder to a box of counts."""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import click

from demo import act_ask, act_audit, act_beside, act_letter, act_pay, act_verify, people
from demo.child import ChildError
from demo.claims import Claims
from demo.drawing import Trace
from demo.screen import Screen
from demo.stage import REPLIES, SABOTAGE, Options, Stage

_PACE = 0.13
UNDER = (
    "Put Callslip between your model and your tools: every call is recorded before it runs and after; a crash never "
    "silently repeats it; dangerous calls wait for a person. Here an agent audits twenty packages, corrects a file "
    "and pays an invoice once a person has said yes; its process is killed while it pays."
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--interactive",
    is_flag=True,
    help="Approve in a second terminal, and kill the worker with a key.",
)
@click.option("--seed", type=int, help="Of the moments of the kills; default: a new one each time, printed.")
@click.option("--model", help="A live model, by name, of OPENAI_BASE_URL (any Chat Completions server).")
@click.option("--record", type=click.Path(path_type=Path), help="With --model: keep its replies in this file.")
@click.option("--langgraph-python", type=click.Path(exists=True, path_type=Path), help="A Python with LangGraph.")
@click.option("--pace", type=float, help=f"Seconds for a line; default {_PACE} in a terminal, 0 elsewhere.")
@click.option("--color/--no-color", default=None, help="Default: colours in a terminal, unless NO_COLOR is set.")
@click.option("--keep", is_flag=True, help="Keep the folder with workspace, log and database.")
@click.option("--sabotage", type=click.Choice(SABOTAGE), help="Break something; the demo must notice.")
def main(
    interactive: bool,
    seed: int | None,
    model: str | None,
    record: Path | None,
    langgraph_python: Path | None,
    pace: float | None,
    color: bool | None,
    keep: bool,
    sabotage: str | None,
) -> None:
    """An agent asks before it pays, is killed while it pays, and pays once. Exit code 0 only if every claim held."""
    terminal = sys.stdout.isatty()
    if interactive and not (terminal and sys.stdin.isatty()):
        raise click.UsageError("--interactive needs a terminal.")
    if color is None and os.environ.get("NO_COLOR"):
        color = False
    options = Options(
        seed=secrets.randbelow(10**6) if seed is None else seed,
        interactive=interactive,
        model=model,
        record=record and record.absolute(),
        langgraph=langgraph_python and langgraph_python.absolute(),
        sabotage=sabotage or "",
    )
    screen = Screen(color=color, pace=(_PACE if terminal else 0.0) if pace is None else pace)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what was begun is tidied away
    folder = Path(tempfile.mkdtemp(prefix="callslip-demo-"))
    try:
        good = show(options, screen, folder)
    finally:
        if keep:
            screen.line(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    sys.exit(0 if good else 1)


def show(options: Options, screen: Screen, folder: Path) -> bool:
    """Play all acts. Whether every claim held."""
    claims = Claims(screen)
    label, source = replies(options)
    stage = Stage(
        options=options, screen=screen, claims=claims, folder=folder, random=random.Random(options.seed),
        trace=Trace(screen, label),
    )  # fmt: skip
    screen.title("Callslip", UNDER)
    screen.line()
    screen.fact("the model", source, dim=True)
    screen.fact("the bank", "a process of its own, on this machine; it counts, and drops no repeats", dim=True)
    screen.fact("the seed", f"{options.seed} chooses the moments of the kills", dim=True)
    try:
        stage.open()
        people.enrol(stage)
        play(stage)
    except ChildError as error:
        claims.check(f"every process did its part ({error})", seen=False)
    finally:
        stage.close()
    total = claims.held + len(claims.failed)
    rows = [*stage.summary, ("claims checked", f"{claims.held} of {total} held")]
    foot = (
        "Each claim was checked: against the bank's own count, the log on disk, and exit codes."
        if claims.good
        else f"Not so: {claims.failed[0] if claims.failed else 'nothing was checked'}."
    )
    screen.box(rows, good=claims.good, foot=foot)
    return claims.good


def play(stage: Stage) -> None:
    """The acts in order; after a claim that did not hold the story goes no further."""
    acts = (
        act_ask.asked, act_ask.forged, act_ask.approved, act_pay.killed, act_pay.settled,
        act_letter.killed, act_letter.parked, act_letter.answered, act_verify.verified, act_audit.told,
        act_beside.compared,
    )  # fmt: skip
    for act in acts:
        act(stage)
        if stage.claims.failed:
            return


def replies(options: Options) -> tuple[str, str]:
    """What each reply is called, and where they come from, in words that are true of the file that is played."""
    if options.model:
        return f"live reply of {options.model}", f"{options.model}, live"
    with REPLIES.open(encoding="utf-8") as file:
        name = json.loads(file.readline())["model"]
    if name == "scripted":
        return "scripted reply", "scripted replies in Chat Completions form; no model was asked"
    return "recorded reply", f"replies of {name}, recorded; no model is asked now (--model asks one)"


if __name__ == "__main__":
    main()
