"""With a key in force: what a tool, or any process of the account, may try against the project, and what comes of it.

Everything is real: the project, its accepted files, keys locked by passphrases, the command line in processes of its
own, a bank that counts outside. The attack runs as a child of a tool (``programs/attack.py``), inside a process that
drives, while payments wait for an approver in other sessions. Each one has its control: what is put back where that is
needed, the approver says yes with her passphrase, and exactly that payment is made, once.
"""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callslip.trust.keys import LEAST, make_key

pytestmark = [pytest.mark.requirement("APPR-08"), pytest.mark.requirement("GATE-09")]

PROGRAMS = Path(__file__).with_name("programs")
COMMAND = Path(sys.executable).with_name("callslip")
TOML = """\
app = "app:rt"
workspace = "work"
[policy]
"tool.pay" = "ask"
"tool.shell" = "allow"
"""
WORDS = {"olga": "what olga knows", "anna": "what anna knows", "cara": "what cara knows"}
PLACES = ("project", "state", "config")


class House:
    """A project, its state folder and its people's keys, which can be put back as they were."""

    def __init__(self, folder):
        self.folder = folder
        self.project = folder / "project"
        self.work = self.project / "work"
        self.keys = folder / "config" / "callslip" / "keys"
        self.effects = None
        self.out = ""

    def __call__(self, *words, by="", code=0, **sets):
        """Give a command, with somebody's key and passphrase or as a process of the account can; what it said."""
        done = subprocess.run(
            [COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True,
            cwd=self.project, env=self.environment(by) | sets,
        )  # fmt: skip
        (self.folder / "passphrase").unlink(missing_ok=True)
        self.out = done.stdout
        said = " ".join((done.stdout + done.stderr).split())
        assert code is None or done.returncode == code, (words, done.returncode, said)
        assert "Traceback" not in said
        return said

    def environment(self, by=""):
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "200",
            "XDG_STATE_HOME": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder / "config"),
            "BANK": f"{self.effects.path} {self.effects.world}", "LOOT": str(self.folder / "loot"),
        }  # fmt: skip
        if by:
            secret = self.folder / "passphrase"
            secret.touch(0o600)
            secret.write_text(WORDS[by])
            env |= {"CALLSLIP_KEY": by, "CALLSLIP_PASSPHRASE_FILE": str(secret)}
        return env

    @property
    def state(self):
        (found,) = (self.folder / "state" / "callslip").iterdir()
        return found

    def build(self):
        self.work.mkdir(parents=True)
        shutil.copy(PROGRAMS / "attacked.py", self.project / "app.py")
        (self.project / "rates.py").write_text("import sched\n\nONE = 1\n")
        (self.project / "callslip.toml").write_text(TOML)
        self.keys.mkdir(parents=True, mode=0o700)
        for name, words in WORDS.items():
            make_key(self.keys / f"{name}.key", name, passphrase=words, cost=LEAST)
        self("enrol", "olga", "--role", "operator", by="olga")
        self("enrol", "anna", "--role", "approver", by="olga")
        self("enrol", "cara", "--role", "caller", by="olga")
        self("trust", "--yes", by="olga")
        self.ask("plumb", ("plumber", 5))
        self.approve("plumb", "--always", "--at-most", "amount=10")
        self.ask("rent", ("landlord", 100))
        self.ask("pair", ("landlord", 200), ("mallory", 9999))
        self.ask("lost", ("nobody", 7))
        self.approve("lost")
        for name in PLACES:
            shutil.copytree(self.folder / name, self.folder / "kept" / name)

    def ask(self, session, *payments):
        """Have payments asked for, in a session that cara begins."""
        calls = [f"pay {json.dumps({'to': to, 'amount': amount})}" for to, amount in payments]
        self("run", "\n".join(calls), "--session", session, by="cara", code=3)

    def restore(self):
        """As it was built. The workspace stays the folder that it is."""
        for name in PLACES:
            for path in (self.folder / name).iterdir():
                if path == self.project / "work":
                    continue
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        for path in self.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in PLACES:
            self.put_back(name)

    def put_back(self, name):
        """A file or folder as it was built, by its place below the house's folder."""
        there = self.folder / "kept" / name
        if there.is_dir():
            shutil.copytree(there, self.folder / name, dirs_exist_ok=True)
        else:
            shutil.copy2(there, self.folder / name)

    def attack(self, name, *args, session="errand"):
        """Have the tool run an attack, in a process that drives; what it brought home."""
        loot = self.folder / "loot"
        loot.unlink(missing_ok=True)
        argv = json.dumps({"argv": [str(PROGRAMS / "attack.py"), name, *args]})
        said = self("run", f"shell {argv}", "--session", session, code=None)
        assert loot.exists(), said
        return json.loads(loot.read_text())

    def drive(self, code=0):
        return self("worker", "--once", code=code)

    def asked(self, session="rent", to=None):
        """The open question."""
        self("inbox", "--json")
        waits = json.loads(self.out)["waits"]
        return next(one for one in waits if one["session"] == session and to in (None, one["arguments"]["to"]))

    def approve(self, session="rent", *options, to=None, code=None):
        """The approver's true yes, and the drive after it."""
        return self("approve", self.asked(session, to)["id"], "--yes", "--drive", *options, by="anna", code=code)

    @property
    def paid(self):
        return [(one.target, int(one.value)) for one in self.effects.arrivals()]


@pytest.fixture(scope="module")
def built(tmp_path_factory, counter):
    house = House(tmp_path_factory.mktemp("house"))
    house.effects = counter.world("built")
    house.build()
    assert house.paid == [("plumber", 5), ("nobody", 7)]
    return house


@pytest.fixture
def house(built, effects):
    built.effects = effects
    yield built
    built.restore()


RENT = [("landlord", 100)]
