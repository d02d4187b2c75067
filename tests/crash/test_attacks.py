"""With a key in force: what a tool, or any process of the account, may try against a project, and what comes of it.

Everything is real: the accepted project, keys locked by passphrases, the command line in processes of its own (forked
from one that has imported it, except where it matters what Python finds at its start), a bank that counts outside. An attack (``programs/attack.py``) runs as a child of a tool, inside a process that drives, or as a
process beside it, while payments wait for an approver. Each one has its control: what has to be put back is put back,
the approver says yes with her passphrase, and exactly that payment is made, once.

What such a process can do all the same stands in docs/explain/threat-model.md.
"""

import contextlib
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from callslip.testing.forked_commands import ForkedCommands
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
"tool.sign" = "ask"
"""
WORDS = {"olga": "what olga knows", "anna": "what anna knows", "cara": "what cara knows"}
PLACES = ("project", "state", "config")
RENT = [("landlord", 100)]


class House:
    """A project, its state folder and its people's keys, which can be put back as they were."""

    def __init__(self, folder):
        self.folder = folder
        self.project = folder / "project"
        self.work = self.project / "work"
        self.keys = folder / "config" / "callslip" / "keys"
        self.secret = folder / "passphrase"
        self.loot = folder / "loot"
        self.effects = None
        self.commands = None
        """What forks the commands that are given; without it each is started anew."""

    def build(self):
        """cara began the sessions in which payments wait; anna may approve, and olga says what anna is."""
        self.work.mkdir(parents=True)
        shutil.copy(PROGRAMS / "attacked.py", self.project / "app.py")
        (self.project / "rates.py").write_text("import sched\n\nONE = 1\n")
        (self.project / "callslip.toml").write_text(TOML)
        self.keys.mkdir(parents=True, mode=0o700)
        for name, words in WORDS.items():
            make_key(self.keys / f"{name}.key", name, passphrase=words, cost=LEAST)
        for name, role in (("olga", "operator"), ("anna", "approver"), ("cara", "caller")):
            self("enrol", name, "--role", role, by="olga")
        self("trust", "--yes", by="olga")
        self.ask("plumb", ("plumber", 5))
        self.approve("plumb", "--always", "--at-most", "amount=10")
        self.ask("rent", ("landlord", 100))
        self.ask("pair", ("landlord", 200), ("mallory", 9999))
        self.ask("lost", ("nobody", 7))
        self.approve("lost", code=3)
        for name in PLACES:
            shutil.copytree(self.folder / name, self.folder / "kept" / name)

    def ask(self, session, *payments):
        """Have payments proposed, in a session that cara begins."""
        calls = [f"pay {json.dumps({'to': to, 'amount': amount})}" for to, amount in payments]
        self("run", "\n".join(calls), "--session", session, by="cara", code=3)

    # Commands

    def __call__(self, *words, by="", code=0, **sets):
        """Give a command, as a process of the account can or with somebody's key and passphrase; what it said."""
        env = self.environment(by) | sets
        if self.commands is not None:
            done = self.commands.run(words, folder=self.project, environment=env)
        else:
            done = subprocess.run(
                [COMMAND, *words], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                start_new_session=True, cwd=self.project, env=env,
            )  # fmt: skip
        self.secret.unlink(missing_ok=True)
        said = " ".join((done.stdout + done.stderr).split())
        assert code is None or done.returncode == code, (words, done.returncode, said)
        assert "Traceback" not in said
        return said

    def environment(self, by=""):
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "200",
            "XDG_STATE_HOME": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder / "config"),
            "BANK": f"{self.effects.path} {self.effects.world}", "LOOT": str(self.loot),
        }  # fmt: skip
        if by:
            self.secret.touch(0o600)
            self.secret.write_text(WORDS[by])
            env |= {"CALLSLIP_KEY": by, "CALLSLIP_PASSPHRASE_FILE": str(self.secret)}
        return env

    def drive(self, code=0, **sets):
        return self("worker", "--once", code=code, **sets)

    def answer(self, how="approve", session="rent", *words, to=None):
        """The approver's true word, and nothing driven."""
        yes = ("--yes",) if how == "approve" else ()
        return self(how, self.wait(session, to), *yes, *words, by="anna")

    def approve(self, session="rent", *words, to=None, code=0):
        """The approver's true yes, and the drive after it."""
        taken = code in {None, 0, 3}  # 3: the session then waits for something else
        said = self("approve", self.wait(session, to), "--yes", *words, by="anna", code=0 if code in {0, 3} else code)
        return said + self.drive(None) if taken else said

    # Attacks

    def tool(self, name, *args):
        """Have the tool make the attack, inside a process that drives; what it brought home."""
        return self._attack(lambda argv: self("run", f"shell {json.dumps({'argv': argv})}", code=None), name, *args)

    def process(self, name, *args):
        """The same from a process of its own."""

        def run(argv):
            done = subprocess.run(
                [sys.executable, *argv], check=False, capture_output=True, text=True, cwd=self.project,
                env=self.environment(), start_new_session=True,
            )  # fmt: skip
            return done.stderr

        return self._attack(run, name, *args)

    def _attack(self, run, name, *args):
        self.loot.unlink(missing_ok=True)
        said = run([str(PROGRAMS / "attack.py"), name, *args])
        assert self.loot.exists(), said
        return json.loads(self.loot.read_text())

    # Looking

    @property
    def state(self):
        (found,) = (self.folder / "state" / "callslip").iterdir()
        return found

    @property
    def paid(self):
        """What the bank has paid out, to whom."""
        return [(one.target, int(one.value)) for one in self.effects.arrivals()]

    def wait(self, session="rent", to=None):
        """The id of what the session waits for, about the payment to somebody."""
        with contextlib.closing(sqlite3.connect(self.state / "ledger.db")) as db:
            ask = "select wait_id, call_id from waits join sessions using (no) where session = ?"
            waits = db.execute(ask, (session,)).fetchall()
            texts = db.execute("select text from records join sessions using (no) where session = ?", (session,))
            events = [json.loads(text)["event"] for (text,) in texts]
        calls = {one["call_id"]: one["arguments"]["text"] for one in events if one["type"] == "function_call"}
        return next(wait for wait, call in waits if to in (None, calls[call]["to"]))

    # Back to what it was

    def put_back(self, path):
        """A file or folder of the house as it was built."""
        kept = self.folder / "kept" / path.relative_to(self.folder)
        if kept.is_dir():
            shutil.copytree(kept, path, dirs_exist_ok=True)
        else:
            shutil.copy2(kept, path)

    def restore(self):
        """Everything. The workspace stays the folder that it is: a session knows it by its true identity."""
        for place in (self.folder / "state", self.folder / "config", self.folder / "own"):
            shutil.rmtree(place, ignore_errors=True)
        for path in (*self.project.iterdir(), *self.work.iterdir()):
            if path.is_dir() and path != self.work:
                shutil.rmtree(path)
            elif path != self.work:
                path.unlink()
        for name in PLACES:
            self.put_back(self.folder / name)


