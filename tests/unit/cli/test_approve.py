"""``inbox``, ``approve``, ``deny`` and ``edit``: shown whole, decided once, by whoever they are."""

import fcntl
import json
import os
import pty
import select
import shlex
import subprocess
import sys
import termios

import pytest

from callslip.cli import consent, edit as edit_command
from callslip.cli.question import DIGEST

pytestmark = pytest.mark.requirement("APPR-08")

POLICY = 'app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.pay" = "{pay}"\n"tool.find_thing" = "ask"\n{more}'
BARE = "--no-passphrase"
LINE = "line\n"


def asking(project, pay="ask", more=""):
    project.configure(POLICY.format(pay=pay, more=more))
    return project


def ask(project, call='pay {"amount": 100}', session="s"):
    """Have the session ask; the wait's id."""
    project("run", f"call {call}", "--session", session, code=3)
    return next(one["id"] for one in project.json("waits", session)["waits"] if one["kind"] == "approval")


def binding(project, wait):
    return project.json("inbox", wait)["binding"][:DIGEST]


@pytest.fixture
def project(project):
    return asking(project)


@pytest.fixture
def terminal(monkeypatch):
    """As if a person sat there."""
    for module in (consent, edit_command):
        monkeypatch.setattr(module, "on_terminal", lambda: True)


@pytest.fixture
def staffed(project, monkeypatch):
    """anna is root and approver; bob approves; eve looks. anna's key is on hand."""
    monkeypatch.setenv("CALLSLIP_KEY", "anna")
    project("enrol", "anna", BARE)
    project("enrol", "bob", "--role", "approver", BARE)
    project("enrol", "eve", "--role", "viewer", BARE)
    project.accept()
    return project


