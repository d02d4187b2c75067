"""Words that say nothing about which tool fits: grammar, and the phrases that requests are wrapped in."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just like me more most my myself no nor not now of off once only or other our out
    over own same she should so some such than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom why will with would you your yours
    let need want please tell give help looking know show provide find get us go see something anything someone one
    thing things way much many able interested wondering hi hello thanks thank kindly assist maybe possible
    specifically currently
    """.split()  # noqa: SIM905 - a page of quoted words would be harder to read
)
"""In lower case, before stemming. The last three lines are how requests begin, and how tool names do."""