@pytest.fixture(scope="module")
def commands():
    with ForkedCommands(COMMAND) as commands:
        yield commands


@pytest.fixture(scope="module")
def built(tmp_path_factory, counter, commands):
    house = House(tmp_path_factory.mktemp("house"))
    house.effects = counter.world("built")
    house.commands = commands
    house.build()
    assert house.paid == [("plumber", 5), ("nobody", 7)]
    return house


@pytest.fixture
def house(built, effects, commands):
    built.effects, built.commands = effects, commands
    yield built
    built.restore()


@pytest.fixture
def started(house):
    """Every command is started anew: what Python finds at its start takes part."""
    house.commands = None


@pytest.mark.usefixtures("started")
def test_control(house):
    """Nothing is attacked: the approver's yes lets one payment be made, and her rule those within its bound."""
    assert "0 drives made" in house.drive()
    assert house.paid == []
    house.approve()
    assert "0 drives made" in house.drive()
    assert house.paid == RENT
    house("run", 'pay {"to": "plumber", "amount": 10}', "--session", "more", by="cara")
    house("run", 'pay {"to": "plumber", "amount": 11}', "--session", "dear", by="cara", code=3)
    house("run", 'pay {"to": "plumber", "amount": 1}', "--session", "keyless", code=3)
    assert house.paid == [*RENT, ("plumber", 10)]


