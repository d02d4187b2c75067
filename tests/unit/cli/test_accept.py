"""Project files act only when accepted. Each attack stands beside what shows that it would have worked."""

import importlib.util
import json
import os
import pty
import py_compile
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from callslip.cli import look
from callslip.cli.main import cli
from callslip.clocks.system import SystemClock
from callslip.core.standing import Accepted
from callslip.project import files
from callslip.trust.account import account
from callslip.trust.file import FileTrust

pytestmark = pytest.mark.requirement("GATE-09")

OWN = """
import os, sys
from pathlib import Path
from callslip import Runtime, tool
from callslip.providers.scripted import Scripted, calling
import app

HERE = Path(__file__).parent


@tool(risk="write", local_effect=True)
def put(name: str, text: str) -> str:
    "Write a file anywhere: a careless tool."
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return "written"


@tool(risk="read")
def use(folder: str, module: str) -> str:
    "Import a module from a folder: a careless tool."
    sys.path.insert(0, folder)
    return __import__(module).VALUE


rt = Runtime(tools=[put, use], model=Scripted([app.obey] * 50))
"""


def put(name, text):
    return f"call put {json.dumps({'name': name, 'text': text})}"


def use(folder, module):
    return f"call use {json.dumps({'folder': str(folder), 'module': module})}"


def write(project, name, text):
    """Without asking anybody."""
    path = project.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def message(project, *words, code=5):
    return project.json(*words, code=code)["error"]["message"]


@pytest.fixture
def own(project):
    """An application whose tools are careless."""
    project.write("own.py", OWN)
    project.configure('app = "own:rt"\n')
    return project


def payloads(project, session):
    """What calls were given and gave, with the tracebacks of those that failed."""
    return CliRunner().invoke(cli, ["show", session, "--payloads", "--project", str(project.folder)]).stdout


# Before anything was accepted


@pytest.mark.parametrize(
    "words", [("run", "x"), ("resume", "s"), ("worker", "--once"), ("tools",), ("resolve", "w", "give-up", "--reason", "x"),
              ("submit", "w", "--result", "1")],
)  # fmt: skip
def test_nothing_acts_before_it_was_accepted(project, words):
    write(project, "callslip.toml", 'app = "new.py:rt"\n')
    write(project, "new.py", "import pathlib; pathlib.Path('ran').touch()\nfrom app import rt\n")
    said = project.json(*words, code=5)["error"]
    assert (said["code"], said["layer"]) == ("not_accepted", "policy")
    assert "callslip trust --project" in said["message"]
    assert not (project.folder / "ran").exists()
    project.accept()
    project("tools", code=None)
    assert (project.folder / "ran").exists()


def test_a_project_without_an_application_is_held_too(project):
    (project.folder / "files").mkdir()
    project.configure('workspace = "files"\nforbidden = ["private"]\nmodel = "openai:x"\n')
    assert "write_file" in project("tools").stdout
    write(project, "callslip.toml", 'workspace = "files"\nmodel = "openai:x"\nstate = "state"\n')
    for words in (("tools",), ("run", "x"), ("resolve", "w", "give-up", "--reason", "x")):
        assert "callslip.toml (changed)" in message(project, *words)


def test_a_project_that_was_never_accepted(tmp_path, project):
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    shutil.copy(project.folder / "app.py", fresh)
    (fresh / "callslip.toml").write_text('app = "app.py:rt"\n')
    run = ["run", "hello", "--project", str(fresh)]
    refused = CliRunner().invoke(cli, run)
    assert refused.exit_code == 5
    assert "Not accepted yet: callslip.toml." in refused.stderr
    shown = CliRunner().invoke(cli, ["trust", "--yes", "--project", str(fresh)])
    assert [line.split()[0] for line in shown.stdout.splitlines()] == [
        str(fresh),
        "FILE",
        "app.py",
        "callslip.toml",
        "✓",
        "advisory:",
    ]
    assert CliRunner().invoke(cli, run).exit_code == 0


