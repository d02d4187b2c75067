import sys

import pytest

from callslip.application import Runtime
from callslip.cli.app import find, runtime_for
from callslip.cli.options import Given
from callslip.errors import ConfigError
from callslip.ledgers.state_folder import installation_key, open_state
from callslip.runtime.parts import Limits


def load(project, purpose="drive", **given):
    return runtime_for(Given(project=project.folder, **given), purpose)


@pytest.mark.parametrize("name", ["app.py:rt", "app.py:made", "./app.py:rt", "app:made"])
def test_an_application_by_file_or_module_runtime_or_function(project, name):
    runtime = load(project, app=name)
    assert isinstance(runtime, Runtime)
    assert next(iter(runtime.catalogue)) == "find_thing"
    assert runtime.settings.state == project.state


def test_a_module_puts_the_project_on_the_path_and_a_file_does_not(project):
    load(project, app="app.py:rt")
    assert str(project.folder) not in sys.path
    load(project, app="app:rt")
    assert str(project.folder) in sys.path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("app.py", "file.py:attribute"),
        (":rt", "file.py:attribute"),
        ("gone.py:rt", "gone.py is not there"),
        ("gone:rt", "gone.py:rt"),
        ("app.py:nothing", "The Runtimes there: rt, bare"),
        ("app.py:not_one", "of type int"),
        ("app.py:pay", "pay"),
        ("app.py:note", "failed when it was called"),
        ("raises.py:rt", "ZeroDivisionError: division by zero (in raises.py, line 2)"),
        ("syntax.py:rt", "SyntaxError"),
        ("imports.py:rt", "module:attribute"),
        ("leaves.py:rt", "SystemExit"),
        ("refuses.py:rt", "Two tools are named 'a'"),
    ],
)
def test_what_is_wrong_with_an_application_is_said_in_a_sentence(project, name, told):
    project.write("raises.py", "x = 1\n1 / 0\n")
    project.write("syntax.py", "def (:\n")
    project.write("imports.py", "import a_module_that_is_not_there\n")
    project.write("leaves.py", "raise SystemExit(9)\n")
    project.write(
        "refuses.py",
        "from callslip import Runtime, tool\n@tool\ndef a(): ...\nrt = Runtime(tools=[a, a])\nrt.catalogue\n",
    )
    result = project("tools", "--app", name, code=2)
    assert told in result.stderr
    assert result.stderr.startswith("callslip: ")
    assert result.stderr.count("\n") == 1


def test_the_workspace_is_never_importable(project, monkeypatch):
    project.configure('app = "app:rt"\nworkspace = "."\nstate = "../state"\n')
    monkeypatch.syspath_prepend(str(project.folder))
    result = project("tools", code=2)
    assert "lies in the workspace" in result.stderr
    assert str(project.folder) not in sys.path
    project.accept("--app", "app.py:rt")
    project("tools", "--app", "app.py:rt")  # by its file it can be read
    assert str(project.folder) not in sys.path


def test_a_workspace_that_the_application_chooses_leaves_the_path_too(project):
    project.write(
        "own.py",
        "from pathlib import Path\nfrom callslip import Runtime\nrt = Runtime(workspace=Path(__file__).parent)\n",
    )
    load(project, "tools", app="own:rt")
    assert str(project.folder) not in sys.path