class TestCommands:
    """The tool gives every command that there is, with every key that it finds or makes."""

    def test_answers(self, house):
        said = house.tool("answers")
        assert [(one["code"], why) for one, why in zip(said, self.WHY, strict=True) if why not in one["text"]] == []
        assert {one["code"] for one in said} == {5, 8}
        assert "0 drives made" in house.drive()
        assert house.paid == []
        house.approve()
        assert house.paid == RENT

    WHY = (
        "Several enrolled keys are on hand",
        "A passphrase is needed, and there is no terminal to ask for it. Nothing was written.",
        "The passphrase of anna.key is wrong. Nothing was done.",
        "'olga', whose key is on hand, is no approver. Nothing was written. Ask anna",
        "No enrolled key is on hand",
        "is not enrolled here. Nothing was done.",
        "is damaged: its two halves don't belong together. Nothing was done.",
        "which tools may write: a tool could use or replace it. Nothing was done.",
        "A passphrase is needed, and there is no terminal to ask for it. Nothing was written.",
        "A passphrase is needed, and there is no terminal to ask for it. Nothing was written.",
        "A passphrase is needed, and there is no terminal to ask for it. Nothing was written.",
    )

    def test_statements(self, house):
        before = (house.state / "trust.log").read_bytes()
        said = house.tool("statements")
        assert {one["code"] for one in said} == {8}
        assert "'anna', whose key is on hand, is no operator. Nothing was written. Ask olga." in said[2]["text"]
        assert all("there is no terminal to ask for it" in one["text"] for one in (said[1], *said[3:]))
        assert (house.state / "trust.log").read_bytes() == before
        assert house.paid == []
        house("enrol", "mallory", "--role", "approver", by="olga")  # the control
        assert "mallory" in house("principals")


@pytest.mark.usefixtures("started")
class TestTheProject:
    @pytest.mark.parametrize(
        ("what", "file"), [("code", "app.py"), ("policy", "callslip.toml"), ("state", "callslip.toml")]
    )
    def test_a_change_is_held(self, house, what, file):
        (said,) = house.tool("change_project", what)
        assert (said["code"], "no terminal to ask for it. Nothing was written." in said["text"]) == (8, True)
        text = house.drive(5)
        assert f"The project is not what was accepted: {file} (changed). Nothing was started" in text
        assert "accept it if you mean it: callslip trust" in text
        house("run", 'pay {"to": "mallory", "amount": 9999}', code=5)
        assert house.paid == []
        house.put_back(house.project / file)
        house.approve()
        assert house.paid == RENT

    def test_what_is_planted_is_never_imported(self, house):
        house.tool("plant")
        house.approve()
        assert house.paid == RENT
        assert not (house.work / "taken").exists()

    def test_what_is_planted_where_it_would_be_found_is_refused(self, house):
        house.tool("plant_shadow")
        text = house.drive(5)
        assert "sched.py was not accepted, so nothing of it is executed. Nothing was started." in text
        (house.project / "sched.py").unlink()
        house.approve()
        assert house.paid == RENT
        assert not (house.work / "taken").exists()


class TestTheTrustFile:
    @pytest.mark.parametrize(
        ("how", "why"),
        [
            ("unsigned grant", "Statement 6 of the trust file can't be true: its signature is not that of 'anna'."),
            ("self-signed grant", "Statement 6 of the trust file can't be true: its signature is not that of 'anna'."),
            (
                "self-signed enrolment",
                "Statement 6 of the trust file can't be true: its signature is not that of 'olga'.",
            ),
            ("a second root", "Statement 6 of the trust file can't be true: 'mallory' is not enrolled."),
            ("a grant widened", "Statement 5 of the trust file can't be true: its signature is not that of 'anna'."),
            ("a line taken out", "Statement 2 of the trust file can't be true: it does not follow statement 1."),
        ],
    )
    def test_a_statement_of_its_own(self, house, how, why):
        house.process("forge_trust", how)
        text = house.drive(5)
        assert f"{why} Nothing was executed" in text
        assert "somebody else did: see `callslip doctor`" in text
        assert house.paid == []
        house.put_back(house.state / "trust.log")
        house.approve()
        assert house.paid == RENT

    @pytest.mark.parametrize("attack", ["remove_trust", "replace_trust"])
    def test_another_file_or_none(self, house, attack):
        """Whoever is the only one there may accept the project and answer; but not for what was asked before."""
        root = json.loads((house.state / "trust.log").read_bytes().splitlines()[0])["body"]["principal"]["key"]
        said = house.process(attack)
        assert [one["code"] for one in said] == [0, 0]
        text = house.drive(5)
        assert "The trust file is not the one that session 'rent' has rested on" in text
        assert "Nothing was executed. Put back the file that was there" in text
        assert f"CALLSLIP_ROOT says it must be {root}. Nothing was executed." in house.drive(5, CALLSLIP_ROOT=root)
        assert house.paid == []
        house.put_back(house.state / "trust.log")
        house.drive()
        assert house.paid == []
        assert "an answer was recorded that does not count" in house.approve()
        assert house.paid == RENT


