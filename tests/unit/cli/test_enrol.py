"""``enrol``, ``principals``, ``grants`` and what ``doctor`` says of them."""

import fcntl
import json
import os
import re
import select
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from callslip.cli import keys_on_hand
from callslip.core.grant import Grant
from callslip.core.principal import Role
from callslip.core.standing import Accepted, Granted
from callslip.testing.clock import FakeClock
from callslip.trust.account import account
from callslip.trust.file import FileTrust
from callslip.trust.key_file import keys_folder, read_key
from callslip.trust.keys import load_key

pytestmark = pytest.mark.requirement("APPR-08")

BARE = "--no-passphrase"


def trust_of(project):
    return FileTrust(project.state, clock=FakeClock())


def key_of(name):
    return keys_folder() / f"{name}.key"


def grant(project, by="anna", name="g1", **changes):
    plain = {
        "id": name, "tool": "pay", "tool_version": "v1", "executor": "app:pay", "requester": "anna",
        "rules": ("risk",), "equal": {"to": "shop\u202e"}, "at_most": {"amount": 1234567}, "reason": "every month",
    }  # fmt: skip
    trust_of(project).state(Granted(grant=Grant(**plain | changes)), load_key(key_of(by), None))


@pytest.fixture
def staffed(project, monkeypatch):
    """anna is the root, bob an approver, both on this account; anna's key is the one on hand."""
    project("enrol", "anna", BARE)
    project("enrol", "bob", "--role", "approver", "--role", "viewer", BARE)
    monkeypatch.setenv("CALLSLIP_KEY", "anna")
    project.accept()  # what was accepted before there was a key counts no more
    return project


class TestTheFirst:
    def test_it_is_the_root_with_all_it_takes(self, project):
        text = project("enrol", "anna", BARE).stdout
        standing = trust_of(project).standing()
        anna = standing.principals["anna"]
        assert anna.roles == (Role.OPERATOR, Role.APPROVER, Role.CALLER)
        assert (anna.uid, standing.root) == (os.getuid(), anna.key)
        assert f"export CALLSLIP_ROOT={anna.key}" in text
        assert "no passphrase: every process of this account can sign" in text
        assert read_key(key_of("anna")).key == anna.key

    def test_in_json(self, project):
        said = project.json("enrol", "anna", BARE, "--role", "operator")
        assert said == {
            "name": "anna", "roles": ["operator"], "key": read_key(key_of("anna")).key, "uid": os.getuid(),
            "root": True, "key_file": str(key_of("anna")), "state": str(project.state),
        }  # fmt: skip

    def test_it_must_be_an_operator_and_nothing_is_left_of_another(self, project):
        assert "must be an operator" in project("enrol", "anna", BARE, "--role", "approver", code=2).stderr
        assert list(keys_folder().iterdir()) == []
        assert trust_of(project).standing().advisory

    def test_not_from_elsewhere(self, project, tmp_path):
        project("enrol", "anna", "--key-only", BARE)
        public = str(key_of("anna").with_suffix(".pub"))
        assert "signs for itself" in project("enrol", "anna", "--public", public, code=2).stderr

    def test_what_was_stated_without_a_key_counts_no_more(self, project):
        project("run", "hello", "--session", "s")
        trust_of(project).state(Accepted(project="/p", files={}), account())
        text = project("enrol", "anna", BARE).stdout
        assert "counts no more: callslip trust" in text
        assert trust_of(project).standing().accepted == {}

    @pytest.mark.parametrize("name", ["../x", "a/b", "", "аnna", "-x", "x" * 65, "a b", "anna\n"])
    def test_a_name_that_is_none(self, project, name):
        assert project("enrol", BARE, "--", name, code=2).stdout == ""
        assert not keys_folder().exists()

    def test_the_same_key_for_another_project(self, project, tmp_path):
        project("enrol", "anna", BARE)
        key = project.json("principals")["root"]
        project("enrol", "anna", BARE, "--state", str(tmp_path / "second"))
        assert project.json("principals", "--state", str(tmp_path / "second"))["root"] == key


