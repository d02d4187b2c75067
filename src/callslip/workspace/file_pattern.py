"""Which paths a pattern such as ``src/**/*.py`` means, decided in linear time."""

from __future__ import annotations

from collections.abc import Callable

import re2  # type: ignore[import-untyped]  # it ships no types

from callslip.errors import ToolFailed

MAX_PATTERN = 500
_ANY_DEPTH = "(?:[^/]+/)*"


def file_pattern(pattern: str) -> Callable[[str], bool]:
    """A test for relative paths. ``*`` and ``?`` stay within a name, ``**`` crosses folders, ``[...]`` is one
    character, ``{a,b}`` either. Without ``/`` a name at any depth is meant, as in ``.gitignore``.

    Raises:
        ToolFailed: ``bad_pattern``. Effect none.
    """
    if not pattern or len(pattern) > MAX_PATTERN:
        raise ToolFailed(
            f"A file pattern has 1 to {MAX_PATTERN} characters. Nothing was changed. Give one such as **/*.py.",
            code="bad_pattern",
        )
    plain = pattern.removeprefix("./").removeprefix("/")
    if plain.endswith("/"):
        plain += "**"
    expression = ("" if "/" in pattern else _ANY_DEPTH) + _translate(plain)
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        compiled = re2.compile(f"^(?:{expression})$", options)
    except re2.error as error:
        raise ToolFailed(
            f"The file pattern {pattern!r} can't be understood. Nothing was changed. Give one such as **/*.py.",
            code="bad_pattern",
        ) from error
    return lambda path: compiled.search(path) is not None


def _translate(pattern: str) -> str:
    out: list[str] = []
    position = depth = 0
    while position < len(pattern):
        char = pattern[position]
        if pattern.startswith("**/", position) and (position == 0 or pattern[position - 1] == "/"):
            out.append(_ANY_DEPTH)
            position += 3
            continue
        if pattern.startswith("**", position):
            out.append(".*")
            position += 2
            continue
        if char == "[" and (end := pattern.find("]", position + 2)) > 0:
            out.append(_one_of(pattern[position + 1 : end]))
            position = end + 1
            continue
        if char == "{" and "}" in pattern[position:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re2.escape(char))
        position += 1
    return "".join(out)


def _one_of(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = (inside[1:] if negated else inside).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{'^/' if negated else ''}{body}]"