class TestTheLog:
    @pytest.mark.parametrize(
        ("how", "by", "why"),
        [
            ("signed by nobody", "library", "it is signed by nobody"),
            ("signed by nobody", "SQL", "it is signed by nobody"),
            ("signed by a stranger", "library", "'mallory' is not enrolled"),
            ("another's signature under her name", "library", "its signature is not anna's"),
            ("a made-up signature", "SQL", "its signature is not anna's"),
        ],
    )
    def test_a_forged_answer(self, house, how, by, why):
        house.process("forge_answer", how, by)
        assert "rent waiting" in house.drive()
        assert house.paid == []
        assert (
            f"an earlier approval does not hold: an answer was recorded that does not count: {why}" in house.approve()
        )
        assert house.paid == RENT

    def test_a_forged_answer_while_the_session_is_driven(self, house):
        """By the tool itself, to the question beside it."""
        argv = json.dumps(
            {"argv": [str(PROGRAMS / "attack.py"), "forge_answer", "signed by nobody", "library", "both"]}
        )
        calls = f'pay {{"to": "landlord", "amount": 100}}\nshell {argv}'
        text = house("run", calls, "--session", "both", by="cara", code=3)
        assert "again: an answer was recorded that does not count: it is signed by nobody" in text
        assert house.paid == []
        house.approve("both")
        assert house.paid == RENT

    def test_a_record_changed_in_place(self, house):
        house.process("touch_up")
        for text in (house.approve(code=5), house("resume", "rent", code=5)):
            assert "Record 3 of session 'rent' is not what was written" in text
            assert "Nothing was executed. Run `callslip verify`" in text
        assert house.paid == []
        house.put_back(house.state / "ledger.db")
        house.approve()
        assert house.paid == RENT

    def test_a_question_that_shows_something_else(self, house):
        wait = house.wait()
        house.process("alter_question", "arguments")
        text = house.approve(code=5)
        assert f"The question {wait} was altered after it was asked. Nothing was written." in text
        house.drive()
        assert house.paid == []
        house.put_back(house.state / "ledger.db")
        house.approve()
        assert house.paid == RENT

    def test_a_question_that_was_made_anew_for_something_else(self, house):
        """What the approver sees is what she signs, and it is not what would be paid."""
        house.process("alter_question", "arguments and binding")
        text = house.approve(code=3)
        assert 'amount = 9999 to = "mallory"' in text
        assert "the arguments are not the ones shown" in house("inbox")
        assert house.paid == []
        house.approve()
        assert house.paid == RENT

    def test_everything_altered_after_the_answer(self, house):
        house.answer()
        kept = (house.state / "ledger.db").read_bytes()
        house.process("alter_question", "everything")
        assert "rent waiting" in house.drive()
        assert house.paid == []
        house.put_back(house.state)
        (house.state / "ledger.db").write_bytes(kept)
        house.drive()
        assert house.paid == RENT

    def test_a_denial_turned_into_an_approval(self, house):
        house.answer("deny", "rent", "--reason", "too dear")
        house.process("turn_denial")
        assert "rent waiting" in house.drive()
        assert house.paid == []
        assert "an answer was recorded that does not count: its signature is not anna's" in house.approve()
        assert house.paid == RENT

    @pytest.mark.parametrize(("session", "paid"), [("rent", 100), ("pair", 200)])
    def test_a_true_answer_copied(self, house, session, paid):
        """To another call of the same session, or of another one."""
        house.answer("approve", session, to="landlord")
        house.process("copy_answer", "pair")
        assert "pair waiting" in house.drive()
        assert house.paid == [("landlord", paid)]
        assert "its signature is not anna's" in house.approve("pair", to="mallory", code=None)
        assert house.paid == [("landlord", paid), ("mallory", 9999)]

    @pytest.mark.parametrize(
        ("how", "why"),
        [("signed by nobody", "it is signed by nobody"), ("a made-up signature", "its signature is not olga's")],
    )
    def test_a_forged_verdict(self, house, how, why):
        """On a payment whose outcome nobody knows: that it did not happen, to have it made again."""
        house.process("forge_verdict", how)
        assert "lost waiting" in house.drive()
        assert house.paid == []
        assert f"the verdict recorded on it does not count: {why}" in house("waits")
        house("resolve", house.wait("lost"), "did-not-happen", "--reason", "the bank says so", by="olga")
        house.drive()
        house.approve("lost", code=3)
        assert house.paid == [("nobody", 7)]


