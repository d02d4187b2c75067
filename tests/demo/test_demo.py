"""The demo as a reader runs it: as a process, without a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from callslip.testing.chat_server import ChatServer, Says

ROOT = Path(__file__).parents[2]


def demo(tmp_path, *options, **variables):
    # The test runner may say that the screen is narrow; the demo would then break lines that are looked for here.
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "100"}
    environment |= variables
    return subprocess.run(
        [sys.executable, "-m", "demo", "--seed", "7", *options],
        check=False,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_every_claim_holds(tmp_path):
    done = demo(tmp_path, "--keep")
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert done.stderr == ""
    assert "\x1b" not in said
    assert said.count("✖ SIGKILL") >= 2
    assert said.count("exit status -9") >= 4
    assert "scripted replies in Chat Completions form; no model was asked" in said
    assert said.count("“ scripted reply") == 5
    assert "mara $ callslip inbox --state ../state" in said
    assert re.search(r"mara \$ callslip approve appr_\w+ --yes", said)
    assert "the worker did not pay: the bank counts nothing" in said
    assert said.index("the worker did not pay") < said.index("the question says why") < said.index("$ callslip approve")
    assert "pay_invoice     by its probe: charge CH-0001" in said
    assert "mara becomes lara" in said
    assert re.search(r"exit code 5, and it names entry \d+", said)
    assert "parked      send_letter" in said
    assert "1 charge, EUR 1,840.00, settled by its probe" in said
    assert "\n  ✗" not in said
    (folder,) = tmp_path.glob("callslip-demo-*")
    assert f"kept: {folder}" in said
    assert (folder / "state" / "ledger.db").is_file()


@pytest.mark.parametrize(
    ("sabotage", "missed"),
    [
        (
            "no-keys",
            "the worker did not pay: the bank counts nothing, nothing was dispatched (NOT SO: saw ((1, 184000)",
        ),
        ("double-charge", "the bank counts one charge of EUR 1,840.00 (NOT SO: saw (2, 368000)"),
        ("lying-probe", "it was dispatched once: nothing was sent again (NOT SO: saw 2"),
    ],
)
def test_a_claim_that_does_not_hold_fails_the_demo(tmp_path, sabotage, missed):
    done = demo(tmp_path, "--sabotage", sabotage)
    assert done.returncode == 1, done.stdout + done.stderr
    assert missed in " ".join(done.stdout.split())
    assert "\n  ✗" in done.stdout
    assert not list(tmp_path.glob("callslip-demo-*"))


def test_a_live_model_is_asked_and_its_replies_kept(tmp_path):
    """And all goes well up to a log that was not altered, though the story says so: one claim does not hold."""
    script = []
    for line in (ROOT / "demo" / "replies" / "office.jsonl").read_text().splitlines():
        message = json.loads(line)["body"]["choices"][0]["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]
        script.append(Says(message["content"], calls))
    with ChatServer(script) as server:
        kept = tmp_path / "kept.jsonl"
        options = ("--model", "small", "--record", str(kept), "--sabotage", "no-flip")
        done = demo(tmp_path, *options, OPENAI_BASE_URL=server.base_url)
        assert done.returncode == 1, done.stdout + done.stderr
        assert done.stdout.count("NOT SO") == 1, done.stdout
        assert "and no other (NOT SO: saw (0, set())" in done.stdout
        assert "“ live reply of small 5" in done.stdout
        assert "scripted" not in done.stdout
        assert len(server.requests) == 5
    assert len(kept.read_text().splitlines()) == 5


def test_a_model_that_never_pays_fails_the_demo(tmp_path):
    with ChatServer([Says("I would rather not.")]) as server:
        done = demo(tmp_path, "--model", "small", OPENAI_BASE_URL=server.base_url)
    assert done.returncode == 1
    assert "the agent called pay_invoice (NOT SO: saw 'the session ended without it'" in " ".join(done.stdout.split())


def test_a_key_needs_a_terminal(tmp_path):
    done = demo(tmp_path, "--interactive")
    assert done.returncode == 2
    assert "--interactive needs a terminal" in done.stderr


def test_the_viewer_approves_in_a_second_terminal_and_kills_with_a_key(tmp_path):
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "100"}
    command = [sys.executable, "-m", "demo", "--seed", "7", "--interactive", "--pace", "0", "--no-color"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    said, answered = "", None
    try:
        while (piece := read(controller)) is not None:
            said += piece
            if "Waiting for your answer" in said and answered is None:
                line = re.search(r"^XDG_CONFIG_HOME=\S+ \S+ approve .*$", said, re.MULTILINE)[0].strip()
                answered = subprocess.run(
                    ["bash", "-c", f"{line} --yes"], cwd=tmp_path, capture_output=True, text=True, check=False
                )
                assert answered.returncode == 0, answered.stdout + answered.stderr
            if said.count("Press any key") > said.count("✖ SIGKILL"):
                os.write(controller, b"k")  # pressed again while it is not heard: a prompt drops what came before it
        assert process.wait(100) == 0, said
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    assert said.count("Press any key") >= 2
    assert "the signature is hers" in said


def read(controller):
    """What the terminal shows next, if anything; ``None`` once its program has ended."""
    try:
        return (
            os.read(controller, 65536).decode(errors="replace") if select.select([controller], [], [], 0.5)[0] else ""
        )
    except OSError:
        return None
