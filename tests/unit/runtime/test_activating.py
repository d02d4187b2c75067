"""Room for found tools, shared by the searches of one step."""

import pytest

from callslip import Runtime, tool
from callslip.core.routing import Routing
from callslip.runtime.activating import activate, activated, let_go, no_room

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-02")]


def deferred(name):
    async def run() -> str:
        """Do something."""
        return "done"

    return tool(name=name, risk="read", deferred=True)(run)


@pytest.fixture
async def drive(tmp_path):
    routing = Routing(tools=2, embedder="off")
    runtime = Runtime(tools=[deferred(name) for name in "abc"], state=tmp_path / "s", routing=routing)
    async with runtime, runtime._driving("s", create=True) as drive:
        yield drive
        await drive.end_idle()


async def test_a_sibling_finds_the_room_taken(drive):
    assert activate(drive, "one", ["a"]).visible == ("a",)
    second = activate(drive, "two", ["b", "c"], {"b"})
    assert (second.visible, [refused.name for refused in second.refused]) == (("b",), ["c"])


async def test_a_dispatchers_session_is_not_told_to_end_a_turn(tmp_path):
    routing = Routing(tools=2, embedder="off")
    calls = [{"name": "tool_search", "arguments": {"queries": ["select:a,b,c"]}}, {"name": "c", "arguments": {}}]
    async with Runtime(tools=[deferred(name) for name in "abc"], state=tmp_path / "s", routing=routing) as runtime:
        said, _ = (await runtime.dispatch(calls, session="d", step="1")).results
        again = [{"name": "tool_search", "arguments": {"queries": ["select:c"]}}]
        then = (await runtime.dispatch(again, session="d", step="2")).results[0]
    assert said.result.structured["not_shown"] == [
        {
            "tools": ["c"],
            "why": "no more than 2 found tools are shown at once, and so many are: search again in your next step; what is "
            "found there takes the place of what was found before",
        }
    ]
    assert then.result.structured["callable_from_next_step"] == ["c"], "what it was told is so"


async def test_room_that_was_let_go_is_free(drive):
    activate(drive, "one", ["a", "b"], {"b"})
    assert "so many are" in no_room(drive, "c")
    assert no_room(drive, "b") == "", "it is about to be shown"
    let_go(drive, "one")
    assert no_room(drive, "c") == ""
    assert activate(drive, "two", ["c"]).visible == ("c",)


async def test_what_a_call_took_in_is_told_with_its_version(drive):
    activate(drive, "one", ["b"])
    (made,) = activated(drive, "one")
    assert (made.name, made.version) == ("b", drive.parts.catalogue["b"].executor.version)
    assert activated(drive, "two") == ()


async def test_a_name_that_is_not_bound_is_left_out(drive):
    assert activate(drive, "one", ["nope", "a"]).visible == ("a",)
