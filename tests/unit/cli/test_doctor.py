import json
import sqlite3

import pytest

from callslip.cli import checks_of_state, checks_of_system, look


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
    assert checks["tool pay"][1].startswith("schema valid, bound to app:pay, shown as version ")
    assert checks["approvals"] == ("ok", "a person is asked about: erase_all")
    assert checks["trust"][0] == "warn"
    assert "approvals advisory" in checks["trust"][1]
    text = project("doctor").stdout
    assert text.rstrip().endswith("Nothing is wrong.")


def test_long_findings_are_wrapped(project, monkeypatch):
    monkeypatch.setattr(look, "columns", lambda: 70)
    lines = project("doctor").stdout.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("! trust"))
    assert lines[at + 1].startswith(" " * lines[at].index("approvals advisory"))
    assert len(lines[at]) <= 70


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
        ("openai:x", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, "warn", "127.0.0.1:1, without a key: OPENAI_API_KEY"),
        ("openai:x", {"OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": "k"}, "ok", "127.0.0.1"),
        ("OpenAI:x", {}, "bad", "Did you mean openai:x?"),
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


def test_servers_of_other_models_and_a_model_that_is_named(project, monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    servers = '[servers]\nanthropic = "http://127.0.0.1:1"\nmistral = "http://127.0.0.1:2"\n'
    project.configure(f'app = "app.py:rt"\n{servers}')
    checks = found(project)
    assert checks["models anthropic"][0] == "warn"
    assert "http://127.0.0.1:1/v1, without a key: ANTHROPIC_API_KEY is not set" in checks["models anthropic"][1]
    assert checks["models mistral"] == ("ok", "mistral:NAME at http://127.0.0.1:2/v1; not asked now")
    assert checks["model"] == ("ok", "scripted:test, chosen by the application")
    assert "OPENAI_API_KEY is not set" in found(project, "--model", "openai:x", code=1)["model"][1]
    assert found(project, "--model", "mistral:x")["model"] == (
        "ok",
        "mistral:x at http://127.0.0.1:2/v1; not asked now",
    )


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


# Who is told


def notify(project, *tables):
    project.configure('app = "app.py:rt"\nstate = "state"\n' + "".join(f"[[notify]]\n{one}\n" for one in tables))


def test_nobody_is_told(project):
    assert found(project)["notices"] == ("ok", "nobody is told: no [[notify]] in callslip.toml")


def test_whoever_is_told_is_named(project):
    secret = project.folder / "secret"
    secret.write_text("whsec_" + "QUJD" * 8)
    secret.chmod(0o600)
    webhook = f'kind = "webhook"\nurl = "https://example.com/x"\nsecret_file = "{secret}"'
    notify(project, webhook, 'kind = "command"\nname = "pager"\nargv = ["/bin/true"]')
    level, said = found(project)["notices"]
    assert (level, said) == ("ok", "a worker tells webhook example.com, pager; nothing was sent now")
    secret.chmod(0o644)
    level, said = found(project, code=1)["notices"]
    assert (level, f"chmod 600 '{secret}'" in said) == ("bad", True)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (('kind = "log"\npath = "here.log"',), "'here.log' is not absolute"),
        (('kind = "command"\nargv = ["bin/tell"]',), "is a relative path"),
        (
            ('kind = "webhook"\nurl = "https://example.com"\nsecret_file = "/nowhere/secret"',),
            "/nowhere/secret can't be read",
        ),
        (('kind = "webhook"\nurl = "https://example.com"\nsecret_file = "secret"',), "not an absolute path"),
        (('kind = "log"\npath = "/tmp/x"', 'kind = "log"\npath = "/tmp/x"'), "it leads where another one leads"),
    ],
)
def test_an_endpoint_that_cant_work(project, tables, said):
    notify(project, *tables)
    level, detail = found(project, code=1)["notices"]
    assert (level, said in detail) == ("bad", True), detail


# The audit


@pytest.fixture
def told(project):
    """A session that the audit has been told of, and its state."""
    project("run", 'call pay {"amount": 12}', "--session", "s")
    return project


def anchored(project, anchor):
    project.configure(f'app = "app.py:rt"\nstate = "state"\n[audit]\nanchor = {anchor}\n')


def entries(project):
    return len((project.state / "audit" / "book.jsonl").read_bytes().splitlines())


def test_no_audit_yet(project):
    checks = found(project)
    assert checks["audit"] == ("ok", "none yet")
    assert "anchors" not in checks