class TestFurtherOnes:
    def test_an_operator_enrols(self, staffed):
        standing = trust_of(staffed).standing()
        assert standing.principals["bob"].roles == (Role.APPROVER, Role.VIEWER)
        assert standing.root == standing.principals["anna"].key

    def test_nobody_else_does_and_nothing_is_left(self, staffed, monkeypatch):
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        result = staffed("enrol", "eve", "--role", "operator", BARE, code=8)
        assert "'bob', whose key is on hand, is no operator. Nothing was written. Ask anna." in result.stderr
        assert not key_of("eve").exists()
        assert list(trust_of(staffed).standing().principals) == ["anna", "bob"]

    def test_without_any_key_on_hand(self, staffed, monkeypatch):
        monkeypatch.delenv("CALLSLIP_KEY")
        for name in ("anna", "bob"):
            key_of(name).rename(keys_folder().parent / f"{name}.key")
        assert "No enrolled key is on hand" in staffed("enrol", "eve", "--role", "viewer", BARE, code=8).stderr
        error = staffed.json("principals", "revoke", "bob", "--reason", "x", code=8)["error"]
        assert (error["code"], error["layer"]) == ("not_authorised", "policy")

    def test_roles_must_be_said(self, staffed):
        assert "--role" in staffed("enrol", "eve", BARE, code=2).stderr

    @pytest.mark.parametrize("name", ["anna", "bob"])
    def test_a_name_is_given_once(self, staffed, name):
        assert "is enrolled already" in staffed("enrol", name, "--role", "viewer", BARE, code=2).stderr
        assert key_of(name).exists()
        staffed("principals", "revoke", "bob", "--reason", "x")
        assert "was revoked" in staffed("enrol", "bob", "--role", "viewer", BARE, code=2).stderr
        assert "given before" in staffed("enrol", "BOB", "--role", "viewer", BARE, code=2).stderr

    def test_a_key_made_elsewhere(self, staffed, monkeypatch, tmp_path):
        here = os.environ["XDG_CONFIG_HOME"]
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another-account"))
        said = staffed.json("enrol", "carl", "--key-only", BARE)
        monkeypatch.setenv("XDG_CONFIG_HOME", here)
        assert "carl" not in trust_of(staffed).standing().principals
        text = staffed("enrol", "carl", "--public", said["public_file"], "--role", "approver").stdout
        assert said["key"] in text
        assert "Compare the key's digits" in text
        assert trust_of(staffed).standing().principals["carl"].key == said["key"]
        assert not key_of("carl").exists()

    def test_a_public_half_of_somebody_else(self, staffed):
        public = staffed.json("enrol", "carl", "--key-only", BARE)["public_file"]
        result = staffed("enrol", "eve", "--public", public, "--role", "operator", code=2)
        assert "is the key of 'carl', not of 'eve'" in result.stderr
        with open(public, "r+") as file:
            text = file.read().replace("carl", "eve")
            file.seek(0)
            file.write(text)
        assert "was altered" in staffed("enrol", "eve", "--public", public, "--role", "operator", code=2).stderr

    def test_a_public_half_says_nothing_secret_and_is_written_again(self, project):
        first = project.json("enrol", "carl", "--key-only", BARE)
        again = project.json("enrol", "carl", "--key-only")
        assert first == again
        private, public = (Path(first[name]).read_text() for name in ("key_file", "public_file"))
        assert json.loads(private)["seed"] not in public
        assert trust_of(project).standing().advisory

    @pytest.mark.parametrize(
        "words", [["--public", "x", "--key-only"], ["--public", "x", BARE], ["--key-only", "--role", "viewer"]]
    )
    def test_options_that_do_not_go_together(self, project, words):
        assert "Nothing was done" in project("enrol", "anna", *words, code=2).stderr


