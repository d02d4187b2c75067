"""Whether anything fits at all (DEFR-05).

A best tool there always is. It is offered as fitting only where four signs together say so: its rating (how much of the
request it explains, by words and by meaning), how far it stands out from those behind it, how much of its own name
the request mentions, and, against it, how it came by its score: a request of which a tool has few words, but
those strongly, is mostly about something else.

The factors are those of a logistic regression over eight public sets, each request asked with its right tools and
without them, rounded; the bars are set so that at most a fifth of the requests whose right tools were taken away are
still offered one (which is often a tool that would do as well). That has its price: whole user requests hold much that
no tool has a word for, and two fifths to a half of them fall under the bar although their tool is there. So what is
not offered is named all the same, as a near miss; nothing is out of reach, it is only not promised.
"""

from __future__ import annotations

from collections.abc import Sequence

from callslip.routing.hit import Hit

WORDS_BAR = 1.6
"""Where tools were searched by words alone, …"""
BOTH_BAR = 2.4
"""… and by meaning too."""
WORDS_LIKELY = 0.0
"""Where a tool is shown and nobody says that it fits: nine of ten requests pass whose tool is there, …"""
BOTH_LIKELY = 0.5
"""… and what is said in passing, which no tool has a word for, does not."""
TAIL = 0.5
"""What a tool needs, beside 1 for the best, to be offered after it. Four of ten would be offered in vain; of the right
ones, one in a hundred is lost (621 and 655 searches over nine sets, by words and with vectors).
"""
_RATING = 3.0
_STRENGTH = -3.0
_GAP = 2.0
_NAME = 1.5
_BEHIND = 5


def fits(hits: Sequence[Hit], mentioned: float, *, by_meaning: bool = False) -> bool:
    """Whether the first of the hits, which are rated and in order, is to be offered.

    ``mentioned``: the part of its name that the request mentions. A tool that the request names outright always fits.
    """
    if not hits:
        return False
    if hits[0].exact:
        return True
    return sureness(hits, mentioned) > (BOTH_BAR if by_meaning else WORDS_BAR)


def likely(hits: Sequence[Hit], mentioned: float, *, by_meaning: bool = False) -> bool:
    """Whether the first of the hits may well be what is needed. There is at least one."""
    return hits[0].exact or sureness(hits, mentioned) > (BOTH_LIKELY if by_meaning else WORDS_LIKELY)


def worth(hits: Sequence[Hit]) -> list[Hit]:
    """Those of the hits, of which the first fits or is likely, that may go with it: the rest is far behind."""
    best = next((hit.rating for hit in hits if not hit.exact), 0.0)
    return [hit for hit in hits if hit.exact or hit.rating >= TAIL * best]


def sureness(hits: Sequence[Hit], mentioned: float) -> float:
    """The signs together; there is at least one hit."""
    best = hits[0]
    behind = [hit.rating for hit in hits[1 : 1 + _BEHIND]]
    gap = 1.0 if best.rating > 0 else 0.0
    if behind and gap:
        gap = min(1.0, max(0.0, 1.0 - sum(behind) / len(behind) / best.rating))
    strength = best.score / best.coverage if best.coverage else 0.0
    return _RATING * best.rating + _STRENGTH * strength + _GAP * gap + _NAME * mentioned
