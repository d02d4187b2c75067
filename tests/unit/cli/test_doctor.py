import sqlite3

import pytest

from callslip.cli import checks_of_state, checks_of_system


def found(project, *words, code=0):
    report = project.json("doctor", *words, code=code)
    assert report["ok"] == (code == 0)
    return {one["check"]: (one["level"], one["detail"]) for one in report["checks"]}


@pytest.mark.requirement("SPEC-03")
def test_all_is_well(project):
    project("run", "hello", "--session", "s")
    checks = found(project)
    assert all(level != "bad" for level, _ in checks.values())
    for name in (
        "python",
        "sqlite",
        "state folder",
        "log",
        "disk",
        "sessions",
        "owners alive",
        "openat2",
        "application",
    ):
        assert checks[name][0] == "ok", checks[name]
    assert "format 2" in checks["log"][1]
    assert "mode 0700" in checks["state folder"][1]
    assert checks["tool pay"][1].startswith("schema valid, executor Tool bound, handshake version ")
    assert checks["approvals"] == ("ok", "a person is asked about: erase_all")
    assert checks["trust"][0] == "warn"
    assert "approvals advisory" in checks["trust"][1]
    text = project("doctor").stdout
    assert text.rstrip().endswith("Nothing is wrong.")


@pytest.mark.requirement("SPEC-03")
def test_an_empty_registry_says_what_is_missing(project):
    project.write("none.py", "from callslip import Runtime\nrt = Runtime()\n")
    level, detail = found(project, "--app", "none.py:rt", code=1)["tools"]
    assert (level, "registry is empty" in detail) == ("bad", True)


@pytest.mark.requirement("SPEC-03")
def test_a_half_loaded_registry_says_which_and_what(project):
    project.write(
        "half.py",
        "from callslip import Runtime, tool\n"
        "def plain(x: int): ...\n"
        "@tool(risk='read', input_schema={'type': 'nonsense'})\ndef wrong(): ...\n"
        "@tool(risk='read', examples=[{'x': 'no'}])\ndef odd(x: int): ...\n"
        "@tool(risk='read')\ndef good(): ...\n"
        "rt = Runtime(tools=[plain, wrong, odd, good, good])\n",
    )
    result = project("doctor", "--app", "half.py:rt", code=1)
    assert "number 1, plain, is only half a tool" in result.stdout
    assert "put @tool on it" in result.stdout
    assert "✗ tool wrong" in result.stdout
    assert "schema WRONG: its example" in result.stdout
    assert "✓ tool good" in result.stdout
    assert "Two tools are named 'good'" in result.stdout
    assert "half-loaded: 3 of 5 tools can be bound" in result.stdout


def test_an_application_that_cant_be_loaded(project):
    project.write("app.py", "1 / 0\n")
    checks = found(project, code=1)
    assert "ZeroDivisionError" in checks["application"][1]
    assert checks["log"] == ("ok", "none yet")


def test_no_application_and_settings_that_mean_nothing(project):
    project.configure("")
    assert "callslip init" in found(project, code=1)["application"][1]
    project.configure("colour = 1\n")
    assert found(project, code=1)["project"][0] == "bad"


@pytest.mark.parametrize(
    ("model", "environment", "level", "told"),
    [
        ("openai:x", {}, "bad", "OPENAI_API_KEY is not set"),
        ("openai:x", {"OPENAI_API_KEY": "k"}, "ok", "not asked now"),
        ("openai:x", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, "ok", "127.0.0.1"),
        ("recorded:gone.jsonl", {}, "bad", "no such file"),
        ("other", {}, "bad", "can't be built"),
        (None, {}, "warn", "none"),
    ],
)
def test_the_models_settings_without_asking_it(project, monkeypatch, model, environment, level, told):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    project.configure('app = "app.py:bare"\n' + (f'model = "{model}"\n' if model else ""))
    checks = found(project, code=1 if level == "bad" else 0)
    assert checks["model"][0] == level
    assert told in checks["model"][1]


def test_a_workspace(project):
    project.configure('workspace = "files"\nmodel = "openai:x"\nbase_url = "http://127.0.0.1:1"\n')
    assert "is no folder" in found(project, code=1)["application"][1]
    (project.folder / "files").mkdir()
    checks = found(project)
    assert checks["workspace"] == ("ok", str(project.folder / "files"))
    assert "tool write_file" in checks


def test_no_openat2(project, monkeypatch):
    def refuse(*_):
        raise OSError(38, "no")

    monkeypatch.setattr(checks_of_system, "open_beneath", refuse)
    assert found(project)["openat2"][0] == "warn"
    assert checks_of_system.check_workspace(project.folder)[0].level == "bad"


def test_damaged_and_newer_logs(project):
    project("run", "hello", "--session", "s")
    with sqlite3.connect(project.state / "ledger.db") as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    checks = found(project, code=1)
    assert "format 99, newer" in checks["log"][1]
    (project.state / "ledger.db").write_bytes(b"x" * 5000)
    for beside in project.state.glob("ledger.db-*"):
        beside.unlink()
    checks = found(project, code=1)
    assert "damaged or no Callslip ledger" in checks["log"][1]
    assert "restore a backup" in checks["log"][1]
    assert [name for name, (level, _) in checks.items() if level == "bad"] == ["log"]  # one fault, said once


def test_little_room(project, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})
    monkeypatch.setattr(checks_of_state.shutil, "disk_usage", lambda _: usage)
    assert found(project, code=1)["disk"] == ("bad", "1 MiB free beside the log")
