"""``@tool(version=…, expects=…)``: what can be declared, what the function is given, and whose version it gives."""

# ruff: noqa: A002, A006 - arguments are named as services name them

import functools
import operator

import pytest

from callslip import tool
from callslip.core.tool import ToolSpec
from callslip.core.version import Version
from callslip.errors import ToolDefinitionError
from callslip.sources.versions import Asks

pytestmark = pytest.mark.requirement("PARA-02", "SPEC-01")


def declared(version, **more):
    @tool(**{"risk": "write", "claims": ["ticket:{id}"], "version": version, **more})
    def set_ticket(id: str, text: str, project: str = "main", if_version: int | None = None) -> None:
        """Set a ticket."""

    return set_ticket


def by_id(id):
    return len(id)


class Current:
    def __call__(self, id, *, project="main"):
        return f"{project}-{id}"


def spec(*claims):
    return ToolSpec(name="set_ticket", claims=claims)


ARGUMENTS = {"id": "7", "text": "x", "if_version": 1}


class TestDeclared:
    def test_it_stands_in_the_spec_and_in_the_tools_version(self):
        plain, versioned, compared = (
            declared(None), declared(by_id), declared(by_id, expects="if_version"),
        )  # fmt: skip
        assert (plain.spec.versioned, versioned.spec.versioned) == (False, True)
        assert compared.spec.expects == "if_version"
        assert len({plain.version, versioned.version, compared.version}) == 3

    @pytest.mark.parametrize(
        ("version", "more", "told"),
        [
            (None, {"expects": "if_version"}, "expects needs a version function"),
            (by_id, {"claims": []}, "two calls see the same version and both go on"),
            (by_id, {"claims": ["slot:few", "read ticket:{id}"]}, "needs a claim that keeps others out"),
            (by_id, {"claims": [], "risk": "dangerous"}, "needs a claim that keeps others out"),
            (by_id, {"expects": "etag"}, "'etag', which is no argument"),
            (by_id, {"client_owned": True}, "a client compares for itself"),
            (lambda number: number, {}, "takes 'number', which is no argument"),
            (lambda project: project, {}, "takes 'project', which a call may leave out: give it a default"),
            (lambda **arguments: arguments, {}, "has to name the arguments"),
            (lambda *arguments: arguments, {}, "has to name the arguments"),
            (operator.index, {}, "has to name the arguments"),
            (type, {}, "no signature that could be read"),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, version, more, told):
        with pytest.raises(ToolDefinitionError, match=told):
            declared(version, **more)

    @pytest.mark.parametrize(
        "version",
        [
            by_id, Current(), functools.partial(by_id), lambda id, **_: id, lambda id, project="main": id,
            lambda id, more=None: id, lambda: 1,
        ],
    )  # fmt: skip
    def test_what_is_taken(self, version):
        assert declared(version).spec.versioned

    def test_a_tool_that_only_reads_needs_no_claim(self):
        assert declared(by_id, risk="read", claims=[]).spec.versioned


class TestAsked:
    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize(
        ("version", "value"),
        [(by_id, 1), (Current(), "main-7"), (lambda id, **rest: len(rest), 0), (lambda: None, None)],
    )
    async def test_it_is_given_what_it_names(self, version, value):
        assert await declared(version).state(ARGUMENTS) == Version(of="ticket:7", value=value)

    async def test_it_may_wait_for_its_answer(self):
        async def current(id):
            return "a"

        assert (await declared(current).state(ARGUMENTS)).value == "a"

    async def test_a_tool_that_declares_none_has_none_to_give(self):
        with pytest.raises(ToolDefinitionError, match="declares no version function"):
            await declared(None).state(ARGUMENTS)


@pytest.mark.parametrize(
    ("claims", "of"),
    [
        (("ticket:{id}",), 'ticket:7 {"project":"a"}'),
        (("ticket:{id}", "project:{project}", "slot:few"), "project:a, ticket:7"),
        (("tracker",), 'tracker {"id":"7","project":"a"}'),
        ((), 'set_ticket {"id":"7","project":"a"}'),
    ],
)
def test_whose_version_it_is_differs_whenever_it_is_asked_about_another_thing(claims, of):
    asks = Asks(Current(), spec(*claims))
    assert asks.version({"id": "7", "project": "a", "text": "x"}, 1) == Version(of=of, value=1)
