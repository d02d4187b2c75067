"""Every snippet of the documentation runs, page by page, in a folder of its own.

A Python block whose first line is ``# name.py`` is a file that the reader makes: it is written, not run. Any other
Python block is run; blocks of one page share their names. In a console block each line that begins with ``$`` is run by
the shell; what follows must be its output, where ``...`` stands for anything; ``# exit code N`` after a command is the
exit code it must have. A block in ``toml`` whose first line is a comment with a file's name is written too. A page of
``FOLDERS`` stands in a folder of the clone: it gets a copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
SELDOM = re.compile(r"\s+# exit code (\d+)$")
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml))$")
FOLDERS = {"docs/learn/hundreds-of-tools.md": "examples/five_hundred_tools"}

RUN = PythonEvaluator()


class Files(CodeBlockParser):
    """Blocks that are files."""

    def evaluate(self, example: Example) -> None:
        first = example.parsed.split("\n", 1)[0]
        name = FILE.match(first)
        if name is not None:
            Path(name[1]).write_text(example.parsed)
        elif self.language == "python":
            RUN(example)


class Console(CodeBlockParser):
    """Commands with what they print."""

    language = "console"

    def evaluate(self, example: Example) -> None:
        for command, wanted in commands(example.parsed):
            code = SELDOM.search(command)
            shell = SELDOM.sub("", command)
            done = subprocess.run(
                ["bash", "-c", f"{shell}\nexit $?"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env={
                    **os.environ,
                    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                    "NO_COLOR": "1",
                    "PYTHONIOENCODING": "utf-8",
                },
            )
            said = done.stdout + done.stderr
            assert done.returncode == (int(code[1]) if code else 0), f"{command}\n{said}"
            if wanted:
                pattern = ".*".join(map(re.escape, re.split(r"\.\.\.\n?", wanted.strip())))
                assert re.search(pattern, said, re.DOTALL), f"{command}\nsaid:\n{said}\nand not:\n{wanted}"


def commands(text: str) -> list[tuple[str, str]]:
    """Each command with the output that stands beneath it."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def parsed(page: str) -> Document:
    files = [Files(language="python"), Files(language="toml")]
    return Sybil([*files, Console()], pattern="*.md", path=str(ROOT)).parse(ROOT / page)


@pytest.mark.parametrize("page", PAGES)
def test_snippets_of_the_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config-home"))
    if page in FOLDERS:
        shutil.copytree(
            ROOT / FOLDERS[page], tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    document = parsed(page)
    for example in document.examples():
        example.evaluate()
