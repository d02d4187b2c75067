"""ORCH-06: each step goes to the cheapest model that can take it."""

import pytest

from callslip import Runtime, tool
from callslip.core.events.model_requested import ModelRequested
from callslip.core.message import (
    AssistantReply,
    Attachment,
    CallMessage,
    Notice,
    ResultMessage,
    ToolResults,
    UserText,
)
from callslip.errors import UsageError
from callslip.ports.model import Proposal, Reply, Request, ToolView
from callslip.providers.choice import Candidate, Cheapest
from callslip.providers.options import Price
from callslip.providers.scripted import Scripted

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("ORCH-06")]

WRONG = '{"status": "invalid_arguments", "error_code": "not_json"}'
GONE = '{"status": "not_found", "error_code": "unknown_tool"}'
FAILED = '{"status": "not_found", "error_code": "no_such_order"}'


def candidate(name, cost, *, room=10_000, level=0, images=False, replies=()):
    price = Price(input=cost, output=cost)
    return Candidate(model=Scripted(replies, name=name), price=price, context_tokens=room, level=level, images=images)


SMALL = candidate("small", 1)
LARGE = candidate("large", 5, room=100_000, level=1, images=True)
BEST = candidate("best", 20, room=50_000, level=2, images=True)


def chosen(*messages, candidates=(BEST, LARGE, SMALL), tools=(), system=""):
    request = Request(system=system, messages=tuple(messages), tools=tuple(tools))
    return Cheapest(candidates).choose(request).name


def step(content, *, is_error=True, attachments=()):
    call = CallMessage(call_id="c", provider_id="p", tool="t", arguments={})
    answer = ResultMessage(
        call_id="c", provider_id="p", tool="t", content=content, is_error=is_error, attachments=attachments
    )
    return AssistantReply(text="", calls=(call,)), ToolResults(results=(answer,))


ASKED = UserText(text="Do it.")


def test_the_cheapest_one_takes_what_it_can():
    assert chosen(ASKED) == "small"
    assert chosen(ASKED, *step("fine", is_error=False)) == "small"
    assert chosen(ASKED, *step(FAILED)) == "small"  # the tool's own answer, and no fault of the model


@pytest.mark.parametrize("wrong", [step(WRONG), step(GONE), (Notice(text="Your last reply was cut off. Again."),)])
def test_a_step_that_went_wrong_goes_to_the_next_level_and_the_next_turn_begins_anew(wrong):
    assert chosen(ASKED, *wrong) == "large"
    assert chosen(ASKED, *wrong, *step("fine", is_error=False)) == "large"
    assert chosen(ASKED, *wrong, *wrong) == "best"
    assert chosen(ASKED, *wrong, *wrong, *wrong) == "best"
    assert chosen(ASKED, *wrong, AssistantReply(text="Done."), UserText(text="And now?")) == "small"
    assert chosen(ASKED, *wrong, candidates=(SMALL,)) == "small"


def test_a_long_conversation_needs_room_and_an_image_eyes():
    long = "x" * 3 * 9_500
    tool_view = ToolView(name="t", description="", input_schema={"description": long})
    assert chosen(UserText(text=long)) == "large"
    assert chosen(ASKED, system=long) == "large"
    assert chosen(ASKED, tools=[tool_view]) == "large"
    assert chosen(ASKED, *step(long, is_error=False)) == "large"
    assert chosen(UserText(text=long * 50)) == "large"  # none has room: the largest says so
    image = Attachment(name="a", media_type="image/png", data=b"")
    seen = step("fine", is_error=False, attachments=(image,))
    assert chosen(ASKED, *seen) == "large"
    with pytest.raises(UsageError, match="images"):
        chosen(ASKED, *seen, candidates=(SMALL,))


def test_price_counts_and_not_the_order():
    half = candidate("half", 0.5)
    assert chosen(ASKED, candidates=(SMALL, half)) == chosen(ASKED, candidates=(half, SMALL)) == "half"
    with pytest.raises(UsageError):
        Cheapest([])


async def test_the_log_names_who_took_each_step():
    @tool(risk="read")
    def look(n: int) -> int:
        return n

    wrong = Reply(text="", proposals=(Proposal(tool="look", arguments="{"),), finish="calls")
    right = Reply(text="", proposals=(Proposal(tool="look", arguments='{"n": 1}'),), finish="calls")
    script = [wrong, right, "One."]
    model = Cheapest([candidate("small", 1, replies=script), candidate("large", 5, level=1, replies=script)])
    async with Runtime(tools=[look], model=model) as rt:
        assert (await rt.run("Look.", session="s")).text == "One."
        events = [stored.record.event for stored in await rt.parts.ledger.read("s")]
    assert [one.model for one in events if isinstance(one, ModelRequested)] == ["small", "large", "large"]
    assert model.name == "cheapest of small, large"