def test_an_audit_that_fits_and_is_not_anchored(told):
    before = {path: path.read_bytes() for path in (told.state / "audit").iterdir() if "db-" not in path.name}
    checks = found(told)
    assert checks["audit"][0] == "ok"
    assert checks["audit"][1].startswith(f"{entries(told):,} entries, and its end fits")
    assert checks["anchors"][0] == "warn"
    assert "no place for its heads is named" in checks["anchors"][1]
    assert {path: path.read_bytes() for path in (told.state / "audit").iterdir() if "db-" not in path.name} == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "was cut"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"success", b"failure")], "was altered: entry"),
        (lambda lines: [*lines, lines[-1]], "does not fit it"),
    ],
)
def test_an_audit_whose_end_was_altered(told, change, said):
    path = told.state / "audit" / "book.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    level, detail = found(told, code=1)["audit"]
    assert (level, said in detail, "callslip audit verify" in detail) == ("bad", True, True), detail


def test_an_audit_that_is_gone_and_an_index_that_is(told):
    for path in (told.state / "audit").glob("index.db*"):
        path.unlink()
    assert found(told)["audit"][0] == "ok"
    lines = (told.state / "audit" / "book.jsonl").read_bytes().splitlines(keepends=True)
    (told.state / "audit" / "book.jsonl").write_bytes(b"".join(lines[1:]))
    assert found(told, code=1)["audit"][0] == "bad"


def test_a_book_that_is_gone(told):
    (told.state / "audit" / "book.jsonl").unlink()
    level, detail = found(told, code=1)["audit"]
    assert (level, "is gone, though the index" in detail) == ("bad", True)


def test_a_line_that_is_half_written_is_no_fault(told):
    count = entries(told)
    with (told.state / "audit" / "book.jsonl").open("ab") as file:
        file.write(b'{"n":')
    assert found(told)["audit"][1].startswith(f"{count:,} entries")


def test_an_audit_that_cant_be_written(told, unprivileged):
    (told.state / "audit" / "book.jsonl").chmod(0o400)
    out, _ = told.finish(told.start("doctor", "--json", **unprivileged), 1)
    checks = {one["check"]: one for one in json.loads(out)["checks"]}
    assert checks["audit"]["level"] == "bad"
    assert "book.jsonl can't be written" in checks["audit"]["detail"]


def test_which_heads_are_kept(told, tmp_path):
    heads = tmp_path / "heads"
    anchored(told, f'"{heads}"')
    assert found(told)["anchors"] == ("ok", f"0 heads are kept in {heads}")
    told("audit", "anchor")
    count = entries(told)
    assert found(told)["anchors"] == (
        "ok",
        f"1 head is kept in {heads}, the last one of {count} entries; 0 came after it",
    )
    kept = heads.read_text()
    heads.write_text(kept.replace(f'"count":{count}', '"count":9999'))
    assert "the audit has" in found(told, code=1)["anchors"][1]
    heads.write_text("nonsense\n")
    assert "has a line that is no anchor" in found(told, code=1)["anchors"][1]
    heads.unlink()
    assert "is not there, though a head was kept in it" in found(told, code=1)["anchors"][1]


def test_places_that_take_no_heads(told):
    anchored(told, '"state/heads"')
    assert "lies in the state folder" in found(told, code=1)["anchors"][1]
    anchored(told, '["no-such-program"]')
    assert found(told, code=1)["anchors"] == ("bad", "there is no program no-such-program")
    anchored(told, '["true"]')
    assert found(told)["anchors"] == ("ok", "0 heads were given to true")
    anchored(told, '"/nowhere/heads"')
    assert "/nowhere is not there" in found(told, code=1)["anchors"][1]


def test_little_room(project, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})
    monkeypatch.setattr(checks_of_state.shutil, "disk_usage", lambda _: usage)
    assert found(project, code=1)["disk"] == ("bad", "1 MiB free beside the log")


@pytest.mark.requirement("SPEC-03")
def test_a_tool_that_names_others_is_whole_where_they_are_there(project):
    project.write(
        "pair.py",
        "from callslip import Runtime, tool\n"
        "@tool(risk='write', compensation='back', requires=['look'])\ndef there(): ...\n"
        "@tool(risk='write')\ndef back(): ...\n"
        "@tool(risk='read')\ndef look(): ...\n"
        "rt = Runtime(tools=[there, back, look])\n",
    )
    checks = found(project, "--app", "pair.py:rt")
    assert checks["tool there"][0] == "ok"


def test_a_limit_of_a_tool_that_is_not_there_is_warned_of(project):
    project.configure(
        'app = "app.py:bare"\n[capacities."tool.nosuch"]\nat_once = 1\n[capacities."tool.pay"]\nat_once = 1\n'
    )
    assert found(project)["capacities"] == ("warn", "'tool.nosuch' limits nothing: no tool 'nosuch' is bound")


@pytest.mark.parametrize("said", ["", "per = 5\n", "at_once = 0\n"])
def test_a_capacity_that_says_nothing_is_no_tick(project, said):
    project.configure(f'app = "app.py:bare"\n[capacities.x]\n{said}')
    level, detail = found(project, code=1)["project"]
    assert level == "bad"
    assert ".." not in detail
