"""Kill a session at every commit and effect, let it recover, and see that nothing was lost or done twice. ::

    with Harness(Path("my_tools.py"), "scenario", folder) as harness:
        report = harness.check(["idempotent", "never"], each=10, random=500, seed=1)
    assert not report.faults

The target is a function as ``callslip.testing.crash_scenario`` says; ``callslip.testing.crash_target`` is one to start
from. Each run lives in a folder of its own: a victim is started and killed with SIGKILL, at a named failpoint or at a
random instant, as often as the case says; then a last process brings the session to its end, and the log is held
against the crash table and against the effects, which a process of its own has counted; and the audit against the log.
After each of the processes, whatever it started must end, and after the last one no claim may stand and no temporary
file be left.
SIGKILL does not test what fsync promises: ``callslip.testing.disk`` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random as randomness
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Self

import msgspec

from callslip.audit.verify import verify
from callslip.blobs.files import FileBlobs
from callslip.build import AUDIT_FOLDER, LEDGER_FILE
from callslip.core.event import Stored
from callslip.ledgers.sqlite import SqliteLedger
from callslip.runtime.redact import Redactor
from callslip.testing.crash_leftovers import leftovers
from callslip.testing.crash_verdict import Findings, examine
from callslip.testing.crash_worker import BOUNDARIES, Done, Order
from callslip.testing.effects import SENT, EffectCounter

INSTANT = "instant"
_ROUNDS = 20


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One SIGKILL: at a failpoint's n-th hit, or after so many seconds."""

    at: str = INSTANT
    hit: int = 1
    after: float | None = None
    """Counted from the process's first failpoint, …"""
    opening: bool = False
    """… or from its very start."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One session: its processes are killed one after the other, then one is left alone."""

    variant: str
    kills: tuple[Kill, ...]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must not be, and the case that showed it."""

    case: Case
    what: str


class Report(msgspec.Struct, kw_only=True):
    """What was hit, and what came of it."""

    seed: int = 0
    cases: int = 0
    kills: int = 0
    missed: int = 0
    """Kills whose boundary or instant never came: the process had ended before."""
    boundaries: dict[str, dict[str, int]] = {}
    """Kills at named boundaries: boundary, variant, how many."""
    instants: dict[str, int] = {}
    """Kills at random instants, by the last boundary that was met before."""
    conclusions: dict[str, int] = {}
    """Rows of the crash table that were met, and what was concluded."""
    faults: list[Fault] = []
    seconds: float = 0.0

    def least_of_a_variant(self) -> int:
        """How often the rarest boundary was hit, of those that a variant meets."""
        return min((count for hits in self.boundaries.values() for count in hits.values()), default=0)

    def add(self, case: Case, ends: Sequence[Done], findings: Findings) -> None:
        """Take one case in."""
        self.cases += 1
        for kill, end in zip(case.kills, ends, strict=False):
            if not end.killed:
                self.missed += 1
                continue
            self.kills += 1
            if kill.at == INSTANT:
                self.instants[end.last] = self.instants.get(end.last, 0) + 1
            else:
                hits = self.boundaries.setdefault(kill.at, {})
                hits[case.variant] = hits.get(case.variant, 0) + 1
        self.conclusions = dict(Counter(self.conclusions) + findings.conclusions)
        self.faults += [Fault(case=case, what=what) for what in findings.faults]


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What an undisturbed process of a variant meets, and one that recovers from a kill amid an effect."""

    variant: str
    clean: dict[str, int]
    recovery: dict[str, int]
    seconds: float


