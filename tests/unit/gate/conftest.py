"""Bound tools, judged by the gate alone: nothing is executed here."""

from __future__ import annotations

import datetime

import pytest

from callslip import tool
from callslip.gate.catalogue import Catalogue
from callslip.gate.pipeline import Case, judge
from callslip.policies.by_risk import RiskPolicy
from callslip.schema.normalise import Moment


def no_weekends(arguments):
    return "There is no delivery on Sunday." if arguments["day"] == "sunday" else None


def not_more_than_was_paid(arguments):
    return "That is more than was paid." if arguments["cents"] > 100 else None


@pytest.fixture
def tools():
    @tool(risk="read")
    async def find_order(number: int) -> str:
        """Find an order."""
        raise AssertionError("the gate runs nothing")

    @tool(risk="write", rules=[no_weekends])
    async def deliver(day: str) -> str:
        """Deliver."""
        raise AssertionError("the gate runs nothing")

    @tool(risk="write", requires=["find_order", "deliver"], rules=[not_more_than_was_paid])
    async def refund(cents: int) -> str:
        """Refund."""
        raise AssertionError("the gate runs nothing")

    @tool
    async def erase() -> str:
        """Erase everything."""
        raise AssertionError("the gate runs nothing")

    @tool(risk="read", callable_from=["program"])
    async def page() -> str:
        """One page."""
        raise AssertionError("the gate runs nothing")

    return [find_order, deliver, refund, erase, page]


@pytest.fixture
def ask(tools):
    """Judge one call by the gate."""
    catalogue = Catalogue(tools)

    def judged(
        name, arguments="{}", *, visible=None, policy=None, succeeded=(), caller="model", moment=None, by_person=False
    ):
        shown = catalogue.visible(visible or list(catalogue))
        case = Case(
            session="s", requester="me", tool=name, arguments=arguments, visible=shown, succeeded=succeeded,
            caller=caller, moment=moment or Moment(at=0, zone=datetime.UTC), by_person=by_person,
        )  # fmt: skip
        return judge(case, catalogue, policy or RiskPolicy())

    return judged
