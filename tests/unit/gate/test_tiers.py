"""Which tools have to be found."""

import pytest

from callslip.core.routing import Routing
from callslip.core.tool import ToolSpec
from callslip.errors import ToolDefinitionError
from callslip.gate.tiers import deferred

pytestmark = pytest.mark.requirement("DEFR-01")

SPECS = [
    ToolSpec(name="plain"),
    ToolSpec(name="declared", deferred=True),
    ToolSpec(name="inner", deferred=True, callable_from=("program",)),
    ToolSpec(name="tool_search"),
]


def test_those_that_declare_it():
    assert deferred(SPECS, Routing()) == {"declared"}


def test_all_that_a_model_may_call_but_the_search_itself():
    assert deferred(SPECS, Routing(defer="all")) == {"plain", "declared"}


def test_none():
    assert deferred(SPECS, Routing(defer="none")) == frozenset()


def test_from_so_many_on():
    assert deferred(SPECS, Routing(defer="auto", more_than=2)) == {"declared"}
    assert deferred(SPECS, Routing(defer="auto", more_than=1)) == {"plain", "declared"}


def test_never_what_is_pinned():
    assert deferred(SPECS, Routing(defer="all", pinned=("declared",))) == {"plain"}


def test_a_pinned_name_that_is_not_bound_is_said():
    with pytest.raises(ToolDefinitionError, match="'nope' is to be pinned and is not bound"):
        deferred(SPECS, Routing(pinned=("nope",)))


def test_the_search_itself_need_not_be_pinned_and_that_is_said():
    with pytest.raises(
        ToolDefinitionError, match=r"Models are shown it by itself .* Take it out of `pinned`"
    ) as raised:
        deferred(SPECS[:3], Routing(defer="all", pinned=("tool_search",)))
    assert "or bind it" not in str(raised.value)
    assert deferred(SPECS, Routing(pinned=("tool_search",))) == {"declared"}, "somebody's own, where it is bound"