class TestThePassphrase:
    def test_from_a_file(self, project, tmp_path, monkeypatch):
        secret = tmp_path / "secret"
        secret.touch(0o600)
        secret.write_text("open sesame\n")
        monkeypatch.setenv("CALLSLIP_PASSPHRASE_FILE", str(secret))
        assert "no passphrase" not in project("enrol", "anna").stdout
        assert read_key(key_of("anna")).locked
        project("enrol", "bob", "--role", "approver", BARE)
        secret.write_text("wrong")
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        assert "passphrase of anna.key is wrong" in project("enrol", "c", "--role", "viewer", BARE, code=8).stderr
        secret.chmod(0o644)
        assert "open to others" in project("enrol", "c", "--role", "viewer", BARE, code=5).stderr
        assert not key_of("c").exists()

    def test_without_a_terminal(self, project):
        process = project.start("enrol", "anna", stdin=subprocess.PIPE, start_new_session=True)
        out, err = project.finish(process, 8)
        assert (out, "there is no terminal to ask for it" in err) == ("", True)
        assert not key_of("anna").exists()

    @pytest.mark.parametrize(
        ("typed", "code", "says"),
        [
            (["open sesame", "open sesame"], 0, "anna is enrolled"),
            (["open sesame", "open seasame"], 2, "not the same"),
            ([""], 2, "empty"),
        ],
    )
    def test_it_is_typed_twice_on_the_terminal_and_never_shown(self, project, typed, code, says):
        done = on_a_terminal(project, typed, "enrol", "anna")
        assert done.code == code
        assert says in done.said
        assert "open s" not in done.shown
        assert done.shown.count(":") == len(typed)
        assert key_of("anna").exists() is (code == 0)

    def test_it_is_asked_for_to_sign(self, project, monkeypatch):
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        on_a_terminal(project, ["open sesame"] * 2, "enrol", "anna")
        done = on_a_terminal(project, ["open sesame"], "enrol", "bob", "--role", "viewer", BARE)
        assert (done.code, "Passphrase of anna.key: " in done.shown) == (0, True)
        done = on_a_terminal(project, ["wrong"], "principals", "revoke", "bob", "--reason", "x")
        assert (done.code, "is wrong" in done.said) == (8, True)

    def test_a_terminal_that_would_show_it_is_refused(self, project, monkeypatch):
        def shows(_):
            keys_on_hand.warnings.warn("it would echo", keys_on_hand.getpass.GetPassWarning, stacklevel=1)
            return "open sesame"

        real = os.open
        there = lambda path, *rest: real(os.devnull if path == "/dev/tty" else path, *rest)  # noqa: E731
        monkeypatch.setattr(keys_on_hand.os, "open", lambda path, *rest, **more: there(path, *rest))
        monkeypatch.setattr(keys_on_hand.getpass, "getpass", shows)
        assert "no terminal" in project("enrol", "anna", code=8).stderr
        assert not key_of("anna").exists()


class Done:
    """What became of a command on a terminal: ``shown`` there, ``said`` through pipes."""

    def __init__(self, code, shown, said):
        self.code, self.shown, self.said = code, shown, said


