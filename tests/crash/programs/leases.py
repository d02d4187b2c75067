"""Processes that share one file of leases, and are killed at random; or a crowd of them that wants one path.

    python leases.py FOLDER history PROCESSES TIMES SEED EVERY
    python leases.py FOLDER crowd PROCESSES WAITERS

Whoever holds something writes it on a board in shared memory, and looks there whether anybody alive holds what can't be
held beside it. Alive is whose lock, of the board's own, is taken: the authority's own idea of it is not trusted. Prints
what was seen as JSON. Every process goes on from where it was killed, so that all of them come to their end only if no
wake-up is ever lost.
"""

import asyncio
import contextlib
import fcntl
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
from pathlib import Path

from callslip.authorities.resources import Resources
from callslip.authorities.shared import SharedAuthority
from callslip.core.claim import Kind, wanted
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.authority import Capacity, Holder

LANES = 2
"""Callers in each process."""
FEW = 2
CELLS = ("a", "b", "d/x", "d/y", "browser", "terminal", "few")
FILES = frozenset({"a", "b", "d/x", "d/y"})
HOLDS = {
    "file:a": {"a"}, "read file:a": {"a"}, "file:link": {"a"}, "read file:d/../A": {"a"}, "file:b": {"b"},
    "file:hard": {"b"}, "file:d/x": {"d/x"}, "read file:d/y": {"d/y"}, "file:to_d/y": {"d/y"},
    "tree:d": {"d/x", "d/y"}, "read tree:to_d": {"d/x", "d/y"}, "read tree:.": FILES, "tree:/": FILES,
    "browser": {"browser"}, "read browser": {"browser"}, "terminal": {"terminal"}, "slot:few": {"few"},
}  # fmt: skip
"""What each claim holds."""
SHARED, ALONE = 1, 2
COUNT = struct.Struct("<qqqd")
"""Of each caller: acquisitions, those that had to wait, those it gave up, and its longest wait in seconds."""
STUCK = 120.0
"""Seconds without any progress, after which we say so."""


