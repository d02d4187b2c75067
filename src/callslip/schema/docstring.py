"""Read a tool's description and its parameters' from a docstring in Google, NumPy or Sphinx style.

The description is the text outside the sections that describe arguments, results and errors; notes stay in it, as
they often say when not to use the tool. Unknown layouts lose nothing: what isn't a known section is description.
"""

import inspect
import re
from itertools import pairwise
from typing import Final

import msgspec

PARAMETER_SECTIONS: Final = frozenset(
    {
        "args", "arguments", "parameters", "params", "keyword args", "keyword arguments",
        "other parameters", "other args",
    }
)  # fmt: skip
OTHER_SECTIONS: Final = frozenset(
    {
        "returns", "return", "yields", "yield", "raises", "raise", "attributes", "examples", "example",
        "see also", "references", "receives", "warns", "todo",
    }
)  # fmt: skip
SECTIONS: Final = PARAMETER_SECTIONS | OTHER_SECTIONS
GOOGLE_ENTRY: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+|$)(.*)")
NUMPY_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
SPHINX_PARAMETER: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)"
)
SPHINX_FIELD: Final = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except|exception|yields?|ytype)\b.*?:"
)


class Docstring(msgspec.Struct, frozen=True, kw_only=True):
    """What a docstring says to someone who calls the function."""

    description: str
    """Paragraphs separated by blank lines; empty when there is none."""
    parameters: dict[str, str]
    """One line of text for each parameter that is described."""


class _Reader:
    def __init__(self) -> None:
        self.description: list[str] = []
        self.entries: dict[str, list[str]] = {}
        self.section = ""
        self.style = ""
        self.open: list[str] = []
        """The text lines of the entry that continuation lines belong to."""

    def feed(self, line: str, following: str) -> None:
        name = line.strip().rstrip(":").lower()
        underlined = bool(re.fullmatch(r"-{3,}", following.strip()))
        if not line[:1].isspace() and name in SECTIONS and (underlined or line.rstrip().endswith(":")):
            self.section, self.style, self.open = name, "numpy" if underlined else "google", []
        elif SPHINX_FIELD.match(line):
            self._sphinx(line)
        elif self.style == "numpy":
            self._entry(line, NUMPY_ENTRY)
        elif self.style and (not line.strip() or line[:1].isspace()):
            self._continue(line)
        else:
            self.style = ""
            self.description.append(line)

    def _sphinx(self, line: str) -> None:
        self.style, self.section, self.open = "sphinx", "", []
        if match := SPHINX_PARAMETER.match(line):
            self.open = self.entries.setdefault(match.group(1), [])
            self.open.append(match.group(2))

    def _continue(self, line: str) -> None:
        if self.style == "sphinx":
            self.open.append(line)
            if not line.strip():
                self.style = ""
        else:
            self._entry(line, GOOGLE_ENTRY)

    def _entry(self, line: str, pattern: re.Pattern[str]) -> None:
        if self.section not in PARAMETER_SECTIONS or set(line.strip()) <= {"-"}:
            return
        indent = len(line) - len(line.lstrip())
        first = indent <= self._entry_indent(indent)
        if first and (match := pattern.fullmatch(line.strip())):
            text = match.group(2) if pattern is GOOGLE_ENTRY else ""
            self.open = [text]
            for name in match.group(1).split(","):
                self.entries[name.strip().lstrip("*")] = self.open
        else:
            self.open.append(line)

    def _entry_indent(self, indent: int) -> int:
        """Entries stand at the indent of a section's first line; deeper lines continue one."""
        if self.style == "numpy":
            return 0
        if not self.open:
            self.indent = indent
        return self.indent


def read_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; no docstring gives an empty description."""
    reader = _Reader()
    lines = inspect.cleandoc(text or "").splitlines()
    for line, following in pairwise([*lines, ""]):
        reader.feed(line, following)
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in reader.description)).strip()
    parameters = {name: " ".join(" ".join(parts).split()) for name, parts in reader.entries.items()}
    return Docstring(description=description, parameters={name: said for name, said in parameters.items() if said})
