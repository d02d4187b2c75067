"""Advice on tool definitions (SPEC-04): what makes models pick the wrong tool or fill it wrongly.

It judges words, so it only warns; nothing is refused on its say. Two tools count as similar when their names mean
the same deed on the same object, or when their descriptions share most of their words.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec

MOST_VISIBLE: Final = 20
SIMILAR_OBJECTS: Final = 0.5
SIMILAR_WORDS: Final = 0.6
DEEDS: Final = (
    "get fetch read load retrieve lookup look find search list query show view describe count check browse scan",
    "create add insert make new write append register open start begin generate build draft compose post",
    "update set edit modify change patch replace rename move put adjust configure assign mark tag",
    "delete remove drop clear cancel close stop end archive purge revoke disable abort reject",
    "send notify email message publish share submit reply forward call invite ping",
    "convert translate summarise summarize format parse extract compare calculate compute estimate validate verify",
    "book order buy pay charge refund transfer reserve schedule approve merge sign ship",
    "download upload import export sync copy restore backup deploy install enable connect join split sort filter",
    "run execute call perform trigger process handle manage",
)
VERBS: Final = {verb: group for group, verbs in enumerate(DEEDS) for verb in verbs.split()}
VAGUE: Final = frozenset(
    {
        "a", "action", "an", "call", "data", "do", "execute", "func", "function", "general", "handle", "handler",
        "helper", "info", "it", "main", "manage", "misc", "my", "operation", "perform", "process", "run", "stuff",
        "that", "the", "thing", "this", "tool", "use", "util", "utility",
    }
)  # fmt: skip
FILLERS: Final = frozenset(
    {
        "a", "all", "an", "and", "are", "as", "at", "by", "for", "from", "in", "into", "is", "it", "its", "of",
        "on", "one", "or", "that", "the", "this", "to", "use", "when", "with",
    }
)  # fmt: skip
GUIDANCE: Final = re.compile(
    r"\b(?:do not|don't|don’t|never|not for|not to|not when|unless|instead|rather than|only (?:for|if|when)|avoid"
    r"|prefer|use \w+ (?:for|if|to|when))\b",
    re.IGNORECASE,
)
CHOICE: Final = re.compile(
    r"\b(?:one of|either|choose from|allowed values|possible values|valid values)\b", re.IGNORECASE
)
DEFAULT_NOTE: Final = re.compile(r"\b(?:default|defaults|if omitted|when omitted|if left out)\b", re.IGNORECASE)


class LintInput(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    deferred: bool = False
    """It is found by search, and not shown with the others."""


class LintWarning(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of advice."""

    code: str
    """vague_name, missing_description, missing_parameter_description, missing_negative_guidance, missing_enum,
    missing_default, missing_default_note or too_many_tools."""
    tool: str
    """The tool's name; empty when the advice is on all of them."""
    message: str


def lint(tools: Sequence[LintInput]) -> tuple[LintWarning, ...]:
    """Warn on each tool in its order, then on pairs, then on the whole list. Names are taken to be unique."""
    warnings = [warning for tool in tools for warning in _tool_warnings(tool)]
    warnings.extend(_pair_warnings(tools))
    shown = sum(not tool.deferred for tool in tools)
    if shown > MOST_VISIBLE:
        warnings.append(
            LintWarning(
                code="too_many_tools",
                tool="",
                message=f"{shown} tools are visible at once and models choose worse above {MOST_VISIBLE}: "
                "defer the rarely used ones",
            )
        )
    return tuple(warnings)


def _tool_warnings(tool: LintInput) -> Iterator[LintWarning]:
    if reason := _vagueness(_words(tool.name)):
        yield LintWarning(
            code="vague_name",
            tool=tool.name,
            message=f"the name {tool.name!r} {reason}: name a verb and its object, such as find_invoice",
        )
    if not tool.description.strip():
        yield LintWarning(
            code="missing_description",
            tool=tool.name,
            message="there is no description: say what the tool does, when to use it and when not",
        )
    properties = tool.input_schema.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        for code, message in _parameter_advice(schema if isinstance(schema, dict) else {}):
            yield LintWarning(code=code, tool=tool.name, message=f"the parameter {name!r} {message}")


def _parameter_advice(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    text = schema.get("description")
    if not isinstance(text, str) or not text.strip():
        yield "missing_parameter_description", "has no description: say what it means, with its unit or format"
        text = ""
    if CHOICE.search(text) and not _has_choices(schema):
        yield "missing_enum", "is described as a choice, but its schema has no enum: list the values there"
    noted = bool(DEFAULT_NOTE.search(text))
    if schema.get("default") is not None and not noted:
        default = json.dumps(schema["default"], ensure_ascii=False, default=str)[:60]
        yield "missing_default_note", f"has the default {default}, but its description doesn't say so"
    if noted and "default" not in schema and "$ref" not in schema:
        yield "missing_default", "speaks of a default in its description, but its schema has none"


def _has_choices(schema: dict[str, Any]) -> bool:
    if any(key in schema for key in ("enum", "const", "$ref", "oneOf")):
        return True
    inner = [schema.get("items"), *(schema.get("anyOf") or []), *(schema.get("allOf") or [])]
    return any(_has_choices(part) for part in inner if isinstance(part, dict))


def _words(name: str) -> list[str]:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=\d)", " ", name)
    return [_singular(word) for word in re.findall(r"[^\W_]+", parted.lower())]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _vagueness(words: list[str]) -> str:
    telling = [word for word in words if word not in VAGUE and not word.isdigit()]
    verbs = [word for word in words if word in VERBS]
    if not telling:
        return "says nothing about what the tool does"
    if not verbs:
        return "has no verb that says what is done"
    if telling == verbs and len(verbs) == 1:
        return "has no object that says what it is done to"
    return ""


def _pair_warnings(tools: Sequence[LintInput]) -> Iterator[LintWarning]:
    known = [(tool, _words(tool.name), _content(tool.description)) for tool in tools]
    for (one, words, content), (other, other_words, other_content) in combinations(known, 2):
        alike = _same_deed(words, other_words) or _overlap(content, other_content) >= SIMILAR_WORDS
        if alike and not GUIDANCE.search(one.description) and not GUIDANCE.search(other.description):
            yield LintWarning(
                code="missing_negative_guidance",
                tool=one.name,
                message=f"it is easily taken for {other.name}, and neither description says when not to use it: "
                f"add a sentence such as 'Do not use for ...; use {other.name} instead.'",
            )


def _same_deed(words: list[str], other: list[str]) -> bool:
    (deed, objects), (other_deed, other_objects) = _parted(words), _parted(other)
    return deed is not None and deed == other_deed and _overlap(objects, other_objects) >= SIMILAR_OBJECTS


def _parted(words: list[str]) -> tuple[int | None, set[str]]:
    """The first verb's meaning, and the other words: "order" is a deed in order_book, an object in find_order."""
    first = next((place for place, word in enumerate(words) if word in VERBS), None)
    if first is None:
        return None, set(words)
    return VERBS[words[first]], {*words[:first], *words[first + 1 :]}


def _content(description: str) -> set[str]:
    return {_singular(word) for word in re.findall(r"[^\W_]+", description.lower())} - FILLERS


def _overlap(one: set[str], other: set[str]) -> float:
    """Shared words by all words; two empty sets share nothing."""
    return len(one & other) / len(one | other) if one and other else 0.0