# The command


def test_checking_changes_nothing_and_its_exit_code_says_what_there_is(project):
    assert "2 files as accepted" in project("trust", "--check").stdout
    write(project, "app.py", "VALUE = 2\n")
    write(project, "new.py", "VALUE = '\x1b[31m\u202e'\n")
    for _ in range(2):
        text = project("trust", "--check", code=5).stdout
        assert "! app.py  changed\n--- app.py (accepted)\n+++ app.py (now)\n" in text
        assert "+VALUE = 2\n" in text
        assert "▸ new.py  new\n--- /dev/null\n" in text
        assert "+VALUE = '\\x1b[31m\\u202e'\n" in text
        assert "2 files held. To accept: callslip trust --project" in text
    project.accept()
    assert "3 files as accepted" in project("trust", "--check").stdout
    (project.folder / "new.py").unlink()
    assert "✗ new.py  gone\n" in project("trust", "--check", code=5).stdout


def test_in_json(project):
    write(project, "app.py", "VALUE = 2\n")
    said = project.json("trust", "--check", code=5)
    (change,) = said.pop("changes")
    assert said == {"ok": False, "accepted": False, "signed_by": None, "state": str(project.state), "files": 2}
    assert (change["path"], change["change"], change["root"]) == ("app.py", "changed", str(project.folder))
    assert change["now"] == files.digest(b"VALUE = 2\n")
    assert "+VALUE = 2" in change["diff"]
    assert project.json("trust", "--yes")["accepted"] is True
    assert project.json("trust", "--check")["changes"] == []
    assert "nobody is asked" in message(project, "trust", code=2)


def test_what_does_not_go_together(project):
    assert "does not go with --yes" in project("trust", "--check", "--yes", code=2).stderr


def test_without_a_terminal_nobody_is_asked(project):
    write(project, "app.py", "VALUE = 2\n")
    assert "no terminal to ask on. Nothing was accepted" in project("trust", code=2, text="y\n").stderr
    project("trust", "--check", code=5)


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 5), ("\n", 5)])
def test_on_a_terminal_a_person_is_asked(project, typed, code):
    write(project, "app.py", "VALUE = 2\n")
    master, slave = pty.openpty()
    process = project.start("trust", stdin=slave)
    os.close(slave)
    os.write(master, typed.encode())
    out, _ = project.finish(process, code)
    os.close(master)
    assert "Accept 1 file? [y/N]" in out
    project("trust", "--check", code=code)


def test_what_is_shown_is_what_is_accepted(project, monkeypatch):
    """The file is replaced while the person reads."""
    write(project, "app.py", "VALUE = 'shown'\n")
    monkeypatch.setattr(
        "callslip.cli.trust._wanted", lambda *_: write(project, "app.py", "VALUE = 'swapped'\n") or True
    )
    assert "+VALUE = 'shown'" in project("trust").stdout
    assert "+VALUE = 'swapped'" in project("trust", "--check", code=5).stdout


def test_a_project_with_nothing_in_it(project, tmp_path):
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(cli, ["trust", "--project", str(tmp_path / "empty")])
    assert result.exit_code == 2
    assert "nothing to accept" in result.stderr


def test_a_copy_that_was_lost_costs_the_difference_and_not_the_check(project):
    write(project, "app.py", "VALUE = 2\n")
    shutil.rmtree(project.state / "accepted")
    text = project("trust", "--check", code=5).stdout
    assert "What was accepted of app.py is not kept any more" in text
    assert "+VALUE = 2" in text
    write(project, "app.py", (project.folder / "app.py").read_text() + "\n")
    assert "app.py (changed)" in message(project, "run", "x")


# A tool changes what it will be made of next time