def on_a_terminal(project, typed, *words):
    """Run the command with a terminal of its own beside pipes, and type a line at each prompt."""
    ours, theirs = os.openpty()  # theirs stays open here: a terminal that nobody has open gives an error
    command = [sys.executable, "-m", "callslip.cli.main", *words, "--project", str(project.folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )  # fmt: skip
    shown, left = "", list(typed)
    try:
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if not select.select([ours], [], [], 0.05)[0]:
                continue
            shown += os.read(ours, 4096).decode()
            if left and shown.endswith(": "):
                os.write(ours, left.pop(0).encode() + b"\n")
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert "Traceback" not in said
    return Done(process.returncode, shown, said)


class TestPrincipals:
    def test_before_there_is_anything(self, project, tmp_path):
        nowhere = ("--state", str(tmp_path / "none"))
        assert "Nobody is enrolled" in project("principals", *nowhere).stdout
        assert project.json("principals", *nowhere) == {
            "advisory": True, "root": None, "principals": [], "revoked": [], "delegations": [],
        }  # fmt: skip
        assert not (tmp_path / "none").exists()

    def test_who_is_enrolled(self, staffed):
        text = staffed("principals").stdout
        listed = {line.split()[0]: line for line in text.splitlines()[1:]}
        key = trust_of(staffed).standing().principals["anna"].key
        assert f"operator, approver, caller  {key[:16]}  {os.getuid()}" in listed["anna"]
        assert listed["anna"].endswith("root")
        assert key not in text
        said = staffed.json("principals")
        assert [(one["name"], one["root"]) for one in said["principals"]] == [("anna", True), ("bob", False)]
        assert said["principals"][0]["key"] == said["root"] == key

    def test_revoking(self, staffed):
        grant(staffed, by="bob")
        assert "--reason" in staffed("principals", "revoke", "bob", code=2).stderr
        staffed("principals", "revoke", "bob", "--reason", "left")
        assert staffed.json("principals")["revoked"] == ["bob"]
        assert "revoked" in staffed("principals").stdout
        assert staffed.json("grants")["grants"] == []
        assert "Nobody named 'bob'" in staffed("principals", "revoke", "bob", "--reason", "x", code=2).stderr
        assert "root can't be revoked" in staffed("principals", "revoke", "anna", "--reason", "x", code=2).stderr

    def test_a_revoked_key_is_not_on_hand(self, staffed, monkeypatch):
        staffed("principals", "revoke", "bob", "--reason", "left")
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        assert "is not enrolled here" in staffed("principals", "delegate", "anna", "--until", "1d", code=8).stderr

    def test_handing_on_and_taking_back(self, staffed):
        assert "--until" in staffed("principals", "delegate", "bob", code=2).stderr
        said = staffed.json("principals", "delegate", "bob", "--until", "2h", "--tool", "pay", "--tool", "refund")
        (one,) = staffed.json("principals")["delegations"]
        assert (one["by"], one["to"], one["tools"]) == ("anna", "bob", ["pay", "refund"])
        assert (
            one["until"] == said["until"] == one["since"] + 2 * 3_600_000 + (said["until"] - one["since"] - 7_200_000)
        )
        assert abs(one["until"] - one["since"] - 7_200_000) < 60_000
        assert "bob may decide for anna on pay, refund" in staffed("principals").stdout
        staffed("principals", "undelegate", "bob")
        assert staffed.json("principals")["delegations"] == []
        assert "Nothing has been handed on" in staffed("principals", "undelegate", "bob", code=2).stderr

    def test_only_an_approver_hands_on_and_only_an_operator_revokes(self, staffed, monkeypatch):
        staffed("enrol", "carl", "--role", "operator", BARE)
        monkeypatch.setenv("CALLSLIP_KEY", "carl")
        assert "is no approver" in staffed("principals", "delegate", "bob", "--until", "2h", code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        assert "is no operator" in staffed("principals", "revoke", "carl", "--reason", "x", code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "carl")
        staffed("principals", "revoke", "bob", "--reason", "x")

    @pytest.mark.parametrize("until", ["2", "h", "0h", "-1h", "2y", "1.5h", "99999d", "2h ", ""])
    def test_a_span_that_is_none(self, staffed, until):
        assert staffed("principals", "delegate", "bob", "--until", until, code=2).stdout == ""

    @pytest.mark.parametrize(
        "words",
        [
            ["revoke"], ["delegate", "--until", "2h"], ["--reason", "x"], ["--until", "2h"], ["--tool", "x"],
            ["revoke", "bob", "--reason", "x", "--until", "2h"], ["delegate", "bob", "--until", "2h", "--reason", "x"],
            ["undelegate", "bob", "--tool", "x"], ["dance", "bob"],
        ],
    )  # fmt: skip
    def test_what_can_not_be_meant(self, staffed, words):
        before = trust_of(staffed).standing().seq
        assert staffed("principals", *words, code=2).stdout == ""
        assert trust_of(staffed).standing().seq == before

    def test_stating_before_there_is_a_state_folder(self, project, tmp_path):
        nowhere = ("--state", str(tmp_path / "none"))
        assert project("principals", "revoke", "x", "--reason", "y", *nowhere, code=2).stdout == ""
        assert not (tmp_path / "none").exists()


class TestGrants:
    def test_none(self, project, tmp_path):
        nowhere = ("--state", str(tmp_path / "none"))
        assert "No grant is in force" in project("grants", *nowhere).stdout
        assert project.json("grants", *nowhere) == {"grants": []}
        assert not (tmp_path / "none").exists()

    def test_in_words_with_whose_they_are(self, staffed):
        grant(staffed, by="bob")
        text = staffed("grants").stdout
        assert "g1, by bob" in text
        assert 'pay (version v1, run by app:pay) with to = "shop\\u202e", amount from 0 up to 1234567;' in " ".join(
            text.split()
        )
        assert "every month" in text
        assert "\u202e" not in text
        (one,) = staffed.json("grants")["grants"]
        assert (one["id"], one["granted_by"], one["at_most"]) == ("g1", "bob", {"amount": 1234567})
        assert one["words"].startswith("pay (version v1")

    def test_one_that_has_ended_is_not_listed(self, staffed):
        grant(staffed, until=1)
        grant(staffed, name="g2", until=4_000_000_000_000)
        assert [one["id"] for one in staffed.json("grants")["grants"]] == ["g2"]

    def test_unsigned_ones_are_said_to_be(self, project):
        project("run", "hello", "--session", "s")
        plain = Grant(id="g1", tool="t", tool_version="v", executor="e", requester="r", rules=(), equal={})
        trust_of(project).state(Granted(grant=plain), account())
        assert f"g1, by {account().name} (unsigned)" in project("grants").stdout
        project("grants", "revoke", "g1", "--reason", "x")  # while advisory, the account may
        assert project.json("grants") == {"grants": []}

    def test_taking_one_back(self, staffed, monkeypatch):
        grant(staffed)
        assert "--reason" in staffed("grants", "revoke", "g1", code=2).stderr
        assert "There is no grant 'g2'" in staffed("grants", "revoke", "g2", "--reason", "x", code=2).stderr
        staffed("enrol", "eve", "--role", "viewer", BARE)
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        assert "is no approver or operator" in staffed("grants", "revoke", "g1", "--reason", "x", code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        assert staffed.json("grants", "revoke", "g1", "--reason", "x") == {"grant": "g1", "did": "revoked"}
        assert trust_of(staffed).standing().grants == {}

    @pytest.mark.parametrize("words", [["revoke"], ["--reason", "x"], ["give", "g1"]])
    def test_what_can_not_be_meant(self, staffed, words):
        assert staffed("grants", *words, code=2).stdout == ""


class TestNotTrusted:
    @pytest.mark.parametrize("words", [["principals"], ["grants"], ["enrol", "eve", "--role", "operator", BARE]])
    def test_a_file_that_was_altered(self, staffed, words):
        path = staffed.state / "trust.log"
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b'"viewer"', b'"caller"'))
        assert re.search(
            r"Statement \d+ of the trust file can.t be true: its signature", staffed(*words, code=5).stderr
        )
        assert not key_of("eve").exists()
        path.write_bytes(whole)
        staffed(*words)

    @pytest.mark.parametrize("words", [["principals"], ["grants"], ["enrol", "eve", "--role", "operator", BARE]])
    def test_a_folder_that_others_may_write(self, staffed, words):
        staffed.state.chmod(0o770)
        assert "is open to others" in staffed(*words, code=5).stderr
        staffed.state.chmod(0o700)
        staffed(*words)

    def test_a_key_that_others_may_read(self, staffed):
        key_of("anna").chmod(0o644)
        assert "is open to others" in staffed("enrol", "eve", "--role", "viewer", BARE, code=5).stderr
        key_of("anna").chmod(0o600)
        staffed("enrol", "eve", "--role", "viewer", BARE)

    def test_keys_where_tools_may_write(self, project, monkeypatch):
        project.configure('app = "app.py:rt"\nworkspace = "files"\n')
        (project.folder / "files").mkdir()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(project.folder / "files"))
        assert "which tools may write" in project("enrol", "anna", BARE, code=5).stderr
        assert list((project.folder / "files").iterdir()) == []

    def test_state_where_tools_may_write(self, project):
        project.configure('app = "app.py:rt"\nworkspace = "."\n')
        assert "which tools may write" in project("enrol", "anna", BARE, code=5).stderr

    def test_the_applications_code_is_not_run(self, project):
        project.write("app.py", "open('ran', 'w')\n")
        project("enrol", "anna", BARE)
        project("principals")
        project("grants")
        assert not (project.folder / "ran").exists()


