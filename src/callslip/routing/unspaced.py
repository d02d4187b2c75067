"""Scripts that are written without spaces, or whose words carry their endings: by characters and pairs of them.

Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer. Pairs of neighbouring characters find what a dictionary would,
without one; single characters find what pairs miss.
"""

from __future__ import annotations

import re

RANGES = (
    r"\u0e00-\u0eff"  # Thai, Lao
    r"\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    r"\u3005\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Chinese
    r"\uac00-\ud7af"  # Korean
)
"""For a character class."""
_LETTER = re.compile(f"[{RANGES}]")


def is_unspaced(text: str) -> bool:
    """Whether the first character is of such a script."""
    return _LETTER.match(text) is not None


def is_character(word: str) -> bool:
    """Whether it is a single character of such a script: common, and better told by its pairs."""
    return len(word) == 1 and is_unspaced(word)


def count_unspaced(text: str) -> int:
    """How many characters of such a script the text has."""
    return 0 if text.isascii() else len(_LETTER.findall(text))


def share(text: str) -> float:
    """Which part of the text's letters is of such a script, 0 to 1."""
    found = count_unspaced(text)
    # A newly assigned letter of these scripts is none yet to an older Python.
    return found / max(found, sum(map(str.isalpha, text))) if found else 0.0


def grams(run: str) -> list[str]:
    """A run's characters and pairs."""
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
