"""One durable step with a no-op effect: Callslip beside DBOS, LangGraph, Absurd and Restate, on one machine.

    python bench/peers.py [--trace] [--kill] [--peer NAME]... [--rounds 3] [--env-dir DIR] [--data-dir DIR]

Each peer is a script of bench/peers/ that runs a workflow of --steps steps and prints a line of JSON; the
peers take turns for --rounds rounds, and the round with the middle median is reported, with its ratio to
Callslip's. Other work on the machine makes every sync wait for a processor, and whoever syncs twice waits
twice; so the load before and after is in the document, and so is the ratio of each one's quickest round,
the least disturbed one (`best_ratio_to_callslip`). Each peer has a virtual environment of its own under
--env-dir, made from bench/peers/requirements-PEER.txt and, where there is one, npm-PEER.txt. A peer that
cannot be installed or run is reported as skipped, with the reason.

Durability is to be equal: every committed record is synced to the disk. Each script sets or reads back the
settings that say so, and --trace measures it: it runs each peer once more, under strace, and counts the
fsync and fdatasync calls of the measured steps, those of the engine's server included (strace slows the
run, so its times are not used). --kill makes each peer's effect real, kills the process before the step is
recorded, lets the engine recover, and counts the effects. The document also has the time of one 4 KiB append
with fdatasync on the same disk, the floor under all of these figures.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "peers"
OWN = "callslip"
PEERS = (OWN, "dbos", "dbos-as-shipped", "langgraph", "absurd", "restate")
VARIANTS = {"dbos-as-shipped": ("dbos", {"CALLSLIP_BENCH_AS_SHIPPED": "1"})}
TRACED_STEPS = 100
TEMPORARY = "callslip-bench-"

Result = dict[str, Any]


class SkippedError(Exception):
    """Why a peer has no figure."""


def run(command: list[Any], *, timeout: float, env: dict[str, str] | None = None) -> str:
    """Run a program in a process group of its own; its output, or the last lines it wrote as the reason."""
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise SkippedError(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        end_group(process)
        raise SkippedError(f"no result within {timeout:.0f} s") from error
    if process.returncode != 0:
        raise SkippedError(f"exit {process.returncode}: " + " | ".join(errors.strip().splitlines()[-2:]))
    return output


def end_group(process: subprocess.Popen[str]) -> None:
    """End a program and the servers it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        time.sleep(5)
    process.communicate()


