"""The application that is attacked: it pays, once a person has agreed, and it runs whatever program it is told to.

The bank is a process outside (``BANK``: its socket, and the name of the test's world). The user's words are calls, one a
line: a tool's name and its arguments.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import rates  # a module of the project beside this one

from callslip import Context, Runtime, tool
from callslip.core.message import UserText
from callslip.providers.scripted import Scripted, calling, saying
from callslip.testing.effects import Effects


def bank():
    socket, _, world = os.environ["BANK"].rpartition(" ")
    return Effects(Path(socket), world)


@tool(risk="dangerous", recovery="never", local_effect=True)
def pay(to: str, amount: int, context: Context) -> str:
    """Pay somebody."""
    bank().take(context, "pay", target=to, value=str(amount))
    if to == "nobody":
        raise RuntimeError("the line went dead")
    return f"paid {amount * rates.ONE} to {to}"


@tool(risk="write", recovery="never", local_effect=True, timeout=60)
def shell(argv: list[str]) -> str:
    """Run a Python program."""
    done = subprocess.run(
        [sys.executable, *argv], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@tool(risk="dangerous", client_owned=True)
def sign(document: str) -> str:
    """Have the client sign a document."""


def obey(request):
    last = request.messages[-1]
    if not isinstance(last, UserText):
        return saying("Done.")
    calls = [line.partition(" ") for line in last.text.splitlines()]
    return calling(*[(name, json.loads(rest)) for name, _, rest in calls])


rt = Runtime(tools=[pay, shell, sign], model=Scripted([obey] * 100))
