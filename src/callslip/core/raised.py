"""What an error said itself, out of what is recorded of it: a traceback, and what its process has printed. Pure."""

from __future__ import annotations

import re

_BEGINS = re.compile(r"^(?:  \+ Exception Group )?Traceback(?: \(most recent call last\))?:$", re.MULTILINE)
_CHAINED = re.compile(
    r"\n\n(?:The above exception was the direct cause of the following exception|"
    r"During handling of the above exception, another exception occurred):\n\n(?=(?:  \+ Exception Group )?Traceback )"
)
_MARGIN = "  | "
"""Before each line of a group of exceptions."""


def first_line(internal: str) -> str:
    """The error's type and the first line of its message, such as ``TimeoutError: no answer``.

    A message may have many lines, and the last of them is seldom the one that says what has failed.
    """
    last = _CHAINED.split(internal)[-1]
    begins = _BEGINS.search(last)
    lines = (last if begins is None else last[begins.end() :]).splitlines()
    lines = [line.removeprefix(_MARGIN) for line in lines if line.removeprefix(_MARGIN).strip()]
    if begins is not None:
        while len(lines) > 1 and lines[0].startswith((" ", "\t")):  # where it was raised
            lines.pop(0)
    first = lines[0].strip() if lines else ""
    if first.endswith(":") and len(lines) > 1:  # a message that begins with an empty line
        return f"{first} {lines[1].strip()}"
    return first