class TestInbox:
    def test_nothing(self, project):
        assert project("inbox").stdout == "Nothing waits for a decision.\n"
        assert project.json("inbox") == {"waits": [], "errors": []}

    def test_all_that_is_decided_on(self, project):
        wait = ask(project)
        text = project("inbox").stdout
        for told in (
            "‖ pay needs approval", wait, "asked by", "in session s", "expires    never",
            "because    tool pay is set to ask (rule tool.pay)", "run by     python:", "amount = 100",
            f"callslip approve {wait} --project", f"callslip deny {wait} --reason", f"callslip edit {wait} --set",
        ):  # fmt: skip
            assert told in text, told
        assert text.count("‖") == 1

    def test_in_json(self, project):
        wait = ask(project)
        (told,) = project.json("inbox")["waits"]
        assert (told["id"], told["kind"], told["arguments"], told["rules"]) == (
            wait,
            "approval",
            {"amount": 100},
            ["tool.pay"],
        )
        assert told["answers"]["approve"].startswith(f"callslip approve {wait}")
        assert project.json("inbox", wait) == told

    def test_approvals_first_then_what_is_parked_the_oldest_first(self, project):
        project("run", 'call sign {"document": "d"}', "--session", "c", code=3)  # answered by its client, not a person
        process = project.start("run", "call wait_long", "--session", "p")
        project.until("started")
        process.kill()
        process.communicate()
        (project.folder / "go").touch()
        project("resume", "p", code=3)
        first, second = ask(project, session="a"), ask(project, session="b")
        waits = project.json("inbox")["waits"]
        assert [one["kind"] for one in waits] == ["approval", "approval", "parked"]
        assert [one["id"] for one in waits][:2] == [first, second]
        assert "callslip resolve" in project("inbox").stdout
        parked = waits[2]["id"]
        assert parked in project("inbox", parked).stdout
        assert first not in project("inbox", parked).stdout

    def test_one_that_is_over_says_what_became_of_it(self, project):
        wait = ask(project)
        project("deny", wait)
        assert "was denied by" in project("inbox", wait, code=2).stderr
        assert "No wait" in project("inbox", "appr_none", code=2).stderr

    @pytest.mark.requirement("APPR-07")
    def test_who_has_approved_of_how_many(self, project):
        asking(project, pay="ask_two")
        ask(project)
        text = project("inbox").stdout
        assert "approvals  0 of 2 different people" in text
        assert "callslip edit" not in text
        assert "0 of 2 have approved" in project("waits").stdout

    @pytest.mark.requirement("APPR-06")
    def test_until_when(self, project, monkeypatch):
        asking(project, more="[limits]\napproval_expires = 7200\n")
        ask(project)
        assert "expires    in 1 h" in project("inbox").stdout
        assert "expires in 1 h" in project("waits").stdout
        (expires,) = (one["wake_at"] for one in project.json("waits")["waits"])
        monkeypatch.setattr("callslip.cli.moments.now", lambda: expires - 400)
        for word in ("waits", "inbox"):
            assert "in 1 s" in project(word).stdout
        monkeypatch.setattr("callslip.cli.moments.now", lambda: expires)
        assert ", due now" in project("waits").stdout
        assert "expires    due now (" in project("inbox").stdout

    def test_a_session_whose_log_is_broken_hides_no_other(self, project):
        ask(project, session="good")
        bad = ask(project, session="bad")
        project.sql("update records set text = x'7b7d' where no = 2 and seq = 3")
        result = project("inbox", code=5)
        assert "in session good" in result.stdout
        assert bad not in result.stdout
        assert "Record 3 of session 'bad'" in result.stderr
        document = project.json("inbox", code=5)
        assert (len(document["waits"]), document["errors"][0]["code"]) == (1, "log_broken")

    @pytest.mark.requirement("APPR-03")
    def test_what_has_changed_since(self, project):
        wait = ask(project)
        project("approve", wait, "--yes")
        source = (project.folder / "app.py").read_text()
        project.write("app.py", source.replace('"""Pay an amount."""', '"""Pay an amount, really."""'))
        project("resume", "s", code=3)
        text = project("inbox").stdout
        assert "again      an earlier approval does not hold: the tool has changed" in text
        assert "asked again: the tool has changed" in project("waits").stdout

    def test_where_nothing_can_be_written(self, project, unprivileged):
        import sqlite3

        wait = ask(project)
        connection = sqlite3.connect(project.state / "ledger.db")
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.close()
        for path in (project.state, *project.state.rglob("*")):
            path.chmod(0o500 if path.is_dir() else 0o400)
        try:
            out, _ = project.finish(project.start("inbox", **unprivileged), 0)
            _, err = project.finish(project.start("approve", wait, "--yes", **unprivileged), 1)
        finally:
            for path in (project.state, *project.state.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
        assert "amount = 100" in out
        assert err.startswith("callslip: ")
        project("approve", wait, "--yes")


class TestShown:
    def test_nothing_misleads(self, project):
        """Case 21."""
        name = "p\u0430ypal.com \u202e\x1b[2J  x "
        wait = ask(project, f"find_thing {json.dumps({'name': name})}")
        for text in (project("inbox").stdout, project("approve", wait, code=2).stdout):
            assert 'name = "p⟨а U+0430⟩ypal.com ⟨U+202E⟩⟨U+001B⟩[2J␣␣x␣"' in text
            assert "! ⟨а U+0430⟩ is CYRILLIC SMALL LETTER A, which passes for a" in text
            assert "\x1b" not in text
            assert "\u202e" not in text
        assert "p⟨а U+0430⟩ypal.com" in project("waits").stdout
        assert project.json("inbox", wait)["arguments"] == {"name": name}

    def test_what_had_to_be_cut_cant_be_approved_unread(self, project, terminal):
        wait = ask(project, f"find_thing {json.dumps({'name': LINE * 300})}")
        digest = binding(project, wait)
        for words in (("--yes",), ()):
            result = project("approve", wait, *words, code=2, text="y\n")
            assert "what was not seen can't be approved" in result.stderr
            assert f"callslip inbox {wait}" in result.stderr
            assert f"--digest {digest}" in result.stderr
            assert "the rest is not shown here" in result.stdout
        assert "does not belong to this" in project("approve", wait, "--digest", "0" * 12, code=2).stderr
        shown = project("inbox").stdout
        assert "first  read it all" in shown
        assert f"approve {wait} --digest {digest}" in shown
        assert "approved" in project("approve", wait, "--digest", digest.upper()).stdout

    def test_nor_what_is_one_long_line(self, project):
        wait = ask(project, f"find_thing {json.dumps({'name': 'x' * 30_000})}")
        assert "can't be approved" in project("approve", wait, "--yes", "--json", code=2).stdout
        document = project.json("inbox", wait)
        assert document["arguments"]["name"] == "x" * 30_000
        assert project.json("approve", wait, "--digest", document["binding"][:DIGEST])["answer"] == "approved"

    def test_what_is_only_cut_in_the_list_needs_no_digest(self, project):
        wait = ask(project, f"find_thing {json.dumps({'name': LINE * 100})}")
        shown = project("inbox").stdout
        assert f"all of it: callslip inbox {wait}" in shown
        assert "--digest" not in shown
        assert "all of it" not in project("inbox", wait).stdout
        project("approve", wait, "--yes")

    def test_a_question_that_was_altered_is_not_shown(self, project):
        """Somebody who can write the log has put other arguments under the binding."""
        from callslip.core.event import genesis, link

        wait = ask(project)
        rows = project.sql("select seq, text from records order by seq")
        digest = genesis("s")
        for seq, text in rows:
            forged = bytes(text).replace(b'{"amount":100}', b'{"amount":1}') if b"approval_requested" in text else text
            digest = link(digest, bytes(forged))
            project.sql("update records set text = ?, digest = ? where seq = ?", forged, digest, seq)
        project.sql("update sessions set digest = ?", digest)
        project.sql("delete from checkpoints")
        for words in (("approve", wait, "--yes"), ("inbox", wait), ("edit", wait, "--set", "amount=2", "--yes")):
            assert "was altered after it was asked" in project(*words, code=5).stderr


@pytest.mark.requirement("APPR-01")
class TestApprove:
    def test_without_a_terminal_it_takes_yes(self, project):
        wait = ask(project)
        assert "Say --yes" in project("approve", wait, code=2).stderr
        assert "Say --yes" in project.json("approve", wait, code=2)["error"]["message"]
        result = project("approve", wait, "--yes", "--note", "checked")
        assert "amount = 100" in result.stdout
        assert f"✓ {wait}: approved. It stands in the log." in result.stdout
        assert "callslip resume s" in result.stdout
        assert "answers are advisory: no key is enrolled" in result.stderr
        assert project("resume", "s").stdout == "all done\n"
        assert project.effects() == ["pay 100"]

    def test_on_a_terminal_it_asks(self, project, terminal):
        wait = ask(project)
        for answer in ("n\n", "\n"):
            result = project("approve", wait, code=1, text=answer)
            assert "Approve it? [y/N]" in result.stderr
            assert "Nothing was written" in result.stdout
        assert "approved" in project("approve", wait, text="y\n").stdout

    def test_in_json(self, project):
        wait = ask(project)
        told = project.json("approve", wait, "--yes")
        assert (told["wait"], told["session"], told["answer"], told["enough"]) == (wait, "s", "approved", True)
        assert (told["advisory"], told["grant"], told["question"]["arguments"]) == (True, None, {"amount": 100})

    def test_the_second_is_told_who_decided(self, project):
        """Case 3."""
        wait = ask(project)
        project("approve", wait, "--yes")
        for words in (("approve", wait, "--yes"), ("deny", wait), ("edit", wait, "--set", "amount=1", "--yes")):
            assert "was approved by" in project(*words, code=2).stderr
        assert project.json("deny", wait, code=2)["error"]["code"] == "wait_conflict"

    def test_one_of_another_kind_says_how_it_is_answered(self, project):
        project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
        (wait,) = project.json("waits")["waits"]
        assert "callslip submit" in project("approve", wait["id"], "--yes", code=2).stderr
        other = ask(project, session="t")
        assert "callslip approve" in project("resolve", other, "give-up", "--reason", "x", code=2).stderr

    def test_it_goes_on_at_once(self, project):
        wait = ask(project)
        result = project("approve", wait, "--yes", "--drive")
        assert result.stdout.endswith("all done\n")
        assert f"on approval {wait}" in result.stderr
        assert project.effects() == ["pay 100"]

    def test_it_goes_on_at_once_in_json(self, project):
        wait = ask(project)
        lines = project.lines("approve", wait, "--yes", "--drive")
        assert (lines[0]["type"], lines[0]["answer"]) == ("decision", "approved")
        assert (lines[-1]["type"], lines[-1]["status"]) == ("ended", "finished")

    def test_what_cant_drive_says_so_before_anything_is_written(self, project):
        wait = ask(project)
        assert (
            "has no 'nothing'" in project("approve", wait, "--yes", "--drive", "--app", "app.py:nothing", code=2).stderr
        )
        assert [one["id"] for one in project.json("inbox")["waits"]] == [wait]
        assert "--model goes with --drive" in project("approve", wait, "--yes", "--model", "x", code=2).stderr

    @pytest.mark.requirement("APPR-07")
    def test_of_several_people_one_is_not_enough(self, project):
        asking(project, pay="ask_two")
        wait = ask(project)
        assert "different people must approve" in project("approve", wait, "--yes", code=8).stderr  # the requester
        assert "can't be granted by one" in project("approve", wait, "--yes", "--always", code=2).stderr
        assert "can't be edited" in project("edit", wait, "--set", "amount=1", "--yes", code=2).stderr

    def test_without_the_tools_code(self, project):
        """Case 23."""
        wait = ask(project)
        (project.folder / "app.py").rename(project.folder / "gone.py")
        elsewhere = ("--state", str(project.state), "--project", "/")
        from click.testing import CliRunner

        from callslip.cli.main import cli

        result = CliRunner().invoke(cli, ["approve", wait, "--yes", *elsewhere])
        assert (result.exit_code, "amount = 100" in result.stdout) == (0, True)
        (project.folder / "gone.py").rename(project.folder / "app.py")
        assert project("resume", "s").stdout == "all done\n"

    def test_on_a_real_terminal(self, project):
        wait = ask(project)
        assert "Nothing was written" in typed(project, "n\n", "approve", wait)
        told = typed(project, "y\n", "approve", wait)
        assert "Approve it? [y/N]" in told
        assert f"{wait}: approved" in told
        assert project("resume", "s").stdout == "all done\n"

    @pytest.mark.parametrize("words", [("approve",), ("approve", "--always"), ("edit", "--set", "amount=1")])
    def test_ctrl_c_at_the_question_ends_at_once(self, project, words):
        wait = ask(project)
        told, code = seated(project, "\x03", words[0], wait, *words[1:])
        assert (code, told.count("Interrupted.")) == (130, 1), told
        assert "callslip: Interrupted. Nothing was written; the question stays open." in told
        assert project.json("inbox", wait)["id"] == wait

    def test_arguments_in_a_file_that_is_not_there(self, project):
        wait = ask(project)
        said = project("edit", wait, "--arguments", "@nofile", code=2).stderr
        assert said == "callslip: --arguments nofile can't be read: No such file or directory. Nothing was written.\n"

    def test_ctrl_c_in_the_editor(self, project):
        """It is the editor's, and ends all of it only where it ends that."""
        wait = ask(project)
        (project.folder / "dies").write_text("#!/bin/sh\necho '[y/N]'\nread x\n")
        (project.folder / "lives").write_text(
            "#!/bin/sh\ntrap 'echo kept; echo {\\\"amount\\\": 7} > \"$1\"; exit 0' INT\necho '[y/N]'\nread x\n"
        )
        told, code = seated(project, "\x03", "edit", wait, env={"EDITOR": f"sh {project.folder / 'dies'}"})
        assert (code, "callslip: Interrupted. Nothing was written; the question stays open." in told) == (130, True), (
            told
        )
        words = ("edit", wait, "--yes")
        told, code = seated(project, "\x03", *words, env={"EDITOR": f"sh {project.folder / 'lives'}"})
        assert (code, "kept" in told, "amount = 7" in told) == (0, True, True), told

    def test_ctrl_c_at_the_passphrase(self, project, tmp_path, monkeypatch):
        wait = ask(project)
        secret = tmp_path / "passphrase"
        secret.write_text("so long a phrase\n")
        secret.chmod(0o600)
        with monkeypatch.context() as now:
            now.setenv("CALLSLIP_PASSPHRASE_FILE", str(secret))
            project("enrol", "anna")
            project.accept()
        told, code = seated(project, "\x03", "approve", wait, "--yes", prompt=b"Passphrase of")
        assert (code, "callslip: Interrupted. Nothing was written." in told) == (130, True), told


def typed(project, answer, *words):
    """The command on a terminal of its own, where a person types; what they see."""
    return seated(project, answer, *words)[0]


def _own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C becomes a signal only on a terminal that the session controls


def seated(project, answer, *words, prompt=b"[y/N]", env=None):
    """The same, with the exit code; ``answer`` is typed once the prompt is there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "callslip.cli.main", *words, "--project", str(project.folder)],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=project.folder, start_new_session=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "300", **(env or {})},
        preexec_fn=_own_terminal,  # noqa: PLW1509 - there is no other thread
    )  # fmt: skip
    os.close(theirs)
    seen, typed_already = b"", ""
    try:
        for _ in range(500):
            if not select.select([ours], [], [], 3)[0]:
                # Between its prompt and its reading, Python hears a signal too late; so would a person press it again.
                if prompt in seen and typed_already == "\x03":
                    os.write(ours, b"\x03")
                continue
            try:
                part = os.read(ours, 4096)
            except OSError:  # its last holder has closed it
                break
            if not part:
                break
            seen += part
            if answer and prompt in seen:
                os.write(ours, answer.encode())
                typed_already, answer = answer, ""
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return seen.decode(), process.returncode


@pytest.mark.requirement("APPR-04")
class TestGrants:
    def test_the_rule_is_shown_before_it_is_written(self, project, terminal):
        wait = ask(project)
        result = project("approve", wait, "--always", "--at-most", "amount=500", code=1, text="n\n")
        assert "From then on, without asking:" in result.stdout
        assert "amount from 0 up to 500; in every session of" in result.stdout
        assert "Approve it, and the rule?" in result.stderr
        assert project.json("grants")["grants"] == []
        project("approve", wait, "--always", "--at-most", "amount=500", text="y\n")
        (grant,) = project.json("grants")["grants"]
        assert f"callslip grants revoke {grant['id']}" in result.stdout.replace(
            result.stdout.partition("revoke ")[2].split()[0], grant["id"]
        )
        project("resume", "s")
        project("run", 'call pay {"amount": 400}', "--session", "t")
        project("run", 'call pay {"amount": 501}', "--session", "u", code=3)
        assert project.effects() == ["pay 100", "pay 400"]
        assert f"on grant {grant['id']}" in project("show", "t").stdout

    def test_for_the_session(self, project):
        """Case 14."""
        told = project.json("approve", ask(project), "--session", "--yes")
        assert "in session s" in told["grant"]["words"]
        project("resume", "s")
        project("run", 'call pay {"amount": 100}', "--session", "s")
        project("run", 'call pay {"amount": 101}', "--session", "s", code=3)
        project("run", 'call pay {"amount": 100}', "--session", "t", code=3)
        assert project.effects() == ["pay 100", "pay 100"]

    def test_anything_for_an_argument(self, project):
        wait = ask(project, 'find_thing {"name": "x"}')
        project("approve", wait, "--always", "--free", "name", "--yes")
        project("resume", "s")
        assert "done" in project("run", 'call find_thing {"name": "y"}', "--session", "t").stdout

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--once", "--always"], "exclude each other"),
            (["--session", "--always"], "exclude each other"),
            (["--free", "amount"], "go with --session or --always"),
            (["--once", "--at-most", "amount=5"], "go with --session or --always"),
            (["--always", "--at-most", "amount"], "names no bound"),
            (["--always", "--at-most", "amount=x"], "--at-most amount needs a number. Nothing was written."),
            (["--always", "--at-most", "amount=true"], "--at-most amount needs a number."),
            (["--always", "--at-most", "=5"], "names no bound"),
            (["--always", "--at-most", "amount=500", "--at-most", "amount=600"], "twice"),
            (["--always", "--at-most", "amount=50"], "no number from 0 to 50"),
            (["--always", "--free", "name"], "no argument 'name'"),
        ],
    )
    def test_what_can_be_no_rule(self, project, words, told):
        wait = ask(project)
        assert told in project("approve", wait, "--yes", *words, code=2).stderr
        assert project.json("grants")["grants"] == []
        assert [one["id"] for one in project.json("inbox")["waits"]] == [wait]


@pytest.mark.requirement("APPR-04")
class TestDeny:
    def test_the_model_is_told_why(self, project):
        """Case 11."""
        wait = ask(project)
        result = project("deny", wait, "--reason", "not this month")
        assert "amount = 100" in result.stdout
        assert f"{wait}: denied" in result.stdout
        project("resume", "s")
        assert project.effects() == []
        shown = project("show", "s").stdout
        assert "denied     by" in shown
        assert "not this month" in shown
        assert "approval_denied" in shown

    @pytest.mark.requirement("APPR-05")
    def test_its_sibling_is_not_touched(self, project):
        """Cases 9 and 10."""
        project(
            "run",
            'call pay {"amount": 1}\ncall pay {"amount": 2}\ncall find_thing {"name": "x"}',
            "--session",
            "s",
            code=3,
        )
        first, second, third = project.json("inbox")["waits"]
        project("deny", first["id"], "--reason", "no")
        project("approve", second["id"], "--yes")
        project("deny", third["id"])
        project("resume", "s")
        assert project.effects() == [f"pay {second['arguments']['amount']}"]

    def test_in_json(self, project):
        wait = ask(project)
        told = project.json("deny", wait, "--reason", "no")
        assert (told["answer"], told["reason"], told["wait"]) == ("denied", "no", wait)


@pytest.mark.requirement("APPR-04")
class TestEdit:
    def test_one_argument(self, project):
        wait = ask(project)
        result = project("edit", wait, "--set", "amount=5", "--yes", "--note", "less")
        assert "amount = 5" in result.stdout
        assert "changed    amount: 100 → 5" in result.stdout
        project("resume", "s")
        assert project.effects() == ["pay 5"]
        assert "edited     by" in project("show", "s").stdout
        assert "changed amount: 100 → 5: less" in project("show", "s").stdout

    def test_the_change_is_told_as_it_is_kept(self, project):
        wait = ask(project)
        assert "changed    amount: 100 → 7" in project("edit", wait, "--set", "amount=7.0", "--yes").stdout
        project("resume", "s")
        assert project.effects() == ["pay 7"]

    def test_all_of_them(self, project):
        (project.folder / "args.json").write_text('{"amount": 6}')
        for number, value in enumerate(('{"amount": 7}', f"@{project.folder / 'args.json'}")):
            wait = ask(project, session=f"s{number}")
            told = project.json("edit", wait, "--arguments", value, "--yes")
            assert told["answer"] == "edited"
            project("resume", f"s{number}")
        assert project.effects() == ["pay 7", "pay 6"]

    def test_it_asks(self, project, terminal):
        wait = ask(project)
        assert "Nothing was written" in project("edit", wait, "--set", "amount=5", code=1, text="n\n").stdout
        assert "edited" in project("edit", wait, "--set", "amount=5", text="y\n").stdout

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--set", "amount=x"], "is no JSON"),
            (["--set", "amount"], "names no value"),
            (["--set", "=5"], "names no value"),
            (["--set", "amount=1", "--set", "amount=2"], "twice"),
            (["--set", 'amount="much"'], "amount must be of type integer"),
            (["--set", "tool=1"], "tool"),
            (["--set", "amount=100"], "Nothing is changed"),
            (["--arguments", "[]"], "no JSON object"),
            (["--arguments", "{}"], "amount"),
            (["--arguments", "@nowhere.json"], "can't be read"),
            (["--arguments", "{}", "--set", "amount=1"], "exclude each other"),
            ([], "no terminal to edit on"),
        ],
    )
    def test_what_is_no_edit_leaves_it_open(self, project, words, told):
        """Cases 5 and 7."""
        wait = ask(project)
        for yes in (("--yes",), ()):  # before anybody is asked
            assert told in project("edit", wait, *yes, *words, code=2).stderr
        assert [one["id"] for one in project.json("inbox")["waits"]] == [wait]
        assert project.json("edit", wait, "--yes", *words, code=2)["error"]["message"]

    def test_in_an_editor(self, project, terminal, monkeypatch):
        wait = ask(project)
        editor(project, monkeypatch, "value['amount'] = 9")
        result = project("edit", wait, text="y\n")
        assert "changed    amount: 100 → 9" in result.stdout
        project("resume", "s")
        assert project.effects() == ["pay 9"]

    def test_what_does_not_fit_may_be_mended(self, project, terminal, monkeypatch):
        wait = ask(project)
        editor(project, monkeypatch, "value['amount'] = 9 if value['amount'] == 'x' else 'x'")
        result = project("edit", wait, text="y\ny\n")
        assert "amount must be of type integer" in result.stderr
        assert "Edit it again?" in result.stderr
        project("resume", "s")
        assert project.effects() == ["pay 9"]

    def test_or_given_up(self, project, terminal, monkeypatch):
        wait = ask(project)
        editor(project, monkeypatch, "value['amount'] = 'x'")
        assert "stays open" in project("edit", wait, code=2, text="n\n").stderr
        editor(project, monkeypatch, "raise SystemExit(3)")
        assert "ended with 3" in project("edit", wait, code=2).stderr
        monkeypatch.setenv("VISUAL", "/nowhere/editor")
        assert "can't be used" in project("edit", wait, code=2).stderr
        monkeypatch.setenv("VISUAL", "true")
        assert "Nothing is changed" in project("edit", wait, code=2).stderr
        assert [one["id"] for one in project.json("inbox")["waits"]] == [wait]

    def test_a_large_one_takes_its_own_digest(self, project):
        from callslip.core import canon

        wait = ask(project, 'find_thing {"name": "x"}')
        long = {"name": "y" * 30_000}
        (project.folder / "args.json").write_text(json.dumps(long))
        words = ("edit", wait, "--arguments", f"@{project.folder / 'args.json'}", "--yes")
        assert "can't be approved" in project(*words, code=2).stderr
        assert "does not belong" in project(*words, "--digest", binding(project, wait), code=2).stderr
        digest = canon.digest(canon.canonical(long))[:DIGEST]
        assert "edited" in project(*words, "--digest", digest).stdout

    @pytest.mark.requirement("APPR-03")
    def test_what_policy_denies_is_denied_when_it_is_used(self, project):
        """Case 6: an edit goes through today's gate again."""
        wait = ask(project)
        project("edit", wait, "--set", "amount=5", "--yes")
        asking(project, pay="deny")
        project("resume", "s")
        assert project.effects() == []
        assert "tool.pay" in json.dumps(project.json("show", "s")["records"][-5:])


def editor(project, monkeypatch, change):
    """An editor that does this to the arguments."""
    script = project.folder / "editor.py"
    script.write_text(
        f"import json, sys\npath = sys.argv[1]\nvalue = json.load(open(path))\n{change}\n"
        "json.dump(value, open(path, 'w'))\n"
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script)]))


