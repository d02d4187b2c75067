"""What it costs to begin: the import, the command line, the first tool, the installed files.

    python bench/start.py [--rounds 9] [--no-install]

CPU is the resource usage of a fresh interpreter that does just that, the interpreter's own start included; the figures
are medians over rounds in which all take turns. The bare interpreter stands beside them. Bytecode is cached, as after
any first start, in a folder of this script's own. `import callslip` loads all
of it but what only some uses need (an HTTP client, pydantic); so the import of the usual names is measured too, and a
whole small program: a tool declared, a runtime opened in memory, one call dispatched.

The size is that of all files in site-packages after `pip install` of this repository, with its dependencies and without
extras, in a fresh environment, less pip and setuptools, before anything has been compiled to bytecode; with bytecode
it stands beside it.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

from measure import Figures, at_most, middle

REPOSITORY = Path(__file__).resolve().parent.parent
PROGRAM = """
import asyncio
from callslip import Runtime, tool

@tool(risk="read")
async def noop(number: int) -> int:
    "Does nothing."
    return number

async def main():
    async with Runtime(tools=[noop]) as runtime:
        await runtime.dispatch([{"name": "noop", "arguments": {"number": 1}}], session="s", step="1")

asyncio.run(main())
"""
COMMANDS = {
    "bare_interpreter": ["-c", "pass"],
    "import_callslip": ["-c", "import callslip"],
    "import_names": ["-c", "from callslip import Runtime, tool"],
    "program_with_one_call": ["-c", PROGRAM],
    "callslip_help": ["-m", "callslip.cli.main", "--help"],
}
LIMITS_MS = {"import_callslip": 150, "import_names": 150, "callslip_help": 250}


def cpu_ms(arguments: list[str], environment: Mapping[str, str]) -> float:
    """CPU milliseconds of one interpreter with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def starts(rounds: int) -> Figures:
    there = {name: one for name, one in COMMANDS.items() if name != "callslip_help" or has_command_line()}
    seen: dict[str, list[float]] = {name: [] for name in there}
    with tempfile.TemporaryDirectory(prefix="callslip-bench-") as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        for arguments in there.values():
            cpu_ms(arguments, environment)  # fills the cache
        for _ in range(rounds):
            for name, arguments in there.items():
                seen[name].append(cpu_ms(arguments, environment))
    figures: Figures = {name: {"cpu_ms": middle(times), "best": round(min(times), 1)} for name, times in seen.items()}
    for name, limit in LIMITS_MS.items():
        figures[name] = at_most(middle(seen[name]), limit) | figures[name] if name in seen else {"skipped": "not there"}
    return figures


def has_command_line() -> bool:
    return importlib.util.find_spec("callslip.cli.main") is not None


def installed() -> Figures:
    """Install into a fresh environment and add up what is there."""
    with tempfile.TemporaryDirectory(prefix="callslip-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", str(REPOSITORY)]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            return {"skipped": " | ".join(done.stderr.strip().splitlines()[-2:])}
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        sizes = {entry.name: tree_bytes(entry) for entry in packages.iterdir() if not is_installer(entry.name)}
        subprocess.run([python, "-m", "compileall", "-q", packages], check=False, stdout=subprocess.DEVNULL)
        compiled = sum(tree_bytes(entry) for entry in packages.iterdir() if not is_installer(entry.name))
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    size = at_most(round(sum(sizes.values()) / 1e6, 1), 60)
    return size | {
        "with_bytecode_mb": round(compiled / 1e6, 1),
        "largest_mb": {name: round(count / 1e6, 1) for name, count in largest},
    }


def is_installer(name: str) -> bool:
    return name.startswith(("pip", "setuptools", "_distutils_hack", "distutils-precedence", "pkg_resources"))


def tree_bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum((Path(folder) / name).stat().st_size for folder, _, names in os.walk(path) for name in names)


def document(*, rounds: int, install: bool) -> Figures:
    size = installed() if install else {"skipped": "--no-install"}
    return {"cpu": starts(rounds), "core_install_mb": size}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what it costs to import, start and install Callslip.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-install", action="store_true", help="skip the fresh environment")
    args = parser.parse_args()
    print(json.dumps(document(rounds=args.rounds, install=not args.no_install), indent=2))


if __name__ == "__main__":
    main()