class TestDoctor:
    def checks(self, project, code=0):
        report = project.json("doctor", code=code)
        return {one["check"]: (one["level"], one["detail"]) for one in report["checks"]}

    def test_nobody_enrolled(self, project):
        level, detail = self.checks(project)["trust"]
        assert level == "warn"
        assert detail.startswith(
            "approvals advisory: no key is enrolled; anybody who can write as this user can answer"
        )
        assert "keys" not in self.checks(project)

    def test_who_is_enrolled_and_which_keys_take_no_passphrase(self, staffed, monkeypatch):
        checks = self.checks(staffed)
        assert checks["trust"][0] == "ok"
        assert "anna (operator, approver, caller), bob (approver, viewer); root anna, not pinned" in checks["trust"][1]
        assert checks["keys"] == ("warn", "without a passphrase: anna, bob; any process of this user can sign")
        monkeypatch.setenv("CALLSLIP_ROOT", trust_of(staffed).standing().root)
        assert "as CALLSLIP_ROOT says" in self.checks(staffed)["trust"][1]

    def test_what_is_bad(self, staffed, monkeypatch):
        key_of("bob").chmod(0o644)
        assert self.checks(staffed, code=1)["trust"][0] == "ok"
        key_of("bob").chmod(0o600)
        path = staffed.state / "trust.log"
        path.write_bytes(path.read_bytes().replace(b'"viewer"', b'"caller"'))
        assert self.checks(staffed, code=1)["trust"][0] == "bad"
        keys_folder().chmod(0o750)
        assert self.checks(staffed, code=1)["keys"][0] == "bad"
        monkeypatch.setenv("CALLSLIP_ROOT", "nonsense")
        assert self.checks(staffed, code=1)["trust"][0] == "bad"

    def test_an_unsafe_key_is_told_of_beside_the_others(self, staffed):
        key_of("bob").chmod(0o644)
        report = staffed.json("doctor", code=1)
        told = [(one["level"], one["detail"]) for one in report["checks"] if one["check"] == "keys"]
        assert [level for level, _ in told] == ["bad", "warn"]
        assert "bob.key is open to others" in told[0][1]
        assert told[1][1].startswith("without a passphrase: anna;")