def python_for(peer: str, env_dir: Path) -> Path:
    """The interpreter of the peer's environment, which is made anew when its pins have changed."""
    if peer == OWN:
        return Path(sys.executable)
    name = VARIANTS.get(peer, (peer, {}))[0]
    folder = env_dir / name
    python, stamp = folder / "bin" / "python", folder / "pins"
    requirements, packages = SCRIPTS / f"requirements-{name}.txt", SCRIPTS / f"npm-{name}.txt"
    pins = [path.read_text() for path in (requirements, packages) if path.exists()]
    digest = hashlib.sha256("".join([sys.version, *pins]).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return python
    print(f"making the environment of {name}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    run([python, "-m", "pip", "install", "--quiet", "-r", requirements], timeout=900)
    if packages.exists():
        if shutil.which("npm") is None:
            raise SkippedError("npm is absent")
        npm = [
            "npm",
            "install",
            "--ignore-scripts",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
            folder,
        ]
        run([*npm, *packages.read_text().split()], timeout=900)
    stamp.write_text(digest)
    return python


def call(peer: str, mode: str, args: argparse.Namespace, *, steps: int, prefix: list[Any]) -> Result:
    """Run a peer's script in an empty folder of the data disk; the last line it prints is its result."""
    name, env = VARIANTS.get(peer, (peer, {}))
    python = python_for(peer, args.env_dir)
    with tempfile.TemporaryDirectory(dir=args.data_dir, prefix=TEMPORARY) as folder:
        os.chmod(folder, 0o711)  # a server that does not run as root must reach its own folder in it
        script = [python, SCRIPTS / f"{name}_step.py", mode, "--dir", folder, "--steps", steps]
        output = run([*prefix, *script, "--warmup", args.warmup], timeout=300, env=env)
    result: Result = json.loads(output.strip().splitlines()[-1])
    return result


def measure(peers: list[str], args: argparse.Namespace) -> dict[str, Result]:
    """The peers take turns; of each the round with the middle median is kept."""
    rounds: dict[str, list[Result]] = {peer: [] for peer in peers}
    skipped: dict[str, Result] = {}
    for _ in range(args.rounds):
        for peer in [peer for peer in peers if peer not in skipped]:
            try:
                rounds[peer].append(call(peer, "step", args, steps=args.steps, prefix=[]))
            except Exception as error:
                skipped[peer] = {"peer": peer, "skipped": str(error) or repr(error)}
    results = skipped
    for peer in [peer for peer in peers if peer not in skipped]:
        ordered = sorted(rounds[peer], key=lambda result: float(result["median_us"]))
        results[peer] = ordered[(len(ordered) - 1) // 2]
        del results[peer]["window"]
        results[peer]["medians_us"] = [result["median_us"] for result in ordered]
    return results


def traced(peer: str, args: argparse.Namespace) -> Result:
    """Count the syncs between the first and the last measured effect, by the kind of file."""
    with tempfile.NamedTemporaryFile(prefix=TEMPORARY, suffix=".strace") as log:
        strace = ["strace", "-f", "--seccomp-bpf", "-ttt", "-y", "-e", "trace=fsync,fdatasync", "-o", log.name]
        result = call(peer, "step", args, steps=TRACED_STEPS, prefix=strace)
        start, end = result["window"]
        kinds: Counter[str] = Counter()
        for line in Path(log.name).read_text(errors="replace").splitlines():
            found = re.match(r"\d+ +(\d+\.\d+) (fsync|fdatasync)\(\d+<(.*?)>", line)
            if found and start <= float(found[1]) < end:
                kinds[f"{found[2]} {kind(Path(found[3]))}"] += 1
    return {"per_step": round(kinds.total() / TRACED_STEPS, 2), "by_file_kind": dict(kinds)}


def kind(path: Path) -> str:
    """`sqlite-wal`, `pg_wal`, `log`...: a file's extension or its folder's name, without what is random in it."""
    if path.name.startswith(TEMPORARY):
        return "folder"
    return path.suffix.lstrip(".") or path.parent.name


def attempt(action: Any, *args: Any, **options: Any) -> Any:
    try:
        return action(*args, **options)
    except Exception as error:
        return {"skipped": str(error) or repr(error)}


def disk_floor(folder: Path) -> Result:
    """What one durable append costs on this disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        times = []
        for _ in range(300):
            file.write(b"x" * 4096)
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start) * 1e6)
    return {"fdatasync_median_us": round(statistics.median(times), 1)}


def document(args: argparse.Namespace) -> Result:
    peers = args.peer or list(PEERS)
    load = round(os.getloadavg()[0], 1)
    results = measure(peers, args)
    alive = [peer for peer in peers if "skipped" not in results[peer]]
    for peer in alive if args.trace else []:
        absent = {"skipped": "strace is absent"}
        results[peer]["syncs"] = attempt(traced, peer, args) if shutil.which("strace") else absent
    for peer in alive if args.kill else []:
        outcome = attempt(call, peer, "kill", args, steps=1, prefix=[])
        results[peer]["kill"] = {key: value for key, value in outcome.items() if key != "peer"}
    own = results.get(OWN, {})
    for peer in alive:
        if "median_us" in own and peer != OWN:
            results[peer]["ratio_to_callslip"] = round(results[peer]["median_us"] / own["median_us"], 2)
            best = results[peer]["medians_us"][0] / own["medians_us"][0]
            results[peer]["best_ratio_to_callslip"] = round(best, 2)
    return {
        "disk": attempt(disk_floor, args.data_dir),
        "cpus": os.cpu_count(),
        "load": {"before": load, "after": round(os.getloadavg()[0], 1)},
        "peers": [results[peer] for peer in peers],
    }


def parse() -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description="Compare one durable step of Callslip with its peers'.")
    parser.add_argument("--peer", action="append", choices=PEERS, help="only this one; may be repeated")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trace", action="store_true", help="count fsync and fdatasync with strace")
    parser.add_argument("--kill", action="store_true", help="count a step's effects across a crash")
    parser.add_argument("--env-dir", type=Path, default=cache / "callslip-bench", help="the environments")
    parser.add_argument("--data-dir", type=Path, default=Path("/var/tmp"), help="on a real disk, not in memory")
    return parser.parse_args()


def main() -> None:
    args = parse()
    args.env_dir.mkdir(parents=True, exist_ok=True)
    print(json.dumps(document(args), indent=2))


if __name__ == "__main__":
    main()
