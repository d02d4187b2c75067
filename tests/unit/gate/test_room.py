"""What schemas take of every request, and which tools there is never room for."""

import pytest

from callslip import tool
from callslip.core.routing import Routing
from callslip.gate.catalogue import Catalogue
from callslip.gate.room import always_shown, never_shown

pytestmark = pytest.mark.requirement("DEFR-02")


def made(name, said, **more):
    def run() -> str: ...

    run.__doc__ = said
    return tool(name=name, risk="read", **more)(run)


SMALL, LARGE = made("small", "Do it."), made("large", "Do it. " * 100)
INNER = made("inner", "Do it. " * 100, callable_from=("program",))


def names(catalogue, tokens):
    return [one.name for one in never_shown(catalogue, Routing(tokens=tokens))]


def test_a_tool_that_is_larger_than_all_the_room_there_is():
    catalogue = Catalogue([SMALL, LARGE], deferred=["small", "large"])
    whole = catalogue.found("large").tokens
    assert (names(catalogue, whole), names(catalogue, whole - 1), names(catalogue, 1)) == (
        [], ["large"], ["large", "small"],
    )  # fmt: skip


def test_what_is_shown_from_the_start_or_never_called_by_a_model_needs_no_room():
    assert names(Catalogue([SMALL, LARGE, INNER], deferred=["inner"]), 1) == []


def test_what_every_request_shows():
    catalogue = Catalogue([SMALL, LARGE, INNER], deferred=["large"])
    shown = always_shown(catalogue)
    assert (shown.tools, shown.tokens) == (1, catalogue.found("small").tokens)
    assert always_shown(Catalogue([])).tools == 0
