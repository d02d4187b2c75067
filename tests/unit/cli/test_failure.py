import json

import click
import pytest

from callslip import errors
from callslip.cli import failure
from callslip.cli.failure import report


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CallslipError("x"), 1),
        (errors.LedgerUnavailable("x"), 1),
        (errors.WorkspaceError("x"), 1),
        (ValueError("x"), 1),
        (errors.UsageError("x"), 2),
        (errors.NotFound("x"), 2),
        (errors.ConfigError("x"), 2),
        (click.UsageError("x"), 2),
        (errors.Busy("x"), 4),
        (errors.Fenced("x"), 4),
        (errors.LogBroken("x"), 5),
        (errors.StateRefused("x"), 5),
        (errors.CommitUnknown("x"), 5),
        (errors.TrustBroken("x"), 5),
        (errors.ModelUnavailable("x"), 6),
        (errors.EmptyReply("x"), 6),
        (errors.NotAuthorised("x"), 8),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_exit_code_by_class(error, code):
    assert failure.exit_code(error) == code
    assert code in failure.EXIT_CODES


def test_an_error_is_one_line_without_control_characters(capsys):
    assert report(errors.LogBroken("It is\nbroken \x1b[31m."), as_json=False, debug=False) == 5
    assert capsys.readouterr().err == "callslip: It is broken \\x1b[31m.\n"


def test_an_unexpected_error_says_how_to_see_more(capsys):
    report(KeyError("gone"), as_json=False, debug=False)
    err = capsys.readouterr().err
    assert "KeyError" in err
    assert "--debug" in err
    assert "Traceback" not in err


def test_debug_adds_the_traceback(capsys):
    try:
        raise RuntimeError("inside")
    except RuntimeError as error:
        report(error, as_json=False, debug=True)
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.rstrip().endswith("Something unexpected happened (RuntimeError: inside).")


def test_json_tells_code_layer_and_whether_to_retry(capsys):
    report(errors.ModelUnavailable("no answer", retryable=True), as_json=True, debug=False)
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "error": {"code": "model_unavailable", "message": "no answer", "layer": "network", "retryable": True}
    }
    report(KeyboardInterrupt(), as_json=True, debug=False)
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "interrupted"
    report(ZeroDivisionError("x"), as_json=True, debug=False)
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unexpected"


def test_the_systems_refusals_are_told_in_words(capsys):
    report(PermissionError(13, "Permission denied", "/x/y"), as_json=False, debug=False)
    assert "The system refused: Permission denied (/x/y)." in capsys.readouterr().err


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_where_none_is_wanted(monkeypatch, name, value):
    said = []
    monkeypatch.setattr(click, "echo", lambda text, **_: said.append(text))  # as it goes to a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report(errors.UsageError("x"), as_json=False, debug=False)
    monkeypatch.setenv(name, value)
    report(errors.UsageError("x"), as_json=False, debug=False)
    assert said == ["\x1b[1mcallslip:\x1b[0m x", "callslip: x"]
