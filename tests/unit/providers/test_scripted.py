import pytest

from callslip.core.message import AssistantReply, UserText
from callslip.errors import ModelUnavailable
from callslip.ports.model import Delta, Reply
from callslip.providers.scripted import Scripted, calling, saying

pytestmark = pytest.mark.anyio


def after(number):
    return (UserText(text="Hello"), *(AssistantReply(text="x") for _ in range(number)))


async def test_replies_come_in_order(ask):
    model = Scripted([calling(("read", {"p": "x"}), ("list", "{"), text="Looking."), "Done."])
    first = await model.reply(ask(messages=after(0)))
    assert (first.finish, first.text) == ("calls", "Looking.")
    assert [(p.tool, p.arguments, p.provider_id) for p in first.proposals] == [
        ("read", {"p": "x"}, "p1"),
        ("list", "{", "p2"),
    ]
    assert await model.reply(ask(messages=after(1))) == Reply(text="Done.", proposals=(), finish="stop")
    assert [len(request.messages) for request in model.requests] == [1, 2]


async def test_a_fresh_process_continues_where_the_history_stands(ask):
    assert (await Scripted(["one", "two", "three"]).reply(ask(messages=after(2)))).text == "three"


async def test_the_same_request_gets_the_same_reply_again(ask):
    model = Scripted(["one", "two"])
    assert await model.reply(ask()) == await model.reply(ask()) == saying("one")


async def test_a_function_sees_the_request(ask):
    model = Scripted([lambda request: saying(request.system)])
    assert (await model.reply(ask(system="As it is"))).text == "As it is"


async def test_past_its_end_it_says_how_far_it_goes(ask):
    with pytest.raises(ModelUnavailable, match="scripted:test holds 1 replies, and reply 2") as caught:
        await Scripted(["one"]).reply(ask(messages=after(1)))
    assert not caught.value.can_retry


async def test_deltas_are_shown_when_streaming_is_asked_for(ask):
    shown = []
    model = Scripted([calling(("read", {}), text="Looking.")])
    await model.reply(ask(), shown.append)
    assert shown == []
    await model.reply(ask(stream=True), shown.append)
    assert shown == [Delta(text="Looking."), Delta(tool="read")]


async def test_names_and_empty_text():
    assert Scripted([]).name == "scripted:test"
    assert Scripted([], name="scripted:demo").name == "scripted:demo"
    assert saying(" ").finish == "empty"
