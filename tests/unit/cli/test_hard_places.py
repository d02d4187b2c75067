"""State that is damaged, full, gone or may only be read: what doctor and verify say, and that looking still works."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest

from callslip.cli import checks_of_state
from callslip.errors import LedgerUnavailable, LogBroken
from callslip.ledgers import connection as module
from callslip.ledgers.connection import check_version, translate, why_refused
from callslip.ledgers.sqlite_reader import SqliteReader, damages


def doctor(project, code=1):
    report = project.json("doctor", code=code)
    return {one["check"]: (one["level"], one["detail"]) for one in report["checks"]}, report


def faults(report):
    return [one["check"] for one in report["checks"] if one["level"] == "bad"]


def truncate(project):
    connection = sqlite3.connect(project.state / "ledger.db")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


@pytest.fixture
def grown(project):
    """A log of some ninety kilobytes."""
    for _ in range(5):
        project("run", "\n".join(['call shout {"size": 3000}'] * 4), "--session", "s")
    truncate(project)
    return project


def spoil(path, at, seed=3, size=3000):
    random.seed(seed)
    data = bytearray(path.read_bytes())
    data[at : at + size] = random.randbytes(size)
    path.write_bytes(data)


def test_verify_finds_damage_that_no_record_shows(grown):
    path = grown.state / "ledger.db"
    spare = sqlite3.connect(path)
    (page,) = spare.execute("select rootpage from sqlite_master where name = 'waits'").fetchone()
    spare.close()
    spoil(path, (page - 1) * 4096, size=4096)
    report = grown.json("verify", code=5)
    assert report["ok"] is False
    assert report["database"]
    text = grown("verify", code=5).stdout
    assert "✗ ledger.db  the database file is damaged" in text
    assert "run `callslip verify`" not in text
    _, found = doctor(grown)
    assert faults(found) == ["log"]


@pytest.mark.parametrize("part", [0.3, 0.5, 0.7])
def test_random_bytes_in_the_middle_are_found_by_verify_and_doctor(grown, part):
    path = grown.state / "ledger.db"
    # A whole page's beginning: doctor looks at pages, and leaves the bytes of a payload within one to `verify`.
    spoil(path, int(path.stat().st_size * part) // 4096 * 4096)
    assert grown.json("verify", code=5)["ok"] is False
    checks, _ = doctor(grown)
    assert checks["log"][0] == "bad"
    assert "damaged" in checks["log"][1]


def test_an_index_that_tells_another_name_is_found(grown):
    path = grown.state / "ledger.db"
    data = path.read_bytes()
    spare = sqlite3.connect(path)
    (page,) = spare.execute(
        "select rootpage from sqlite_master where name like 'sqlite_autoindex_sessions%'"
    ).fetchone()
    spare.close()
    at = data.index(b"s", (page - 1) * 4096 + 4000)
    path.write_bytes(data[:at] + b"t" + data[at + 1 :])
    assert grown.json("verify", code=5)["database"]


def test_doctor_reads_the_last_record_of_each_session(project):
    project("run", "hello", "--session", "s")
    checks, _ = doctor(project, code=0)
    assert checks["log"][1].endswith("the last record of each session fits; `callslip verify` checks every byte")
    project.sql("update records set text = cast(replace(text, '\"v\":1', '\"v\":9') as blob) where seq = 3")
    doctor(project, code=0)  # in the middle: verify's affair
    project.sql("update records set text = cast(replace(text, '\"v\":1', '\"v\":9') as blob)")
    checks, report = doctor(project)
    assert faults(report) == ["log"]
    assert "the end of a session doesn't fit" in checks["log"][1]


def test_doctor_has_no_time_for_a_large_database(project, monkeypatch):
    project("run", "hello", "--session", "s")
    monkeypatch.setattr(checks_of_state, "damages", lambda *_, **__: None)
    checks, _ = doctor(project, code=0)
    assert checks["log"][0] == "warn"
    assert "`callslip verify`" in checks["log"][1]


def test_a_log_that_is_gone_while_the_rest_is_there(project):
    project("run", 'call shout {"size": 9000}', "--session", "s")
    for path in project.state.glob("ledger.db*"):
        path.unlink()
    checks, _ = doctor(project)
    assert "ledger.db is gone, though installation.key, 1 payload of it remain" in checks["log"][1]
    shutil.rmtree(project.state)
    checks, _ = doctor(project)
    assert checks["state folder"][0] == "warn"
    assert checks["accepted files"][0] == "bad"  # what was accepted is gone with it


# Where nothing can be written


@pytest.fixture
def locked(project):
    project("run", 'call shout {"size": 9000}', "--session", "s")
    yield project
    for path in (project.state, *project.state.rglob("*")):
        path.chmod(0o700)


def lock(project):
    for path in (project.state, *project.state.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)


@pytest.mark.parametrize("beside", [False, True])
def test_looking_works_in_a_folder_that_may_only_be_read(locked, unprivileged, beside):
    if beside:  # what was committed last stands in the -wal only
        holding = sqlite3.connect(locked.state / "ledger.db")
        holding.execute("select count(*) from records").fetchone()
        locked("run", "the last words", "--session", "s")
        kept = (locked.state / "ledger.db-wal").read_bytes()
        holding.close()
        (locked.state / "ledger.db-wal").write_bytes(kept)
        (locked.state / "ledger.db-wal").chmod(0o600)
        (locked.state / "ledger.db-shm").unlink(missing_ok=True)
    else:
        truncate(locked)
    lock(locked)
    for words, told in (
        (("sessions",), "s        finished"),
        (("show", "s", "--payloads"), "evil"),
        (("waits",), "Nothing is waited for"),
        (("verify", "--payloads"), "what was written"),
    ):
        out, _ = locked.finish(locked.start(*words, **unprivileged), 0)
        assert told in out
        if beside and words[0] == "show":
            assert "the last words" in out
    for words in (("run", "x", "--session", "s"), ("send", "s", "x"), ("stop", "s")):
        _, err = locked.finish(locked.start(*words, **unprivileged), 1)
        assert "its folder can't be written by you" in err
    out, _ = locked.finish(locked.start("doctor", **unprivileged), 1)
    assert out.count("✗") == 1
    assert "backup" not in out


@contextmanager
def mounted(folder, *options):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("needs the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def program(project, *words):
    return subprocess.run(
        [sys.executable, "-m", "callslip.cli.main", *words, "--project", str(project.folder)],
        capture_output=True, text=True, cwd=project.folder, check=False,
    )  # fmt: skip


def test_a_full_disk_is_named_and_the_log_is_still_looked_at(project, tmp_path):
    place = tmp_path / "disk"
    with mounted(place, "-o", "size=2m"):
        project.configure(f'app = "app.py:rt"\nstate = "{place}/state"\n')
        assert program(project, "run", "hello", "--session", "s").returncode == 0
        filler = os.open(place / "filler", os.O_CREAT | os.O_WRONLY)
        with pytest.raises(OSError):
            while True:
                os.write(filler, b"x" * 4096)
        os.close(filler)
        told = program(project, "doctor")
        assert told.returncode == 1
        assert "the disk is full. Make room" in told.stdout
        assert "restore a backup" not in told.stdout
        assert "hello" in program(project, "show", "s").stdout
        refused = program(project, "run", "x", "--session", "s")
        assert refused.returncode == 1
        assert "the disk is full" in refused.stderr


def test_a_read_only_mount_is_named_and_the_log_is_still_looked_at(project, tmp_path):
    place = tmp_path / "disk"
    with mounted(place):
        project.configure(f'app = "app.py:rt"\nstate = "{place}/state"\n')
        assert program(project, "run", "hello", "--session", "s").returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        assert "mounted read-only" in program(project, "doctor").stdout
        for words in (("show", "s"), ("sessions",), ("verify",)):
            done = program(project, *words)
            assert done.returncode == 0, done.stderr
        refused = program(project, "run", "x", "--session", "s")
        assert "mounted read-only" in refused.stderr


def test_a_ledger_that_is_immutable(project):
    project("run", "hello", "--session", "s")
    path = project.state / "ledger.db"
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", path], check=False).returncode:
        pytest.skip("needs chattr")
    try:
        checks, report = doctor(project)
        assert faults(report) == ["log"]
        assert "the file can't be written" in checks["log"][1]
        assert "hello" in project("show", "s").stdout
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


def test_a_directory_in_the_ledgers_place(project):
    (project.state / "ledger.db").mkdir(parents=True)
    for folder in (project.state, project.state / "ledger.db"):
        folder.chmod(0o700)
    assert "ledger.db is a directory" in project("sessions", code=1).stderr
    checks, _ = doctor(project)
    assert "ledger.db is a directory" in checks["log"][1]


# Without a command line


def test_what_stands_against_writing(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    assert why_refused(path) is None
    path.write_bytes(b"")
    assert why_refused(path) is None
    assert "is no folder" in why_refused(tmp_path / "gone" / "ledger.db").what
    with open(path):
        assert why_refused(path) is None  # open here: it is not opened again
    told = str(translate(sqlite3.OperationalError("disk I/O error"), path))
    assert "the disk refused to read or write" in told
    assert "the system refused" in str(translate(sqlite3.OperationalError("unable to open database file"), path))
    monkeypatch.setattr(module, "why_refused", lambda _: None)
    assert isinstance(translate(sqlite3.OperationalError("database is locked"), path), LedgerUnavailable)
    assert isinstance(translate(sqlite3.DatabaseError("database disk image is malformed"), path), LogBroken)


def test_the_look_through_a_database_can_be_bounded(grown):
    path = grown.state / "ledger.db"
    assert damages(path, whole=True) == []
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "create table big as with recursive n(x) as (select 1 union all select x + 1 from n limit 99999) select x from n"
        )
    connection.close()
    assert damages(path, whole=False, seconds=-1) is None


def test_a_reader_refuses_what_is_none_and_what_is_newer(tmp_path):
    path = tmp_path / "ledger.db"
    with pytest.raises(LedgerUnavailable):
        SqliteReader(path)
    path.write_bytes(b"")
    with pytest.raises(LogBroken, match="holds nothing"):
        SqliteReader(path)
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    with pytest.raises(LogBroken, match="format 99"):
        check_version(connection, path)
    connection.close()


def test_a_worker_says_by_its_exit_code_that_a_drive_failed(project):
    project("run", "hello", "--session", "s")
    project("send", "s", "more")
    project.sql("update records set text = cast(text || ' ' as blob) where seq = 3")
    result = project("worker", "--once", code=5)
    assert "1 failed" in result.stdout
    assert os.environ.get("CALLSLIP_OWNER") is None


# Small things


def test_a_message_that_waits_is_said_to_be_kept_and_each_turn_has_its_answer(project):
    project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    result = project("run", "again", "--session", "s", code=3)
    assert "your message is kept" in result.stderr
    (wait,) = project.json("waits")["waits"]
    assert f"callslip submit {wait['id']}" in result.stderr
    project("submit", wait["id"], "--result", "1")
    assert project("resume", "s").stdout == "all done\nYou said: again\n"
    assert project("resume", "s").stdout == "You said: again\n"


def test_no_session_is_named_that_was_not_made(project):
    project.state.chmod(0o755)
    assert "session s-" not in project("run", "x", code=5).stderr


def test_a_failed_model_names_the_command_that_goes_on(project):
    project.write(
        "dumb.py",
        "from callslip import Runtime\nfrom callslip.providers.scripted import Scripted\nrt = Runtime(model=Scripted([]))\n",
    )
    result = project("run", "hello", "--session", "s", "--app", "dumb.py:rt", code=6)
    assert result.stderr.splitlines()[-1].startswith("  then: callslip resume s --app dumb.py:rt")


def test_a_model_named_on_the_command_line_is_named_again(project, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    result = project("run", "hello", "--session", "s", "--app", "app.py:bare", "--model", "openai:x", code=6)
    assert "then: callslip resume s --model openai:x --app app.py:bare" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "x", "--session=-x"), "begins with a dash"),
        (("sessions", "--state", ""), "can't be empty. Nothing was started. See `callslip sessions --help`."),
        (("show",), "Missing argument 'SESSION'. See `callslip show --help`."),
        (("show", "a", "b"), "). See `callslip show --help`."),
    ],
)
def test_usage_errors_are_whole_sentences(project, words, told):
    assert told in project(*words, code=2).stderr


def test_one_tool_is_one_tool(project):
    project("run", "hello", "--session", "s", "--app", "app.py:rt")
    project.write(
        "one.py",
        "import app\nfrom callslip import Runtime\nrt = Runtime(tools=[app.pay], model=app.Scripted([app.obey] * 9))\n",
    )
    project("run", "hello", "--session", "t", "--app", "one:rt")
    assert "1 tool visible" in project("show", "t").stdout


def test_the_wrong_answer_to_a_wait_names_the_right_one(project):
    project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    err = project("resolve", wait["id"], "give-up", "--reason", "x", code=2).stderr
    assert f"callslip submit {wait['id']} --result JSON" in err
    assert "accept_workspace" not in err
