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