def test_a_module_that_a_tool_edits_is_held(own):
    own("run", put("app.py", "raise SystemExit('planted')\n"), "--session", "s")
    said = message(own, "run", "x", "--session", "s")
    assert "app.py (changed)" in said
    assert "-import asyncio" in own("trust", "--check", code=5).stdout
    own.accept()
    assert "SystemExit: planted" in message(own, "run", "x", code=2)  # accepted, it runs


def test_configuration_that_a_tool_edits_is_held(own):
    own.configure('app = "own:rt"\nstate = "state"\n[policy]\nwrite = "deny"\n')
    toml = (own.folder / "callslip.toml").read_text()
    own("run", put("x.txt", "1"), "--session", "denied")
    assert not (own.folder / "x.txt").exists()
    write(own, "callslip.toml", toml.replace('"deny"', '"allow"'))
    assert "callslip.toml (changed)" in message(own, "run", put("x.txt", "1"))
    assert not (own.folder / "x.txt").exists()
    own.accept()
    own("run", put("x.txt", "1"))
    assert (own.folder / "x.txt").exists()


def test_a_forged_cache_does_not_run(own):
    path = own.folder / "app.py"
    cache = Path(importlib.util.cache_from_source(str(path)))
    cache.parent.mkdir(exist_ok=True)
    write(own, "forged.txt", path.read_text() + "\nimport pathlib; pathlib.Path('forged').touch()\n")
    py_compile.compile(
        str(own.folder / "forged.txt"),
        cfile=str(cache),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    own("run", "hello", "--session", "s")
    assert not (own.folder / "forged").exists()
    sys.modules.pop("app", None)
    spec = importlib.util.spec_from_file_location("app", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert (own.folder / "forged").exists()  # Python itself would have run it


def test_a_module_that_shadows_the_standard_library_is_refused_and_named(own):
    own.write("own.py", OWN + "\nimport colorsys\n")
    write(own, "colorsys.py", "import pathlib; pathlib.Path('planted').touch()\n")
    sys.modules.pop("colorsys", None)
    assert "colorsys.py was not accepted" in message(own, "run", "hello")
    assert not (own.folder / "planted").exists()
    own.accept()
    own("run", "hello")
    assert (own.folder / "planted").exists()


def test_a_refusal_that_the_application_would_do_without_is_still_one(own):
    own.write("own.py", OWN + "\ntry:\n    import quicker\nexcept ImportError:\n    quicker = None\n")
    own("run", "hello")
    write(own, "quicker.py", "")
    assert "quicker.py was not accepted" in message(own, "run", "hello")


def test_a_module_that_is_imported_in_a_call_is_the_one_that_was_accepted(own):
    own.write("lazy.py", "VALUE = 'accepted'\n")
    process = own.start(
        "run", "\n".join([put("lazy.py", "VALUE = 'swapped'\n"), use(own.folder, "lazy")]), "--session", "s"
    )
    own.finish(process, 0)
    assert (own.folder / "lazy.py").read_text() == "VALUE = 'swapped'\n"
    shown = own("show", "s", "--payloads").stdout
    assert '"accepted"' in shown
    assert '"swapped"' not in shown


def test_the_workspace_on_the_path_at_run_time(own, tmp_path):
    own.configure('app = "own:rt"\nworkspace = "files"\n')
    free = tmp_path / "free"
    for folder in (own.folder / "files", free):
        folder.mkdir()
    (own.folder / "files" / "planted_a.py").write_text("VALUE = 'planted a'\n")
    (free / "planted_b.py").write_text("VALUE = 'planted b'\n")
    own("run", use(own.folder / "files", "planted_a"), "--session", "a")
    own("run", use(free, "planted_b"), "--session", "b")
    assert "lies in the workspace" in payloads(own, "a")
    assert "planted a" not in payloads(own, "a")
    assert "planted b" in payloads(own, "b")  # any other folder would do


def test_a_file_that_is_swapped_between_check_and_use(project, monkeypatch):
    """Each file is replaced as soon as it was read: what acts is what was read."""
    read, swapped = files.read, []

    def swapping(path):
        data = read(path)
        if path.parent == project.folder and path.suffix in {".py", ".toml"}:
            swapped.append(path.name)
            path.write_text("this is no Python and no TOML")
        return data

    monkeypatch.setattr(files, "read", swapping)
    assert "You said: hello" in project("run", "hello", "--session", "s").stdout
    assert set(swapped) == {"callslip.toml", "app.py"}
    monkeypatch.undo()
    project("run", "hello", "--session", "s", code=5)  # and now it counts as changed


def test_a_link_that_is_turned(project, tmp_path):
    good, evil = tmp_path / "good.py", tmp_path / "evil.py"
    shutil.move(project.folder / "app.py", good)
    evil.write_text("import pathlib; pathlib.Path('evil').touch()\n")
    (project.folder / "app.py").symlink_to(good)
    project.accept()
    project("run", "hello")
    (project.folder / "app.py").unlink()
    (project.folder / "app.py").symlink_to(evil)
    assert "app.py (changed)" in message(project, "run", "hello")
    assert not (project.folder / "evil").exists()
    project.accept()
    project("run", "hello", code=2)
    assert (project.folder / "evil").exists()


# The record of what was accepted


def test_a_record_that_was_altered_closes_everything_that_acts(project, tmp_path):
    path = project.state / "trust.log"
    app = (project.folder / "app.py").read_bytes()
    project.write("second.py", "")
    ran = "import pathlib; pathlib.Path('ran').touch()\n"
    write(project, "app.py", ran)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(files.digest(app).encode(), files.digest(ran.encode()).encode(), 1))
    for words in (("run", "x"), ("trust", "--yes"), ("trust", "--check")):
        assert project.json(*words, code=5)["error"]["code"] == "trust_broken"
    for words, code in ((("sessions",), 0), (("verify",), 5), (("verify", "--state", str(project.state)), 5)):
        said = project(*words, code=code).stderr
        assert said.startswith("! Statement 2 of the trust file can't be true: it does not follow statement 1."), said
        assert f"Looking in {project.state}." in said
    assert not (project.folder / "ran").exists()
    # Whoever may write the file can put another whole one in its place, until a key is enrolled.
    path.write_bytes(forge(project, tmp_path / "forge"))
    project("run", "x", code=2)
    assert (project.folder / "ran").exists()


@pytest.fixture
def keyed(project, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project("enrol", "anna", "--no-passphrase")
    return project


def test_with_a_key_in_force_only_an_operators_word_counts(keyed, tmp_path, monkeypatch):
    assert "Not accepted yet" in message(keyed, "run", "x")  # what was accepted without a key counts no more
    assert "2 files accepted, signed by anna." in keyed("trust", "--yes").stdout
    keyed("run", "hello")
    write(keyed, "app.py", (keyed.folder / "app.py").read_text() + "\nimport pathlib; pathlib.Path('ran').touch()\n")
    shutil.move(tmp_path / "config", tmp_path / "away")
    assert keyed.json("trust", "--yes", code=8)["error"]["code"] == "not_authorised"
    before = (keyed.state / "trust.log").read_bytes()
    forged = forge(keyed, tmp_path / "forge")
    (keyed.state / "trust.log").write_bytes(before + forged)
    assert keyed.json("run", "x", code=5)["error"]["code"] == "trust_broken"
    assert not (keyed.folder / "ran").exists()
    (keyed.state / "trust.log").write_bytes(before)
    shutil.move(tmp_path / "away", tmp_path / "config")
    keyed.accept()
    keyed("run", "hello")
    assert (keyed.folder / "ran").exists()


def forge(project, folder):
    """An unsigned statement that the project is accepted as it is now."""
    folder.mkdir(mode=0o700)
    now = {name: files.digest((project.folder / name).read_bytes()) for name in ("app.py", "callslip.toml")}
    FileTrust(folder, clock=SystemClock()).state(Accepted(project=str(project.folder), files=now), account())
    return (folder / "trust.log").read_bytes()


def test_a_forged_state_that_the_configuration_names_is_not_asked(project, tmp_path):
    """Whoever can write callslip.toml could name a state folder in which everything was accepted."""
    write(project, "app.py", "import pathlib; pathlib.Path('ran').touch()\n")
    write(project, "callslip.toml", f'app = "app.py:rt"\nstate = "{tmp_path / "forged"}"\n')
    forge(project, tmp_path / "forged")
    assert "callslip.toml (changed)" in message(project, "run", "x")
    assert not (project.folder / "ran").exists()
    project("run", "x", "--state", str(tmp_path / "forged"), code=2)  # only a person can say so
    assert (project.folder / "ran").exists()


def test_that_the_configuration_may_name_the_state_is_accepted_by_itself(project, tmp_path):
    (known,) = (tmp_path / "xdg" / "callslip").iterdir()
    (known / "trust.log").unlink()
    before = (project.state / "trust.log").read_bytes()
    assert "Not accepted yet: callslip.toml" in message(project, "run", "hello")
    held = project.json("trust", "--check", code=5)["changes"]
    assert [(one["path"], one["change"]) for one in held] == [("callslip.toml", "new")]
    project.accept()
    project("run", "hello")
    assert (project.state / "trust.log").read_bytes() == before


def test_keys_where_the_application_keeps_its_state_must_have_signed_it(project, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project.write(
        "own.py",
        f"import app\nfrom callslip import Runtime\nrt = Runtime(model=app.made().settings.model, state={str(tmp_path / 'mine')!r})\n",
    )
    project("run", "hello", "--app", "own:rt")
    project("enrol", "anna", "--no-passphrase", "--state", str(tmp_path / "mine"))
    assert "where keys are enrolled" in message(project, "run", "hello", "--app", "own:rt")
    project("sessions", "--app", "own:rt")
    project.configure(f'app = "own:rt"\nstate = "{tmp_path / "mine"}"\n')
    project("run", "hello")


def test_enrolling_does_not_follow_a_configuration_that_is_held(project, tmp_path):
    write(project, "callslip.toml", f'app = "app.py:rt"\nstate = "{tmp_path / "other"}"\n')
    assert "callslip.toml (changed)" in message(project, "enrol", "anna", "--no-passphrase")
    assert not (tmp_path / "other").exists()


# Who only looks, or says something


def test_a_held_project_can_be_looked_at_spoken_to_and_stopped(project):
    project("run", "hello", "--session", "s")
    write(project, "callslip.toml", 'app = "gone.py:rt"\nstate = "elsewhere"\n')
    write(project, "app.py", "import pathlib; pathlib.Path('ran').touch()\n")
    for words in (("sessions",), ("show", "s"), ("verify",), ("waits",), ("send", "s", "x"), ("stop", "s")):
        result = project(*words)
        assert (
            "! callslip.toml is not as accepted, so it is not used. Reading the state folder that was "
            f"accepted last: {project.state}. --state names another folder; `callslip trust --check` says what differs."
        ) in result.stderr
        assert result.stderr.count("\n") == 1
    assert "s " in project("sessions").stdout
    assert not (project.folder / "ran").exists()
    assert project("sessions", "--state", str(project.state)).stderr == ""


def test_what_differs_is_named(project):
    app = (project.folder / "app.py").read_text()
    write(project, "app.py", app + "VALUE = 2\n")
    assert "! app.py is not as accepted, so it is not used. Reading the state" in project("sessions").stderr
    project.write("b.py", "")
    project.accept()
    write(project, "app.py", app + "VALUE = 3\n")
    write(project, "b.py", "VALUE = 3\n")
    assert "! app.py and b.py are not as accepted, so they are not used. Reading" in project("sessions").stderr
    project("verify", code=5)
    project.accept()
    project("verify")


def test_looking_at_a_project_that_was_never_accepted(project, tmp_path):
    shutil.rmtree(project.state)
    assert "! app.py and callslip.toml were never accepted, so they are not used; " in project("verify", code=5).stderr
    shutil.rmtree(tmp_path / "xdg")
    said = project("verify", code=5)
    assert "! callslip.toml is not accepted, so its `state` is not used; looking in " in said.stderr
    assert project.json("verify", code=5) == {"ok": False, "database": [], "sessions": []}
    project("sessions")
    (project.folder / "callslip.toml").write_text('app = "app.py:rt"\n')
    assert "! callslip.toml was never accepted, so it is not used; looking in " in project("sessions").stderr
    project("verify", "--state", str(project.state), code=2)  # there is none


def test_without_the_copy_the_configured_place_is_not_known(project, tmp_path):
    project("run", "hello", "--session", "s")
    write(project, "callslip.toml", 'app = "gone.py:rt"\n')
    (known,) = (tmp_path / "xdg" / "callslip").iterdir()
    shutil.rmtree(known / "accepted")
    result = project("sessions")
    assert f"What was accepted is lost; looking in {known}" in result.stderr
    assert "No sessions yet" in result.stdout
    assert "s " in project("sessions", "--state", str(project.state)).stdout


def test_a_module_that_is_not_accepted_keeps_nobody_from_looking(own):
    own("run", "hello", "--session", "s")
    write(own, "extra.py", "")
    own.write("own.py", OWN + "\nimport extra\n")
    (own.folder / "extra.py").write_text("changed = 1\n")
    assert "s " in own("sessions").stdout
    own("run", "x", code=5)


def test_another_state_folder_is_another_acceptance(project, tmp_path):
    words = ("run", "hello", "--state", str(tmp_path / "second"))
    assert f"callslip trust --state {tmp_path / 'second'}" in message(project, *words)
    project.accept("--state", str(tmp_path / "second"))
    project(*words)


# What the project is made of


def test_an_installed_application_is_accepted_with_its_installation(project, tmp_path, monkeypatch):
    for folder in ("installed", "here"):
        (tmp_path / folder).mkdir()
    shutil.copy(project.folder / "app.py", tmp_path / "installed" / "p_installed.py")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    monkeypatch.chdir(tmp_path / "here")
    run = ["run", "hello", "--app", "p_installed:rt"]
    assert CliRunner().invoke(cli, run).exit_code == 0
    (tmp_path / "here" / "p_installed.py").write_text("import pathlib; pathlib.Path('ran').touch()\n")
    del sys.modules["p_installed"]
    refused = CliRunner().invoke(cli, run)  # what lies in the folder one stands in goes before it
    assert refused.exit_code == 5
    assert "p_installed.py was not accepted" in refused.stderr
    assert not (tmp_path / "here" / "ran").exists()


def test_an_application_outside_the_project(project, tmp_path):
    (tmp_path / "beside").mkdir()
    shutil.copy(project.folder / "app.py", tmp_path / "beside" / "there.py")
    words = ("run", "hello", "--app", str(tmp_path / "beside" / "there.py") + ":rt")
    assert f"Not accepted yet: {tmp_path / 'beside' / 'there.py'}." in message(project, *words)
    project.accept(*words[2:])
    project(*words)
    (tmp_path / "beside" / "there.py").write_text("")
    assert f"{tmp_path / 'beside' / 'there.py'} (changed)" in message(project, *words)


def test_without_configuration_the_applications_folder_is_the_project(project, tmp_path, monkeypatch):
    (tmp_path / "plain").mkdir()
    shutil.copy(project.folder / "app.py", tmp_path / "plain")
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(cli, [*words, "--app", "plain/app.py:rt"])
        assert result.exit_code == code, result.output
        return result

    assert "callslip trust --app plain/app.py:rt" in call("run", "hello", code=5).stderr
    assert str(tmp_path / "plain") in call("trust", "--yes").stdout
    call("run", "hello", "--session", "s")
    assert "s " in call("sessions").stdout


def test_recorded_replies_are_part_of_it(project):
    reply = {"model": "m", "body": {"choices": [{"message": {"content": "as recorded"}, "finish_reason": "stop"}]}}
    write(project, "r.jsonl", json.dumps(reply) + "\n")
    project.configure('app = "app.py:bare"\nmodel = "recorded:r.jsonl"\n')
    assert "as recorded" in project("run", "x", "--session", "s").stdout
    write(project, "r.jsonl", json.dumps(reply).replace("as recorded", "as forged") + "\n")
    assert "r.jsonl (changed)" in message(project, "run", "x", "--session", "t")
    (project.folder / "replies").mkdir()
    write(project, "replies/1.json", json.dumps(reply))
    project.configure('app = "app.py:bare"\nmodel = "recorded:replies"\n')
    project("run", "x", "--session", "u")
    write(project, "replies/2.json", json.dumps(reply))
    assert "Not accepted yet: replies/2.json" in message(project, "run", "x", "--session", "v")


@pytest.mark.parametrize(
    "table", ['[[notify]]\nkind = "command"\nargv = ["/bin/sh", "{0}/tell.sh"]', '[audit]\nanchor = ["sh", "tell.sh"]']
)
def test_programs_of_the_project_that_the_configuration_runs_are_part_of_it(project, table):
    write(project, "tell.sh", "cat > told\n")
    project.configure('app = "app.py:rt"\nstate = "state"\n' + table.format(project.folder) + "\n")
    assert project.json("trust", "--check")["files"] == 3
    project("tools")
    write(project, "tell.sh", "echo forged\n")
    assert "tell.sh (changed)" in message(project, "tools")


def test_what_the_command_line_names_itself_needs_no_acceptance(project):
    reply = {"model": "m", "body": {"choices": [{"message": {"content": "as typed"}, "finish_reason": "stop"}]}}
    write(project, "typed.jsonl", json.dumps(reply) + "\n")
    assert "as typed" in project("run", "x", "--model", "recorded:typed.jsonl").stdout


def test_pythons_own_packages_in_the_workspace(project):
    libraries = Path(look.__file__).parents[2]
    project.configure(f'app = "app.py:rt"\nworkspace = "{libraries}"\n')
    assert "a tool could rewrite them" in message(project, "run", "x", code=2)


# init and doctor


def test_init_accepts_what_it_wrote_and_nothing_else(project, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.py").write_text("")
    at = ["--project", str(tmp_path / "new")]
    assert "accepted as written" in CliRunner().invoke(cli, ["init", *at]).stdout
    assert CliRunner().invoke(cli, ["run", "hello", *at]).exit_code == 0
    held = json.loads(CliRunner().invoke(cli, ["trust", "--check", "--json", *at]).stdout)["changes"]
    assert [(one["path"], one["change"]) for one in held] == [("mine.py", "new")]


def test_init_that_can_accept_nothing_says_that_it_wrote(tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    (tmp_path / "xdg").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("CALLSLIP_STATE", raising=False)
    result = CliRunner().invoke(cli, ["init", "--project", str(tmp_path / "new")])
    assert result.exit_code == 5
    assert "accept them with: callslip trust --project" in result.stderr
    assert (tmp_path / "new" / "app.py").exists()


def test_doctor(project):
    def finding(code=0):
        checks = project.json("doctor", code=code)["checks"]
        return next((one["level"], one["detail"]) for one in checks if one["check"] == "accepted files")

    assert finding() == ("ok", f"2, as they were accepted in {project.state}")
    write(project, "new.py", "")
    level, detail = finding()
    assert (level, "not importable yet: new.py (callslip trust --project" in detail) == ("warn", True)
    write(project, "app.py", "import pathlib; pathlib.Path('ran').touch()\n")
    level, detail = finding(code=1)
    assert (level, "app.py (changed)" in detail) == ("bad", True)
    assert not (project.folder / "ran").exists()
