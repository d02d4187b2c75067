"""Words that say nothing about which tool fits, or little: grammar, and the phrases that requests are wrapped in."""

from __future__ import annotations

from callslip.routing.stem import stem

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how
    i if in into is it its itself just like me more most my myself no nor not now of off once only or other our out
    over own same she should so some such than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom why will with would you your yours
    let need want please tell looking know us go see something anything someone one
    thing things way much many able interested wondering hi hello thanks thank kindly assist maybe possible
    specifically currently
    """.split()  # noqa: SIM905 - a page of quoted words would be harder to read
)
"""In lower case, before stemming. The last three lines are how requests begin, and how tool names do."""

LIGHT_WORDS = frozenset(map(stem, "find get give help provide show".split()))  # noqa: SIM905 - as above
"""Stems of words that requests begin with, and names of tools as well (``find_customer``). In a name they tell it from
its neighbours; anywhere else they say nothing.
"""
LIGHT = 0.5
"""What a light word weighs, beside 1 for another that is as rare."""
