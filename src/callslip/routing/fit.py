"""Whether anything fits at all (DEFR-05).

A best tool there always is. It is offered as fitting only where its words explain enough of the request, and, with
vectors, its meaning is near enough. The bars are set so that at most about a fifth of the requests whose right tools
were taken away are still offered one. That is bought dearly with whole user requests, which hold much that no tool
has a word for: about half of them fall under the bar although their tool is there. So what is not offered is named
all the same, as a near miss; nothing is out of reach, it is only not promised.
"""

from __future__ import annotations

from callslip.routing.hit import Hit
from callslip.routing.vectors import Near

WORDS_BAR = 0.28
"""By words alone: the part of the request that the best tool must have the words of."""
BOTH_BAR = 0.48
"""With vectors: that part, and 0.04 for each standard deviation that its meaning is nearer than the average tool's."""
_PER_DEVIATION = 0.04


def fits(best: Hit | None, near: Near | None = None) -> bool:
    """Whether the best tool is to be offered. A tool that the request names always is."""
    if best is None:
        return False
    if best.exact:
        return True
    if near is None:
        return best.coverage > WORDS_BAR
    return best.coverage + _PER_DEVIATION * near.scores.get(best.id, 0.0) > BOTH_BAR
