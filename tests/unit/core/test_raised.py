"""What an error said itself: the first line of its message, and not the last."""

import subprocess
import traceback

import pytest

from callslip.core.raised import first_line


class HTTPStatusError(Exception):
    pass


def recorded(error, cause=None, context=None):
    """As the runtime records it."""
    try:
        try:
            if context is not None:
                raise context
        finally:
            raise error from cause
    except BaseException as raised:
        return "".join(traceback.format_exception(raised))


TWO = HTTPStatusError("Client error '404 Not Found' for url 'http://x/'\nFor more information check: https://mdn/404")
QUOTING = ValueError("the tool said\nTraceback (most recent call last):\n  File 'x'\nKeyError: 3")


@pytest.mark.parametrize(
    ("internal", "line"),
    [
        ("", ""),
        ("ToolFailed: no\nand more", "ToolFailed: no"),
        (recorded(TWO), "test_raised.HTTPStatusError: Client error '404 Not Found' for url 'http://x/'"),
        (recorded(TWO, cause=KeyError("first")), "test_raised.HTTPStatusError: Client error '404 Not Found' for url 'http://x/'"),
        (recorded(TimeoutError("no answer"), context=TWO), "TimeoutError: no answer"),
        (recorded(QUOTING), "ValueError: the tool said"),
        (recorded(ValueError("\n  it begins late\nand ends")), "ValueError: it begins late"),
        (recorded(ValueError()), "ValueError"),
        (recorded(subprocess.CalledProcessError(3, ["x"])), "subprocess.CalledProcessError: Command '['x']' returned non-zero exit status 3."),
        (recorded(ExceptionGroup("two", [ValueError("a"), KeyError("b")])), "ExceptionGroup: two (2 sub-exceptions)"),
        (recorded(ValueError("no")) + "what it printed\nlast", "ValueError: no"),
        ("  \n", ""),
    ],
)  # fmt: skip
def test_the_first_line_of_the_message(internal, line):
    assert first_line(internal).replace("tests.unit.core.", "") == line