class TestWhoBegins:
    """A session of `callslip run` is begun by the key that is named; then two others can approve what it asks."""

    @pytest.fixture
    def four_eyes(self, project, monkeypatch):
        project.configure('app = "app.py:rt"\nstate = "state"\n[policy]\ntool.pay = "ask_two"\n')
        project("enrol", "anna", BARE)
        project("enrol", "carl", "--role", "caller", BARE)
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        project.accept()
        return project

    def begun(self, project):
        project("run", 'call pay {"amount": 5}', "--session", "s", code=3)
        return project.json("show", "s")["records"][0]["record"]["event"]

    def test_by_the_key_that_is_named(self, four_eyes, monkeypatch):
        monkeypatch.setenv("CALLSLIP_KEY", "carl")
        event = self.begun(four_eyes)
        assert (event["requester"], bool(event["proof"]["signature"])) == ("carl", True)
        (wait,) = four_eyes.json("waits")["waits"]
        assert (wait["approvers"], wait["reasons"]) == (2, ["tool.pay"])
        monkeypatch.setenv("CALLSLIP_KEY", "anna")  # of the same account as carl
        assert "same account" in four_eyes("approve", wait["id"], "--yes", code=8).stderr

    def test_without_one_by_the_account_and_nobody_can_tell_who_asks(self, four_eyes, monkeypatch):
        monkeypatch.delenv("CALLSLIP_KEY")
        assert self.begun(four_eyes)["requester"] == account().name
        (wait,) = four_eyes.json("waits")["waits"]
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        assert "begun without a key" in four_eyes("approve", wait["id"], "--yes", code=8).stderr


def test_doctor_says_what_a_process_of_the_account_can_still_do(staffed):
    checks = {one["check"]: one for one in staffed.json("doctor")["checks"]}
    assert "can still act without Callslip" in checks["what is left"]["detail"]
    assert "write as the driver of a session" in checks["what is left"]["detail"]
