"""The section Keep: export, import, seal, restore, erase."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest


@pytest.fixture
def parked(project):
    """A session that waits for its client."""
    project("run", 'call sign {"document": "Ada"}\ncall shout {"size": 9000}', "--session", "s", code=3)
    return project


@pytest.fixture
def secret(project):
    """A protected session at rest."""
    project.configure('app = "app.py:rt"\nstate = "state"\n[data]\nencrypt = true\n')
    project("run", 'call shout {"size": 9000}\ncall pay {"amount": 17}', "--session", "s")
    return project


def age(project):
    for path in (project.state / "blobs").glob("*/*"):
        os.utime(path, (time.time() - 7200,) * 2)


@pytest.mark.requirement("LEDG-06")
class TestMoving:
    def test_sealed_exported_taken_in_and_driven_elsewhere(self, parked):
        file = parked.folder / "s.clx"
        result = parked("export", "s", str(file), "--seal", "--to", "berlin", "--reason", "moving")
        assert "It is sealed: import the file in one place" in result.stdout
        assert file.stat().st_mode & 0o777 == 0o600
        assert parked.json("sessions")["sessions"][0]["status"] == "sealed"
        assert "went to berlin: moving" in parked("resume", "s", code=2).stderr
        assert "Nothing is waited for" in parked("waits").stdout
        there = str(parked.folder / "there")
        result = parked("import", str(file), "--state", there)
        assert "sealed, so it is whole" in result.stdout
        assert f"callslip resume s --state {there}" in result.stdout
        first, then = result.stdout.index("  first: callslip trust --state"), result.stdout.index("  then:")
        assert first < then
        parked.accept("--state", there)
        (wait,) = parked.json("waits", "--state", there)["waits"]
        parked("submit", wait["id"], "--result", '"signed"', "--state", there)
        assert "all done" in parked("resume", "s", "--state", there).stdout
        for where in ((), ("--state", there)):
            assert parked.json("verify", *where)["ok"]
        assert "to go to berlin: moving" in parked("show", "s").stdout

    def test_accepting_comes_first_only_where_it_has_not_been_done(self, parked):
        there, copy = str(parked.folder / "there"), str(parked.folder / "copy.clx")
        parked("run", "hello", "--session", "t")
        parked("export", "s", copy)
        told = parked("import", copy, "--state", there).stdout
        assert told.index(f"first: callslip trust --state {there}") < told.index("callslip resolve")
        assert f"first: callslip trust --state {there}" in parked("restore", there).stdout
        parked.accept("--state", there)
        assert "trust" not in parked("restore", there).stdout
        parked("export", "t", str(parked.folder / "t.clx"))
        assert "trust" not in parked("import", str(parked.folder / "t.clx"), "--state", there).stdout

    def test_a_copy_says_what_it_does_not_know_and_how_to_go_on(self, parked):
        file = str(parked.folder / "s.clx")
        assert "It is a copy" in parked("export", "s", file).stdout
        there = str(parked.folder / "there")
        result = parked("import", file, "--state", there)
        assert "a copy: it was exported without a seal" in result.stdout
        (line,) = [line for line in result.stdout.splitlines() if "resolve" in line]
        _, _, wait, answer, *_ = line.split()
        parked.accept("--state", there)
        assert parked("resume", "s", "--state", there, code=3)
        assert "copy: its log was taken in without its seal" in parked("waits", "--state", there).stdout
        parked("resolve", wait, answer, "--state", there)
        assert "‖ copy: " not in parked("waits", "--state", there).stdout
        shown = parked("show", "s", "--state", there).stdout
        assert "what happened after the record before is not known" in shown

    def test_in_json(self, parked):
        file = str(parked.folder / "s.clx")
        exported = parked.json("export", "s", file)
        assert (exported["sealed"], exported["payloads"], exported["protected"]) == (False, 1, False)
        imported = parked.json("import", file, "--state", str(parked.folder / "there"))
        assert (imported["proven"], imported["records"]) == (False, exported["records"])
        assert parked.json("seal", "s") == {"session": "s", "sealed": True}

    def test_seal_says_what_comes_next(self, parked):
        assert "callslip export s FILE" in parked("seal", "s").stdout
        assert "was sealed by" in parked("seal", "s", code=2).stderr
        assert parked.json("export", "s", str(parked.folder / "x"))["sealed"]

    def test_a_place_that_cant_be_written_costs_no_session(self, parked):
        assert "can't be written" in parked("export", "s", "none/x", "--seal", code=2).stderr
        assert parked.json("sessions")["sessions"][0]["status"] == "waiting"
        (parked.folder / "x").touch()
        assert "is there already" in parked("export", "s", str(parked.folder / "x"), "--seal", code=2).stderr
        assert parked.json("sessions")["sessions"][0]["status"] == "waiting"

    @pytest.mark.parametrize("words", [("--to", "x"), ("--reason", "x")])
    def test_options_of_a_seal_go_with_it(self, parked, words):
        assert "go with --seal" in parked("export", "s", "x", *words, code=2).stderr

    def test_what_there_is_not(self, parked):
        assert "no session 'none'" in parked("export", "none", str(parked.folder / "x"), code=2).stderr
        assert "no session 'none'" in parked("seal", "none", code=2).stderr
        assert not (parked.folder / "x").exists()
        assert "does not exist" in parked("import", "none", code=2).stderr
        (parked.folder / "bad").write_text("nonsense")
        assert "it is no export" in parked("import", str(parked.folder / "bad"), code=5).stderr

    def test_twice_is_once(self, parked):
        file = str(parked.folder / "s.clx")
        parked("export", "s", file)
        assert "is here already" in parked("import", file, code=2).stderr

    def test_how_much_it_may_unpack_to(self, parked):
        assert "--most" in parked("import", __file__, "--most", "0", code=2).stderr

    def test_a_backup_can_be_exported_from_where_nothing_can_be_written(self, parked):
        back = parked.folder / "back"
        back.mkdir(mode=0o700)
        with (
            closing(sqlite3.connect(parked.state / "ledger.db")) as log,
            closing(sqlite3.connect(back / "ledger.db")) as copy,
        ):
            log.backup(copy)
        (back / "ledger.db").chmod(0o400)
        (parked.state / "blobs").rename(back / "blobs")
        assert parked.json("export", "s", str(parked.folder / "x"), "--state", str(back))["payloads"] == 1


@pytest.mark.requirement("LEDG-06")
class TestRestore:
    def test_every_session_that_might_repeat_something_waits_for_a_word(self, parked):
        parked("run", "hello", "--session", "at rest")
        result = parked("restore", str(parked.state), "--reason", "disk died")
        assert "look what was done in it since" in result.stdout
        assert "In 2 sessions the log's silence proves nothing any more; 1 of them at rest" in result.stdout
        assert {head["status"] for head in parked.json("sessions")["sessions"]} == {"restored"}
        (line,) = [line for line in result.stdout.splitlines() if "resolve" in line]
        parked("resolve", *line.split()[3:5])
        again = parked.json("restore", str(parked.state))
        assert {one["session"]: one["voided"] for one in again["sessions"]} == {"s": True, "at rest": False}

    def test_one_that_is_driven_is_left_and_said(self, project):
        process = project.start("run", "call wait_long", "--session", "s")
        project.until("started")
        result = project("restore", str(project.state), code=4)
        assert "is driven by process" in result.stdout
        (project.folder / "go").touch()
        project.finish(process, 0)

    def test_the_folder_is_said_once(self, parked):
        assert "without --state" in parked("restore", str(parked.state), "--state", "x", code=2).stderr


@pytest.mark.requirement("LEDG-08")
class TestErase:
    def test_a_whole_session(self, secret):
        assert "xxxx" in secret("show", "s", "--payloads").stdout
        result = secret("erase", "s", "--reason", "she asked")
        assert "payloads erased, 1 key destroyed" in result.stdout
        assert "in clear text" not in result.stdout
        shown = secret("show", "s", "--payloads").stdout
        assert "xxxx" not in shown
        assert "amount" not in shown
        assert "[erased on 20" in shown
        assert "by root: she asked]" in shown
        assert "everything encrypted before, by root: she asked" in shown
        assert "everything encrypted erased on 20" in secret("verify").stdout
        assert secret.json("verify")["sessions"][0]["erased"][0]["reason"] == "she asked"
        assert "nothing is left of it" in secret("erase", "s", "--reason", "again").stdout
        assert "You said: hello again" in secret("run", "hello again", "--session", "s").stdout
        assert secret.json("verify")["ok"]

    def test_one_call(self, secret):
        records = secret.json("show", "s")["records"]
        call = next(
            one["record"]["event"]["call_id"] for one in records if one["record"]["event"]["type"] == "function_call"
        )
        assert "xxxx" in secret("show", "s", "--payload", call).stdout
        assert "2 payloads erased" in secret("erase", "s", "--call", call, "--reason", "asked").stdout
        shown = secret("show", "s", "--payload", call).stdout
        assert "xxxx" not in shown
        assert "[erased on 20" in shown
        assert "paid 17" in secret("show", "s", "--payloads").stdout

    def test_one_payload_in_json(self, secret):
        records = secret.json("show", "s")["records"]
        address = next(
            one["record"]["event"]["structured"]["blob"]
            for one in records
            if one["record"]["event"]["type"] == "function_response"
        )
        done = secret.json("erase", "s", "--blob", address, "--reason", "asked")
        assert (done["payloads"], done["keys"]) == (1, 0)

    def test_what_is_in_clear_is_said_to_stay(self, project):
        project("run", 'call shout {"size": 9000}', "--session", "s")
        assert "less than a minute ago" in project("erase", "s", "--reason", "asked", code=4).stderr
        age(project)
        result = project("erase", "s", "--reason", "asked")
        assert "1 payload erased" in result.stdout
        assert "in clear text; nothing can take them out" in result.stdout
        assert project.json("verify")["ok"]

    def test_an_erasure_of_nothing_is_a_failure(self, project):
        project("run", "hello", "--session", "open")
        result = project("erase", "open", "--reason", "asked", code=1)
        assert "! open: nothing could be erased.\n" in result.stdout
        assert "texts and small payloads stand in the log itself, in clear text; nothing can take them" in result.stdout
        assert project.json("erase", "open", "--reason", "asked", code=1)["payloads"] == 0

    def test_payloads_that_nobody_names(self, project):
        project("run", 'call shout {"size": 9000}', "--session", "s")
        path = project.state / "blobs" / "ab"
        path.mkdir(mode=0o700, exist_ok=True)
        (path / ("0" * 62)).write_bytes(b"orphan")
        age(project)
        assert project.json("erase", "--unreferenced") == {"finished": [], "removed": 1}
        assert "0 payloads that no session names" in project("erase", "--unreferenced").stdout
        assert project.json("verify")["ok"]

    def test_unfinished_ones(self, secret):
        assert "No erasure is unfinished" in secret("erase", "--unfinished").stdout
        kill = (
            "import os, signal, sys; from callslip import failpoint; from callslip.cli.main import main;"
            "failpoint.listen(lambda name: name == 'erase.recorded' and os.kill(os.getpid(), signal.SIGKILL));"
            f"sys.argv = ['callslip', 'erase', 's', '--reason', 'asked', '--project', {str(secret.folder)!r}]; main()"
        )
        assert subprocess.run([sys.executable, "-c", kill], check=False, cwd=secret.folder).returncode == -9
        report = secret.json("verify", code=5)["sessions"][0]
        assert "`callslip erase --unfinished` finishes it" in report["problems"][0]["message"]
        assert "s: its erasure is done" in secret("erase", "--unfinished").stdout
        assert secret.json("verify")["ok"]

    @pytest.mark.parametrize(
        "words",
        [
            (),
            ("s",),
            ("s", "--reason", " "),
            ("s", "--reason", "x", "--call", "c", "--blob", "b"),
            ("s", "--reason", "x", "--unreferenced"),
            ("--call", "c"),
            ("--reason", "x", "--unfinished"),
        ],
    )
    def test_what_cant_be_meant(self, secret, words):
        assert "othing was erased" in secret("erase", *words, code=2).stderr
        assert secret.json("verify")["ok"]

    def test_a_call_that_waits_needs_what_it_was_given(self, parked):
        age(parked)
        assert "has no answer yet" in parked("erase", "s", "--reason", "asked", code=2).stderr


@pytest.mark.requirement("LEDG-08")
def test_nothing_of_a_protected_session_lies_in_its_database(secret):
    with closing(sqlite3.connect(secret.state / "ledger.db")) as database:
        texts = [text for (text,) in database.execute("select text from records")]
    assert len(texts) > 10
    assert not [text for text in texts if b"amount" in text or b"all done" in text or b"let me see" in text]


@pytest.mark.requirement("LEDG-08")
def test_whoever_looks_at_payloads_stands_in_the_audit(secret):
    secret("show", "s")
    before = secret.lines("audit", "query", "--kind", "payload_read")
    secret("show", "s", "--payloads")
    after = secret.lines("audit", "query", "--kind", "payload_read")
    assert len(after) == len(before) + 1
    assert (after[-1]["session"], after[-1]["actor"], after[-1]["output"]) == ("s", "root", "*")
