"""Texts as the words that search goes by.

Names are split at underscores, dots, dashes, capitals and digits; everything is brought to one form (NFKC, case,
accents), stop words fall out, English words become stems, and scripts without spaces go by characters and pairs. The
same is done with requests and with tools, whatever they hold, and the amount of work is bounded.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from callslip.routing.stem import stem
from callslip.routing.stop_words import STOP_WORDS
from callslip.routing.unspaced import RANGES, grams, is_unspaced

MAX_TEXT = 4_000
"""Characters of one text that are looked at."""
_MAX_WORD = 40
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0900-\u0dff"  # accents and vowel signs, which \w leaves out
_RUN = re.compile(rf"[{RANGES}]+|(?:(?![_{RANGES}])[\w{_MARKS}])+")
_CONTRACTION = re.compile(r"(?<=[A-Za-z])['\u2019](?:s|m|d|ll|re|ve|t)\b")
_PART = re.compile(r"\d+|\D+")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")


def ends(text: str) -> str:
    """A long text's beginning and end: what a request asks for stands at either, what it quotes between."""
    half = MAX_TEXT // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]} {text[-half:]}"


def words(text: str) -> list[str]:
    """The words of the first 4,000 characters, in order, with repetitions."""
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)[: 2 * MAX_TEXT]
    found: list[str] = []
    for run in _RUN.findall(_CONTRACTION.sub("", text)):
        if is_unspaced(run):
            found.extend(grams(run))
        else:
            found.extend(_of_run(run))
    return found


@lru_cache(maxsize=65_536)
def _of_run(run: str) -> tuple[str, ...]:
    if run.isascii() and run.isalpha() and (run.islower() or run[1:].islower()):
        word = run.lower()
        return () if word in STOP_WORDS else (stem(word[:_MAX_WORD]),)
    parts = [piece for part in _PART.findall(run) for piece in _CAPITAL.split(part)]
    found = [folded(run)] if len(run) <= 12 and any(c.isdigit() for c in run) and len(parts) > 1 else []
    for part in parts:
        word = folded(part)
        if word and word not in STOP_WORDS:
            found.append(stem(word[:_MAX_WORD]))
    return tuple(found)


def folded(word: str) -> str:
    """One form for all spellings of case and accent; only Latin letters lose their marks."""
    word = word.casefold()
    if word.isascii():
        return word
    word = unicodedata.normalize("NFKC", word)
    if word[:1] < "\u0250":
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return word


def spaced(name: str) -> str:
    """A name with spaces between its words, as it would be read out: ``getUserInfo`` is *get User Info*."""
    return " ".join(
        piece for part in re.split(r"[\s_.:/|\-]+", name[:MAX_TEXT]) for piece in _CAPITAL.split(part)
    ).strip()


def name_key(name: str) -> str:
    """What names have in common that differ in case and separators only; empty for a name of nothing else."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name[:MAX_TEXT]).casefold())