class Harness:
    """Workers to fork victims from, and the counter of effects. A context manager; leaves no process behind.

    Args:
        target: a Python file.
        function: the scenario's function in it.
        folder: where runs live; each run's own folder is removed, and a copy kept of one that showed a fault. It may
            lie in memory: a kill leaves what was written, synced or not.
        workers: how many sessions at a time.
    """

    def __init__(self, target: Path, function: str, folder: Path, *, workers: int = 2) -> None:
        self._command = [
            sys.executable, "-c", "from callslip.testing.crash_worker import serve; serve()", str(target), function,
        ]  # fmt: skip
        self._folder = folder
        self._counter = EffectCounter(folder)
        self._workers: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._many = workers
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self._counter.__enter__()
        for _ in range(self._many):
            worker = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
            self._all.append(worker)
        for worker in self._all:
            assert worker.stdout is not None
            if worker.stdout.readline() != b"ready\n":
                self.close()
                raise RuntimeError(f"the target {self._command[-2]} could not be loaded; its error stands above")
            self._workers.put(worker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for worker in self._all:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.close()
            worker.wait()
            worker.stdout.close()
        self._all.clear()
        self._counter.close()

    def check(self, variants: Sequence[str], *, each: int = 1, random: int = 0, seed: int = 0) -> Report:
        """Kill at every boundary that each variant meets, ``each`` times, and at ``random`` instants over all of them.

        The cases depend on the seed alone; what a random instant meets does not.
        """
        began = time.monotonic()
        report = Report(seed=seed)
        dice = randomness.Random(seed)  # noqa: S311 - reproducible, not secret
        surveys = [self.survey(variant) for variant in variants]
        cases = [case for survey in surveys for case in boundary_cases(survey, dice, each=each)]
        dice.shuffle(cases)
        self.run(cases, report)
        for _ in range(_ROUNDS):
            self.run([case for survey in surveys for case in missed_cases(survey, report, each=each)], report)
        for _ in range(_ROUNDS):
            missing = random - sum(report.instants.values())
            if missing <= 0:
                break
            self.run([random_case(dice.choice(surveys), dice) for _ in range(missing)], report)
        report.seconds = round(time.monotonic() - began, 1)
        return report

    def survey(self, variant: str) -> Survey:
        """Run a variant undisturbed, and once with a kill amid its first effect."""
        with self._borrowed() as worker:
            with self._run_folder() as (folder, world):
                clean = self._order(worker, folder, world, variant, None)
                self._must_end(clean, folder)
            with self._run_folder() as (folder, world):
                self._order(
                    worker, folder, world, variant, Kill(at="dispatch.after" if SENT not in clean.counts else SENT)
                )
                recovery = self._order(worker, folder, world, variant, None)
                self._must_end(recovery, folder)
        return Survey(variant=variant, clean=clean.counts, recovery=recovery.counts, seconds=clean.seconds)

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """Run the cases, several at a time."""
        with ThreadPoolExecutor(self._many) as pool:
            for case, (ends, findings) in zip(cases, pool.map(self._case, cases), strict=True):
                report.add(case, ends, findings)

    def _case(self, case: Case) -> tuple[list[Done], Findings]:
        with self._borrowed() as worker, self._run_folder() as (folder, world):
            ends = [self._order(worker, folder, world, case.variant, kill) for kill in (*case.kills, None)]
            findings = self._examine(folder, world)
            findings.faults += [f"a process of {end.process} went on: {left}" for end in ends for left in end.left]
            findings.faults += leftovers(folder, ends[-1].process)
            if ends[-1].code:
                findings.faults.append(f"the last process failed: {_tail(folder)}")
            if findings.faults:
                shutil.copytree(folder, self._folder / f"fault-{folder.name}", dirs_exist_ok=True)
        return ends, findings

    def _examine(self, folder: Path, world: str) -> Findings:
        lines = (folder / "known").read_text().splitlines()
        known = {int(seq): text for seq, text in (line.split() for line in lines)}
        session, log = asyncio.run(_read(folder / "state" / LEDGER_FILE))
        findings = examine(session, log, self._counter.world(world).arrivals(), known)
        findings.faults += asyncio.run(_untold(folder / "state"))
        return findings

    def _order(
        self, worker: subprocess.Popen[bytes], folder: Path, world: str, variant: str, kill: Kill | None
    ) -> Done:
        order = Order(
            folder=str(folder),
            socket=str(self._counter.path),
            world=world,
            variant=variant,
            at=None if kill is None or kill.at == INSTANT else kill.at,
            hit=1 if kill is None else kill.hit,
            after=None if kill is None else kill.after,
            opening=kill is not None and kill.opening,
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(msgspec.json.encode(order) + b"\n")
        worker.stdin.flush()
        return msgspec.json.decode(worker.stdout.readline(), type=Done)

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[subprocess.Popen[bytes]]:
        worker = self._workers.get()
        try:
            yield worker
        finally:
            self._workers.put(worker)

    @contextlib.contextmanager
    def _run_folder(self) -> Iterator[tuple[Path, str]]:
        world = f"run-{next(self._numbers)}"
        folder = self._folder / world
        for name in ("workspace", "temporary"):
            (folder / name).mkdir(parents=True)
        try:
            yield folder, world
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _must_end(self, end: Done, folder: Path) -> None:
        if end.code:
            raise RuntimeError(f"an undisturbed run of the target failed: {_tail(folder)}")


def amid_effect(met: Mapping[str, int]) -> Kill:
    """The kill that leaves an outcome unknown: the effect took place, and nobody has heard of it."""
    return Kill(at=SENT if SENT in met else "dispatch.after")


def boundary_cases(survey: Survey, dice: randomness.Random, *, each: int) -> list[Case]:
    """A kill at each boundary the variant meets, ``each`` times, over its hits in turn; and at those that only a
    recovery meets, after a kill amid an effect. From 2 times on, every hit has its turn.
    """
    cases = []
    for name in BOUNDARIES:
        before: tuple[Kill, ...] = ()
        hits = survey.clean.get(name, 0)
        if not hits:
            before, hits = (amid_effect(survey.clean),), survey.recovery.get(name, 0)
        order = dice.sample(range(1, hits + 1), hits)
        for number in range((max(each, hits) if each > 1 else each) if hits else 0):
            kill = Kill(at=name, hit=order[number % hits])
            cases.append(Case(variant=survey.variant, kills=(*before, kill)))
    return cases


def missed_cases(survey: Survey, report: Report, *, each: int) -> list[Case]:
    """What is still missing, at a boundary's first hit: how calls share commits decides whether a later one comes."""
    cases = []
    for name in BOUNDARIES:
        if name in survey.clean or name in survey.recovery:
            before = () if name in survey.clean else (amid_effect(survey.clean),)
            case = Case(variant=survey.variant, kills=(*before, Kill(at=name)))
            cases += [case] * (each - report.boundaries.get(name, {}).get(survey.variant, 0))
    return cases


def random_case(survey: Survey, dice: randomness.Random) -> Case:
    """Kills at random instants: the first process, and now and then those that recover; a tenth while opening."""
    many = dice.choice((1, 1, 1, 2, 3))
    kills = [Kill(after=dice.uniform(0, survey.seconds), opening=dice.random() < 0.1) for _ in range(many)]
    return Case(variant=survey.variant, kills=tuple(kills))


async def _read(path: Path) -> tuple[str, Sequence[Stored]]:
    ledger = SqliteLedger(path)
    try:
        (head,) = await ledger.heads()
        return head.session, await ledger.read(head.session)
    finally:
        await ledger.aclose()


async def _untold(state: Path) -> list[str]:
    """What the audit does not tell, or not as the log does, now that all has come to rest."""
    ledger = SqliteLedger(state / LEDGER_FILE)
    try:
        report = await verify(ledger, FileBlobs(state / "blobs"), state / AUDIT_FOLDER, Redactor(), anchors=[])
    finally:
        await ledger.aclose()
    return [f"the audit: {found}" for found in (*(problem.message for problem in report.problems), *report.notices)]


def _tail(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return (folder / "errors").read_text()[-2000:]
    return "it said nothing"