def test_the_application_goes_before_the_file_and_the_command_line_before_both(project, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    project.write(
        "own.py",
        "from callslip import Runtime\nfrom callslip.runtime.parts import Limits\n"
        f"rt = Runtime(state={str(tmp_path / 'mine')!r}, system='app', policy={{'write': 'deny'}},"
        " limits=Limits(steps_per_turn=3))\n",
    )
    project.configure(
        'app = "own.py:rt"\nsystem = "file"\nmodel = "openai:x"\n'
        '[policy]\nwrite = "allow"\n[limits]\nsteps_per_turn = 9\n'
    )
    own = load(project).settings
    assert own.state == tmp_path / "mine"
    assert own.decisions == {"write": "deny"}
    assert (own.system, own.limits.steps_per_turn) == ("app", 3)
    assert own.model.name.endswith(":x")
    project.accept("--state", str(tmp_path / "typed"))
    given = load(project, state=tmp_path / "typed").settings
    assert given.state == tmp_path / "typed"


def test_what_the_application_leaves_open_the_file_says(project):
    project.configure('app = "app.py:bare"\nsystem = "file"\n[policy]\nwrite = "deny"\n[limits]\nsteps_per_turn = 9\n')
    own = load(project, "look").settings
    assert own.decisions == {"write": "deny"}
    assert own.system == "file"
    assert own.limits == Limits(steps_per_turn=9)


def test_driving_without_application_takes_the_workspaces_tools(project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (project.folder / "files").mkdir()
    project.configure('workspace = "files"\n')
    assert "read_file" in project("tools").stdout
    result = project("run", "hello", code=2)
    assert "No model is named" in result.stderr
    assert list(load_with_model(project).catalogue) == [
        "read_file",
        "list_files",
        "search_text",
        "write_file",
        "edit_file",
    ]


def load_with_model(project):
    return runtime_for(Given(project=project.folder), "drive", model="openai:x")


def test_driving_with_nothing_says_what_to_do(project):
    project.configure("")
    for words in (("run", "hello"), ("resume", "s"), ("tools",)):
        result = project(*words, code=2)
        assert "callslip init" in result.stderr
    assert not (project.state / "ledger.db").exists()


def test_a_recorded_model_lies_beside_the_file_that_names_it(project, monkeypatch):
    project.configure('app = "app.py:bare"\nmodel = "recorded:r.jsonl"\n')
    monkeypatch.chdir("/")
    assert str(project.folder / "r.jsonl") in project("run", "x", code=2).stderr


def test_a_model_that_cant_be_built(project):
    assert "can't be built" in project("run", "x", "--model", "nonsense", code=2).stderr


@pytest.mark.parametrize("words", [("sessions",), ("waits",), ("verify",), ("doctor",)])
def test_looking_makes_no_log(project, words):
    for configuration in ("", 'app = "app.py:rt"\n'):
        project.configure(configuration)
        project(*words, code=1 if words == ("doctor",) and not configuration else 0)
        assert not (project.state / "ledger.db").exists()


def test_looking_needs_no_application_and_with_state_named_not_even_a_working_one(project):
    project("run", "hello", "--session", "s")
    project.configure("")
    assert "s " in project("sessions").stdout
    project.write("app.py", "1 / 0\n")
    project.configure()
    for word in ("sessions", "inbox"):
        said = project(word, code=2).stderr
        assert "ZeroDivisionError" in said
        assert f"\n  Without the application: --state {project.state}\n" in said
    assert "s " in project("sessions", "--state", str(project.state)).stdout


def test_a_state_folder_that_is_not_there_is_no_empty_one(project):
    assert "There is no state folder" in project("sessions", "--state", "elsewhere", code=2).stderr


@pytest.mark.parametrize("words", [("sessions",), ("verify",), ("waits",), ("inbox",), ("show", "s")])
def test_what_is_no_state_folder_is_not_looked_at(project, words, tmp_path):
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    said = project(*words, "--state", str(other), code=2).stderr
    assert f"{other} is no state folder: it has no ledger.db. Nothing was read." in said
    assert list(other.iterdir()) == []
    other.chmod(0o755)
    said = project(*words, "--state", str(other), code=5).stderr
    assert (f"{other} is no state folder. Nothing was done. Name another" in said, "chmod" in said) == (True, False)
    said = project(*words, "--state", "app.py", code=2).stderr
    assert "app.py is no state folder: it is a file. Nothing was done." in said


def test_a_state_folder_in_which_nothing_has_happened_yet_is_one(project, tmp_path):
    installation_key(open_state(tmp_path / "fresh"))
    assert "No sessions yet" in project("sessions", "--state", str(tmp_path / "fresh")).stdout


def test_a_project_that_is_not_there(project):
    with pytest.raises(ConfigError, match="no project folder"):
        find(Given(project=project.folder / "gone"))


def test_a_setting_that_means_nothing(project):
    project.configure('appp = "app.py:rt"\n')
    assert "appp" in project("trust", code=2).stderr
    assert "callslip.toml (changed)" in project("run", "hello", code=5).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('polcy = "x"', "no setting `polcy`. Did you mean policy? Nothing was started."),
        ("[limits]\nresult_byte = 1", "`result_byte` in [limits]. Did you mean result_bytes? Nothing was started."),
        ("[data]\nencript = true", "`encript` in [data]. Did you mean encrypt? Nothing was started."),
        (
            '[[notify]]\nkind = "log"\npth = "x"',
            "`pth` in [[notify]] number 1. Did you mean path? Nothing was started.",
        ),
        ('[[notify]]\nkind = "mail"', "kind can't be 'mail'. It is webhook, command or log. Nothing was started."),
        ("zzzzzz = 1", "no setting `zzzzzz`. There are app, model, base_url, servers,"),
    ],
)
def test_a_setting_that_is_misspelt(project, text, said):
    project.configure(f'state = "state"\n{text}\n')
    assert said in project("trust", code=2).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[model_options]\ntemperature = nan", "temperature = nan is none: give a number from 0 to 2."),
        ("[model_options]\ntemperature = -5", "temperature = -5 is none"),
        ("[model_options]\ntemperature = 99", "temperature = 99 is none"),
        ("[model_options]\nmax_output_tokens = 0", "max_output_tokens = 0 leaves the model no word"),
        ("[model_options.price]\ninput = -1\noutput = 1", "input = -1 is no price"),
        ("[model_options.price]\ninput = 1\noutput = inf", "output = inf is no price"),
        ('[model_options]\neffort = "lots"', "[model_options] effort can't be 'lots'. It is high, low, medium or off."),
        ('base_url = "http://x y"', "base_url is no full http or https address"),
        ('base_url = ""', "base_url is no full http or https address"),
        ('[servers]\nanthropic = "localhost"', "[servers] anthropic is no full http or https address"),
        ('[servers]\nanthropc = "http://x"', "no `anthropc` for [servers]. Did you mean anthropic?"),
    ],
)
def test_a_setting_that_no_model_could_be_asked_with(project, text, said):
    project.configure(f'state = "state"\n{text}\n')
    stderr = project("trust", code=2).stderr
    assert said in stderr
    assert "localhost" not in stderr  # what was to be an address may hold a key


@pytest.mark.parametrize("command", ["run", "chat"])
@pytest.mark.parametrize("model", ["anthropic:x", " openai : x"])
def test_a_key_that_is_missing_is_named_before_there_is_a_session(project, monkeypatch, command, model):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    project.configure('app = "app.py:bare"\n')
    stderr = project(command, "hello", "--model", model, code=2, text="").stderr
    assert "_API_KEY is not set, and no base_url names another server. Nothing was started." in stderr
    assert project.json("sessions")["sessions"] == []


def test_commands_for_the_user_to_copy_reach_the_same_project(project):
    given = Given(app="a b.py:rt", state=project.state)
    assert (
        given.command("resume", "it's") == f"""callslip resume 'it'"'"'s' --app 'a b.py:rt' --state {project.state}"""
    )