class TestWho:
    def test_the_key_on_hand_signs(self, staffed):
        wait = ask(staffed)
        result = staffed("approve", wait, "--yes")
        assert "advisory" not in result.stderr
        staffed("resume", "s")
        assert staffed.effects() == ["pay 100"]
        assert "approved   by anna" in staffed("show", "s").stdout
        assert "unsigned" not in staffed("show", "s").stdout

    @pytest.mark.parametrize("words", [("approve", "--yes"), ("deny",), ("edit", "--set", "amount=1", "--yes")])
    def test_whoever_may_not_is_told_before_they_are_asked(self, staffed, monkeypatch, words):
        wait = ask(staffed)
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        command, *rest = words
        result = staffed(command, wait, *rest, code=8)
        assert "'eve', whose key is on hand, is no approver. Nothing was written. Ask anna or bob" in result.stderr
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        staffed(command, wait, *rest)

    def test_without_a_key_nobody(self, staffed, monkeypatch):
        wait = ask(staffed)
        monkeypatch.delenv("CALLSLIP_KEY")
        assert "Several enrolled keys are on hand" in staffed("approve", wait, "--yes", code=8).stderr
        monkeypatch.setenv("XDG_CONFIG_HOME", str(staffed.folder / "none"))
        assert "No enrolled key is on hand" in staffed("approve", wait, "--yes", code=8).stderr
        assert [one["id"] for one in staffed.json("inbox")["waits"]] == [wait]

    def test_identity_is_no_option(self, staffed):
        for command in ("approve", "deny", "edit"):
            text = staffed(command, "--help").stdout
            assert "--as" not in text
            assert "--by" not in text
            assert "--key" not in text

    @pytest.mark.requirement("APPR-07")
    def test_for_somebody_else(self, staffed, monkeypatch):
        wait = ask(staffed)
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        assert "has not handed this on" in staffed("approve", wait, "--yes", "--for", "bob", code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        staffed("principals", "delegate", "eve", "--until", "3d")
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        staffed("approve", wait, "--yes", "--for", "bob")
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        staffed("resume", "s")
        assert staffed.effects() == ["pay 100"]
        assert "approved   by eve, for bob" in staffed("show", "s").stdout

    def test_verdicts_and_results_too(self, staffed, monkeypatch):
        staffed("run", 'call sign {"document": "d"}', "--session", "c", code=3)
        (wait,) = staffed.json("waits", "c")["waits"]
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        assert (
            "whose key is on hand, is no caller or operator"
            in staffed("submit", wait["id"], "--result", "1", code=8).stderr
        )
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        staffed("submit", wait["id"], "--result", '"signed"')
        assert staffed("resume", "c").stdout == "all done\n"

    def test_a_verdict_is_an_operators(self, staffed, monkeypatch):
        process = staffed.start("run", "call wait_long", "--session", "p")
        staffed.until("started")
        process.kill()
        process.communicate()
        (staffed.folder / "go").touch()
        staffed("resume", "p", code=3)
        (wait,) = staffed.json("waits", "p")["waits"]
        words = ("resolve", wait["id"], "happened", "--reason", "seen", "--result", '"went"')
        monkeypatch.setenv("CALLSLIP_KEY", "bob")
        assert "whose key is on hand, is no operator" in staffed(*words, code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        staffed(*words)
        assert staffed("resume", "p").stdout == "all done\n"