class TestAsTheDriver:
    """Whoever can write the log can write what only the process that drives a session writes."""

    def test_a_forged_dispatch(self, house):
        house.process("forge_dispatch")
        house.drive(None)
        assert house.paid == []
        house("resolve", house.wait(), "did-not-happen", "--reason", "the bank says so", by="olga")
        house.drive()
        house.approve()
        assert house.paid == RENT

    def test_a_dispatch_of_something_else_on_a_true_approval(self, house):
        house.answer()
        kept = (house.state / "ledger.db").read_bytes()
        house.process("swap_dispatch")
        house.drive(None)
        assert house.paid == []
        house.put_back(house.state)
        (house.state / "ledger.db").write_bytes(kept)
        house.drive()
        assert house.paid == RENT

    @pytest.mark.xfail(
        strict=True, reason="a known limit, in the threat model: whoever writes as the owner can hand out"
    )
    def test_a_forged_dispatch_to_a_client(self, house):
        house("run", 'sign {"document": "the lease"}', "--session", "deed", by="cara", code=3)
        kept = (house.state / "ledger.db").read_bytes()
        house.process("hand_out")
        house.drive(None)
        assert "callslip submit" not in house("waits")
        house.put_back(house.state)
        (house.state / "ledger.db").write_bytes(kept)
        house.approve("deed", code=3)
        assert '{"document": "the lease"}' in house("waits")
        assert "callslip submit" in house("waits")

    @pytest.mark.requirement("APPR-02")
    def test_a_call_proposed_again_with_its_used_approval(self, house):
        house.approve()
        house.process("propose_again")
        text = house.drive(None)
        assert house.paid == RENT  # which is the control as well
        assert "Nothing was executed" in text


@pytest.mark.requirement("APPR-02")
def test_altered_between_the_look_and_the_yes(house):
    """On a terminal: what she was shown is not what is there when she says yes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "approve", house.wait()], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        cwd=house.project, env=house.environment("anna"),
    )  # fmt: skip
    os.close(theirs)
    try:
        seen = b""
        while b"Approve it?" not in seen:
            seen += os.read(ours, 65536)
        assert b'"landlord"' in seen
        house.process("alter_between")
        os.write(ours, b"y\n")
        with contextlib.suppress(OSError):  # its end of the terminal is closed
            while more := os.read(ours, 65536):
                seen += more
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        house.secret.unlink(missing_ok=True)
    house.drive()
    assert house.paid == []
    assert process.returncode != 0
    house.put_back(house.state / "ledger.db")
    house.approve()
    assert house.paid == RENT


@pytest.mark.parametrize(
    ("place", "mode", "advice"),
    [
        ("state", 0o770, "chmod 700"),
        ("state/ledger.db", 0o620, "chmod 600"),
        ("state/trust.log", 0o622, "chmod 600"),
        ("keys", 0o755, "chmod 700"),
        ("keys/anna.key", 0o644, "chmod 600"),
    ],
)
def test_what_others_could_read_or_change(house, place, mode, advice):
    name, _, rest = place.partition("/")
    path = {"state": house.state, "keys": house.keys}[name] / rest
    before = path.stat().st_mode
    path.chmod(mode)
    text = house.approve(code=5)
    assert f"is open to others (mode {mode:04o}). Nothing was" in text
    assert f"{advice} '{path}', after" in text
    assert house.paid == []
    path.chmod(before)
    house.approve()
    assert house.paid == RENT


def test_a_passphrase_that_others_can_read(house):
    env = house.environment("anna")
    house.secret.chmod(0o644)
    text = house("approve", house.wait(), "--yes", code=5, **env)
    assert "is open to others (mode 0644). Nothing was done. Run: chmod 600" in text
    assert house.paid == []
    house.approve()
    assert house.paid == RENT
