import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import callslip
from callslip.cli.failure import EXIT_CODES
from callslip.cli.main import NAMES, cli


def invoke(*words):
    return CliRunner().invoke(cli, list(words))


def test_help_names_every_command_and_every_exit_code():
    text = invoke("--help").stdout
    assert all(f"  {name} " in text for name in NAMES)
    assert all(f"{code}  {meaning[:30]}" in text for code, meaning in EXIT_CODES.items())


def test_help_imports_no_command_and_nothing_heavy():
    script = f"""
import sys, types
root = types.ModuleType("callslip")
root.__path__ = {list(callslip.__path__)!r}
sys.modules["callslip"] = root  # what the package root imports is not the command line's affair
from callslip.cli.main import cli
try:
    cli.main(["--help"])
except SystemExit:
    pass
heavy = ("callslip.application", "callslip.build", "pydantic", "msgspec", "httpx2", "asyncio", "sqlite3")
commands = tuple("callslip.cli." + name for name in {NAMES!r})
print([name for name in heavy + commands if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_interpreter_runs_the_command_of_its_own():
    done = subprocess.run([sys.executable, "-m", "callslip", "sesions"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "sessions" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself_and_takes_the_shared_options(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert all(option in result.stdout for option in ("--app", "--state", "--project", "--json", "--debug"))


def test_unknown_command_suggests_and_exits_with_2():
    result = invoke("sesions")
    assert result.exit_code == 2
    assert result.stderr.startswith("callslip: No such command 'sesions'.")
    assert "sessions" in result.stderr
    assert result.stdout == ""


def test_usage_errors_are_json_when_json_is_asked_for():
    result = invoke("show", "--json", "--nonsense")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert set(error) == {"code", "message", "layer", "retryable"}
    assert error["code"] == "usage"


def test_what_stands_after_a_double_dash_is_no_option():
    assert invoke("show", "a", "b", "--", "--json").stderr.startswith("callslip: ")


def test_no_command_shows_the_help():
    result = invoke()
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_version():
    assert callslip.__version__ in invoke("--version").stdout


def test_shared_options_may_stand_before_the_command(project):
    result = CliRunner().invoke(cli, ["--project", str(project.folder), "--json", "sessions"])
    assert json.loads(result.stdout) == {"sessions": []}


def test_calling_it_as_a_library_hands_errors_on():
    with pytest.raises(Exception, match="No such command"):
        cli.main(["nonsense"], standalone_mode=False)


def test_a_reader_that_goes_away_is_no_error(project):
    project("run", "hello", "--session", "s")
    process = project.start("show", "s")
    process.stdout.close()
    process.wait(timeout=60)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