class Board:
    """Shared by all; made before anybody is forked."""

    def __init__(self, folder, processes):
        self.folder, self.callers = folder, processes * LANES
        self._marks = len(CELLS) * self.callers
        self.memory = mmap.mmap(-1, self._marks + COUNT.size * self.callers)

    def begin(self, process):
        """What an earlier life has left is wiped before its lock is taken anew."""
        for lane in range(LANES):
            for cell in range(len(CELLS)):
                self.memory[self._place(cell, process * LANES + lane)] = 0
        self._lock = os.open(self._alive(process), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _alive(self, process):
        return self.folder / f"alive-{process}"

    def _place(self, cell, caller):
        return cell * self.callers + caller

    def mark(self, caller, held):
        for cell, mode in held.items():
            self.memory[self._place(cell, caller)] = mode

    def wipe(self, caller, held):
        for cell in held:
            self.memory[self._place(cell, caller)] = 0

    def look(self, caller, held):
        """Whether anybody alive holds what can't be held beside this."""
        for cell, mode in held.items():
            others = [other for other in range(self.callers) if other != caller and self._holds(cell, other, mode)]
            if len(others) >= (FEW if CELLS[cell] == "few" else 1):
                self.violation(f"{CELLS[cell]} is held by {caller} and by {others}")

    def _holds(self, cell, other, mode):
        place = self._place(cell, other)
        if not self.memory[place] or (mode == SHARED and self.memory[place] == SHARED):
            return False
        with open(self._alive(other // LANES), "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                theirs = self.memory[place]
                return bool(theirs) and not (mode == SHARED and theirs == SHARED)
        return False

    def violation(self, text):
        with open(self.folder / "violations", "a") as file:
            file.write(f"{time.clock_gettime(time.CLOCK_BOOTTIME):.6f} {text}\n")

    def counts(self, caller):
        return COUNT.unpack_from(self.memory, self._marks + COUNT.size * caller)

    def count(self, caller, **more):
        times, waits, given_up, longest = self.counts(caller)
        values = (
            times + more.get("granted", 0),
            waits + more.get("waited", 0),
            given_up + more.get("given_up", 0),
            max(longest, more.get("seconds", 0.0)),
        )
        COUNT.pack_into(self.memory, self._marks + COUNT.size * caller, *values)


def authority(folder, owners):
    return SharedAuthority(folder / "resources.db", owners, {"few": Capacity(at_once=FEW)})


def held_by(texts):
    held = {}
    for text in texts:
        for name in HOLDS[text]:
            cell = CELLS.index(name)
            mode = SHARED if wanted(text).shared or wanted(text).kind is Kind.SLOT else ALONE
            held[cell] = max(held.get(cell, 0), ALONE if name == "few" else mode)
    return held


async def caller(board, shared, resources, number, times, luck):
    while board.counts(number)[0] < times:
        texts = luck.sample(sorted(HOLDS), luck.choice((1, 1, 2)))
        held, claims = held_by(texts), [resources.claim(text) for text in texts]
        holder = Holder(session=str(number), call_id="c", tool="t", process=os.getpid())
        began, patience = time.monotonic(), luck.choice((None, None, None, None, luck.random() * 0.03))
        try:
            async with asyncio.timeout(patience) as limit:
                async with shared.holding(claims, holder, lambda _: None) as grant:
                    limit.reschedule(None)
                    seconds = time.monotonic() - began
                    board.mark(number, held)
                    board.look(number, held)
                    await asyncio.sleep(luck.choice((0, 0, 0, 0.001)))
                    board.look(number, held)
                    board.wipe(number, held)
        except TimeoutError:
            board.count(number, given_up=1)
        else:
            board.count(number, granted=1, waited=grant.waited, seconds=seconds)


async def life(board, folder, process, times, seed):
    owners = OwnerLocks(folder)
    shared, resources = authority(folder, owners), Resources(folder / "work")
    callers = [process * LANES + lane for lane in range(LANES)]
    await asyncio.gather(
        *(caller(board, shared, resources, one, times // LANES, random.Random(f"{seed} {one}")) for one in callers)
    )
    await shared.aclose()
    owners.close()


def forked(work):
    """A process that does this and nothing else."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return pid


def begun(board, folder, process, times, seed):
    def work():
        board.begin(process)
        asyncio.run(life(board, folder, process, times, f"{seed} {time.monotonic_ns()}"))

    return forked(work)


def history(folder, processes, times, seed, every):
    """``every`` so many milliseconds, more or less, somebody is killed."""
    work = folder / "work"
    (work / "d").mkdir(parents=True)
    for name in ("a", "b", "d/x", "d/y"):
        (work / name).touch()
    (work / "link").symlink_to("a")
    (work / "to_d").symlink_to("d")
    os.link(work / "b", work / "hard")
    board, luck = Board(folder, processes), random.Random(seed)
    running = {begun(board, folder, process, times, seed): process for process in range(processes)}
    kills = failed = 0
    stuck, moved, progress, log = False, time.monotonic(), 0, 0
    began = time.monotonic()
    next_kill = began + luck.random() * every / 1000
    while running and not stuck:
        time.sleep(luck.random() * 0.1)
        if time.monotonic() >= next_kill:
            next_kill += luck.random() * 2 * every / 1000
            os.kill(luck.choice(sorted(running)), signal.SIGKILL)
        for pid in list(running):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if not gone:
                continue
            process = running.pop(pid)
            if os.WIFSIGNALED(status):
                kills += 1
                running[begun(board, folder, process, times, f"{seed} {kills}")] = process
            else:
                failed += status != 0
        for path in folder.glob("resources*-wal"):
            with contextlib.suppress(FileNotFoundError):
                log = max(log, path.stat().st_size)
        counted = sum(board.counts(one)[0] for one in range(board.callers))
        if counted != progress:
            moved, progress = time.monotonic(), counted
        stuck = time.monotonic() - moved > STUCK
    seconds = time.monotonic() - began
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    counts = [board.counts(one) for one in range(board.callers)]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    violations = folder / "violations"
    return {
        "processes": processes,
        "acquisitions": sum(one[0] for one in counts),
        "waited": sum(one[1] for one in counts),
        "given_up": sum(one[2] for one in counts),
        "longest_wait_s": round(max(one[3] for one in counts), 2),
        "kills": kills,
        "failed": failed,
        "stuck": stuck,
        "violations": violations.read_text().splitlines() if violations.exists() else [],
        "left_in_line": asyncio.run(left(folder)),
        "log_bytes_at_most": log,
        "seconds": round(seconds, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
    }


async def left(folder):
    """How many stand in the line after one has had everything."""
    owners = OwnerLocks(folder)
    shared, resources = authority(folder, owners), Resources(folder / "work")
    everything = [resources.claim(text) for text in ("tree:/", "browser", "terminal")]
    async with shared.holding(everything, Holder(session="s", call_id="c", tool="t"), lambda _: None):
        pass
    # Who was killed holding or wanting a slot only is swept when somebody next waits, as here.
    slots = [resources.claim("slot:few")]
    async with shared.holding(slots, Holder(session="s", call_id="c", tool="t"), lambda _: None):
        await shared._sweep()
    found = len(shared.standing())
    shared.close()
    owners.close()
    return found


def crowd(folder, processes, waiters):
    (folder / "work").mkdir()
    reports, report = os.pipe()
    begin, let_begin = os.pipe()
    pids = [forked(lambda: one_of_crowd(folder, waiters, begin, report)) for _ in range(processes)]
    figures = asyncio.run(released(folder, processes * waiters, lambda: os.write(let_begin, b"x" * processes)))
    os.close(report)
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    with open(reports) as file:
        cpu = sorted(float(line) for line in file)
    return figures | {
        "processes": processes,
        "waiters": processes * waiters,
        "failed": failed,
        "cpu_ms_each": {"median": round(cpu[len(cpu) // 2] * 1e3, 1), "most": round(cpu[-1] * 1e3, 1)} if cpu else {},
    }


def one_of_crowd(folder, waiters, begin, report):
    os.read(begin, 1)
    owners = OwnerLocks(folder)
    shared = authority(folder, owners)
    claims = [Resources(folder / "work").claim("file:wanted")]
    cpu = time.process_time()

    async def one(number):
        holder = Holder(session=str(os.getpid()), call_id=str(number), tool="t", process=os.getpid())
        async with shared.holding(claims, holder, lambda _: None):
            with open(folder / "work" / "wanted", "r+") as file:  # a lost update shows
                count = int(file.read())
                await asyncio.sleep(0)
                file.seek(0)
                file.write(str(count + 1))

    async def all_of_them():
        await asyncio.gather(*(one(number) for number in range(waiters)))

    asyncio.run(all_of_them())
    os.write(report, f"{time.process_time() - cpu}\n".encode())
    shared.close()
    owners.close()


async def released(folder, expected, begin):
    """Hold it until everybody waits for it; then let go, and wait until everybody had it."""
    owners = OwnerLocks(folder)
    shared, resources = authority(folder, owners), Resources(folder / "work")
    (folder / "work" / "wanted").write_text("0")
    claims = [resources.claim("file:wanted")]
    async with shared.holding(claims, Holder(session="s", call_id="c", tool="t"), lambda _: None):
        began = time.monotonic()
        begin()
        while len(shared.standing()) <= expected:
            await asyncio.sleep(0.05)
        gathered = time.monotonic() - began
    began = time.monotonic()
    while shared.standing():
        await asyncio.sleep(0.01)
    seconds = time.monotonic() - began
    await shared.aclose()
    owners.close()
    return {
        "had_it": int((folder / "work" / "wanted").read_text()),
        "seconds_to_gather": round(gathered, 2),
        "seconds_for_all": round(seconds, 2),
    }


if __name__ == "__main__":
    told = [int(one) for one in sys.argv[3:]]
    print(json.dumps({"history": history, "crowd": crowd}[sys.argv[2]](Path(sys.argv[1]), *told)))
