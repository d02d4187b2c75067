"""Decides whether a path is off limits (GATE-03), by its parts, and not by how it was spelled.

It opens nothing. Who opens a path asks twice: with the spelling before, so that nothing is revealed of a forbidden
path, and with the real location of the open descriptor after, so that a link to a forbidden file is found out.
A hard link made by somebody else can't be told from its target by name; writes refuse every hard link.
"""

from __future__ import annotations

import functools
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from callslip.errors import ConfigError, StateRefused, ToolFailed
from callslip.workspace import forbidden_paths
from callslip.workspace.path_argument import shown

Access = Literal["read", "write"]

_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One forbidden path: it, and everything beneath it."""

    parts: tuple[str, ...]
    """Folded; each may hold ``*``, ``?`` and ``[...]``."""
    why: str
    """Goes into "… is off limits: it {why}."."""
    writes_only: bool = False
    anchored: bool = False
    """Only from the root, not at any depth."""
    unless: tuple[str, ...] = ()
    """Folded last parts that are allowed after all."""


class Forbidden:
    """A set of rules, asked by path."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_last: dict[str, list[Rule]] = {}
        self._wild: list[Rule] = []
        for rule in rules:
            last = rule.parts[-1]
            # Walking a tree asks for every entry: almost all of them are answered by one look into the dict.
            (self._wild if _WILD & set(last) else self._by_last.setdefault(last, [])).append(rule)

    def find(self, path: str, access: Access) -> Rule | None:
        """The rule that forbids this access, or ``None``. ``path`` is relative to the root."""
        parts = tuple(_fold(part) for part in os.path.normpath(path).split("/"))
        for end, part in enumerate(parts, start=1):
            candidates: list[Rule] = [*self._by_last.get(part, ()), *self._wild]
            for rule in candidates:
                if (access == "write" or not rule.writes_only) and _matches(rule, parts[:end]):
                    return rule
        return None

    def check(self, path: str, access: Access, *, asked: str) -> None:
        """Raise if the path is off limits; ``asked`` is how the caller spelled it, for the message.

        Raises:
            ToolFailed: ``forbidden_path``. Effect none.
        """
        rule = self.find(path, access)
        if rule is None:
            return
        verb = "read" if access == "read" else "written"
        raise ToolFailed(
            f"{shown(asked)} may not be {verb}: it {rule.why}. Nothing was touched, and no other spelling will do."
            " If the task needs it, ask the user to do that step.",
            code="forbidden_path",
        )


def forbidden_for(root: Path, *, extra: Sequence[str] = (), state: Path | None = None) -> Forbidden:
    """The built-in rules, the project's own, and the state folder if it lies in the root.

    ``root`` is the root's real path on this machine. An ``extra`` is a relative path whose parts may hold ``*``,
    ``?`` and ``[...]``; one that begins with ``/`` is meant from the root only, else at any depth. It forbids both
    reading and writing.

    Raises:
        ConfigError: an extra path that can't be understood.
        StateRefused: the root lies inside the state folder.
    """
    rules = [*_BUILT_IN, *(_extra_rule(pattern) for pattern in extra)]
    if state is not None:
        real = state.resolve()
        if root.is_relative_to(real):
            raise StateRefused(
                "The workspace lies inside the runtime's own state folder, so that tools could rewrite the record."
                " Nothing was opened. Put the state folder outside the workspace."
            )
        if real.is_relative_to(root):
            parts = tuple(_escape(_fold(part)) for part in real.relative_to(root).parts)
            rules.append(Rule(parts=parts, why="belongs to the runtime's own state", anchored=True))
    return Forbidden(rules)


def _rules(paths: Iterable[str], why: str, *, writes_only: bool = False, unless: Sequence[str] = ()) -> list[Rule]:
    return [
        Rule(parts=tuple(_fold(part) for part in path.split("/")), why=why, writes_only=writes_only,
             unless=tuple(_fold(name) for name in unless))
        for path in paths
    ]  # fmt: skip


def _extra_rule(pattern: str) -> Rule:
    anchored = pattern.startswith("/")
    parts = [part for part in pattern.removesuffix("/**").split("/") if part not in ("", ".")]
    if not parts or "**" in parts or ".." in parts:
        raise ConfigError(
            f"{pattern!r} is no forbidden path: give a relative path such as 'secrets' or '/deploy/*.key',"
            " without '..' and without '**' in the middle. Nothing was opened."
        )
    return Rule(
        parts=tuple(_fold(part) for part in parts), why="is forbidden by the project's settings", anchored=anchored
    )


def _matches(rule: Rule, parts: tuple[str, ...]) -> bool:
    length = len(rule.parts)
    if length > len(parts) or (rule.anchored and length != len(parts)):
        return False
    pairs = zip(parts[-length:], rule.parts, strict=True)
    return all(fnmatchcase(part, wanted) for part, wanted in pairs) and parts[-1] not in rule.unless


@functools.lru_cache(maxsize=16_384)
def _fold(part: str) -> str:
    # File systems that ignore case also ignore some of: composed forms, invisible characters, final dots and
    # spaces. Where the file system tells them apart, a needless refusal is the lesser harm.
    visible = "".join(char for char in part if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(" .") or part


def _escape(part: str) -> str:
    return "".join(f"[{char}]" if char in _WILD else char for char in part)


_BUILT_IN: tuple[Rule, ...] = (
    *_rules(forbidden_paths.KEYS, "holds keys or credentials"),
    *_rules(forbidden_paths.ENVIRONMENT, "may hold secrets", unless=forbidden_paths.ENVIRONMENT_EXAMPLES),
    *_rules(forbidden_paths.GIT_CONFIGURATION, "is git's own configuration, which can run programs"),
    *_rules(forbidden_paths.GIT_INTERNALS, "belongs to git itself", writes_only=True),
    *_rules(forbidden_paths.SHELL, "runs when a shell starts", writes_only=True),
    *_rules(forbidden_paths.EDITOR, "can run programs when an editor opens the folder", writes_only=True),
    *_rules(forbidden_paths.MCP, "says which MCP servers run, and with which credentials"),
    *_rules(forbidden_paths.AGENT_INSTRUCTIONS, "instructs agents, and only people may", writes_only=True),
    *_rules(forbidden_paths.CALLSLIP, "configures the runtime itself", writes_only=True),
)
