"""The search of a provider's own, against the contract server, which refuses what the vendors refuse (DEFR-07)."""

import collections
import copy
import itertools
import random

import msgspec
import pytest

from callslip import Runtime, tool
from callslip.core.message import AssistantReply, ToolResults, UserText
from callslip.core.routing import Routing
from callslip.ports.model import Delta
from callslip.providers.aliases import ANTHROPIC, CHAT, RESPONSES, Aliases
from callslip.providers.anthropic import MessagesFormat
from callslip.providers.gemini import Gemini
from callslip.providers.http_model import encode
from callslip.providers.mistral import Mistral
from callslip.providers.openai_chat import ChatFormat, OpenAIChat
from callslip.providers.openai_responses import ResponsesFormat
from callslip.providers.options import Options
from callslip.testing.contract.formats import ALL
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

from .searching import FORMS, LATER, READ, SEARCH, Talk, callable_in, talk

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-07")]
each = pytest.mark.parametrize("form", list(FORMS))
ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
RULES = {"anthropic": ANTHROPIC, "openai_responses": RESPONSES}


def wires(form, names):
    aliases = Aliases([tool.name for tool in (SEARCH, READ, *LATER)], RULES[form])
    native = {"tool_search": "tool_search"} if form == "openai_responses" else {}
    return [native.get(name) or aliases.wire(name) for name in names]


def contract(form):
    return next(made for made in (one() for one in ALL) if made.name == form)


def find(*names, **more):
    return Call("tool_search", {"queries": list(names)}, **more)


def serve(*script):
    return ContractServer([Says(calls=one) if isinstance(one, tuple) else Says(one) for one in script])


def model(server, form, **settings):
    return talk(form, server.url(form), **settings)


def history(form, body):
    """The conversation without the marks of the cache, which move."""
    if form == "openai_responses":
        return body["input"]
    messages = copy.deepcopy(body["messages"])
    for block in (block for message in messages for block in message["content"]):
        block.pop("cache_control", None)
    return messages


@each
@ways
async def test_three_steps_there_and_back(form, stream):
    """Found, called, found again: every step's tools can be called, and nothing that was sent changes."""
    pay, mail = wires(form, ["bank.pay", "mail.send"])
    script = ((find("bank.pay"),), (Call(pay, {"cents": 5}), find("mail.send")), (Call(mail, {"cents": 1}),), "Paid.")
    conversation = Talk()
    with serve(*script) as server:
        asked = model(server, form)
        for _ in range(3):
            expected = wires(form, [tool.name for tool in conversation.request().tools])
            await conversation.step(asked, stream=stream)
            assert sorted(callable_in(form, server.seen[-1].body)) == sorted(expected)
        last = await conversation.step(asked, stream=stream)
        assert server.violations == []
    assert last.text == "Paid."
    calls = [call for message in conversation.messages if isinstance(message, AssistantReply) for call in message.calls]
    assert [call.tool for call in calls] == ["tool_search", "bank.pay", "tool_search", "mail.send"]
    bodies = [seen.body for seen in server.seen]
    assert len({encode({"tools": body["tools"]}) for body in bodies}) == 1
    for before, after in itertools.pairwise(bodies):
        assert history(form, after)[: len(history(form, before))] == history(form, before)


@each
async def test_the_tools_do_not_follow_the_order_of_finding(form):
    bodies = []
    for order in (("weather", "calendar"), ("calendar", "weather")):
        conversation = Talk()
        with serve((find(order[0]),), (find(order[1]),), "Yes.") as server:
            for _ in range(3):
                await conversation.step(model(server, form))
            assert server.violations == []
        bodies.append(server.seen[-1].body["tools"])
    assert bodies[0] == bodies[1]


@each
@ways
async def test_what_a_search_says_in_words_is_told_too(form, stream):
    conversation = Talk()
    with serve((find("nonsense"),), "No.") as server:
        await conversation.step(model(server, form), stream=stream)
        await conversation.step(model(server, form), stream=stream)
        assert server.violations == []
    assert "Found: nothing fits." in str(server.seen[-1].body)
    if form == "openai_responses":
        assert server.seen[-1].body["input"][-2]["tools"] == []


@each
async def test_a_search_that_failed_is_answered(form):
    conversation = Talk()
    with serve((find("fail"),), "No.") as server:
        for _ in range(2):
            await conversation.step(model(server, form))
        assert server.violations == []
    assert "Found: nothing fits." in str(server.seen[-1].body)


@each
async def test_what_was_found_can_be_called_after_a_summary(form):
    (pay,) = wires(form, ["bank.pay"])
    conversation = Talk()
    with serve((find("bank.pay"),), (Call(pay, {"cents": 5}),), "Paid.") as server:
        asked = model(server, form)
        await conversation.step(asked)
        conversation.forget(3)
        await conversation.step(asked)
        await conversation.step(asked)
        assert server.violations == []
    before, after = server.seen[0].body["tools"], server.seen[1].body["tools"]
    assert sorted(callable_in(form, server.seen[1].body)) == sorted(
        wires(form, ["tool_search", "files.read", "bank.pay"])
    )
    named = next(tool for tool in after if tool.get("name") == pay)
    assert not named.get("defer_loading")
    # Behind what was offered from the beginning, which stays where it was.
    assert [tool.get("name") for tool in after[:3]] == [*(tool.get("name") for tool in before[:2]), pay]
    assert server.seen[2].body["tools"] == after


@each
async def test_what_is_preselected_stands_behind_what_is_pinned(form):
    conversation = Talk()
    conversation.preselected = ["weather"]
    with serve((find("bank.pay"),), "Yes.") as server:
        for _ in range(2):
            await conversation.step(model(server, form))
        assert server.violations == []
    for body in (seen.body for seen in server.seen):
        assert [tool.get("name") or tool["type"] for tool in body["tools"][:3]] == wires(
            form, ["tool_search", "files.read", "weather"]
        )
        assert not any(tool.get("defer_loading") for tool in body["tools"][:3])
    assert sorted(callable_in(form, server.seen[-1].body)) == sorted(
        wires(form, ["tool_search", "files.read", "weather", "bank.pay"])
    )


@each
async def test_a_turn_lets_go_of_what_the_last_one_found(form):
    """And found again it is loaded where it was found last, so that what came before stays as it is."""
    conversation = Talk()
    with serve((find("bank.pay"),), "Paid.", (find("bank.pay"),), "Paid again.") as server:
        asked = model(server, form)
        for _ in range(2):
            await conversation.step(asked)
        conversation.ask("Again.")
        for _ in range(2):
            await conversation.step(asked)
        assert server.violations == []
    bodies = [seen.body for seen in server.seen]
    offered = wires(form, ["tool_search", "files.read"])
    assert sorted(callable_in(form, bodies[2])) == sorted(offered)
    assert sorted(callable_in(form, bodies[3])) == sorted([*offered, *wires(form, ["bank.pay"])])
    assert history(form, bodies[3])[: len(history(form, bodies[2]))] == history(form, bodies[2])


@each
@pytest.mark.parametrize("other", ["openai_chat", "mistral", "gemini", "off"])
async def test_another_model_goes_on_with_plain_results(form, other):
    conversation = Talk()
    with ContractServer(lambda _: Says("Yes."), formats=ALL) as server:
        with serve((find("bank.pay"),)) as first:
            await conversation.step(model(first, form))
        if other == "off":
            asked = model(server, form, search="off")
        else:
            kind, name = {
                "openai_chat": (OpenAIChat, "gpt-test"),
                "mistral": (Mistral, "mistral-test"),
                "gemini": (Gemini, "gemini-2.5-flash"),
            }[other]
            asked = kind(name, base_url=server.url(other), api_key="k")
        await conversation.step(asked)
        assert server.violations == []
    said = encode(server.seen[-1].body).decode()
    assert "tool_reference" not in said
    assert "tool_search_" not in said.replace(Aliases(["tool_search"], RESPONSES).wire("tool_search"), "")
    assert "defer_loading" not in said
    assert "Found: bank.pay." in said
    assert Aliases(["bank.pay"], CHAT).wire("bank.pay") in said or "bank.pay" in said


async def test_the_two_that_search_take_over_from_each_other():
    conversation = Talk()
    pay, mail = wires("openai_responses", ["bank.pay", "mail.send"])
    with serve(
        (find("bank.pay"),), (Call(pay, {"cents": 5}), find("mail.send")), (Call(mail, {"cents": 1}),)
    ) as server:
        await conversation.step(model(server, "anthropic"))
        await conversation.step(model(server, "openai_responses"))
        await conversation.step(model(server, "anthropic"))
        assert server.violations == []
    second, third = server.seen[1].body, server.seen[2].body
    # What Claude found is a plain call and result to OpenAI, and so the tool is offered at once.
    assert [item["type"] for item in second["input"]] == ["message", "function_call", "function_call_output"]
    assert sorted(callable_in("openai_responses", second)) == sorted(
        ["tool_search", *wires("anthropic", ["files.read"]), pay]
    )
    # A reference is no call's form but a result's, so Claude is given what either has found.
    assert sorted(callable_in("anthropic", third)) == sorted(
        wires("anthropic", ["tool_search", "files.read", "bank.pay", "mail.send"])
    )


@ways
async def test_a_search_comes_with_what_was_thought(stream):
    conversation = Talk()
    script = [
        Says(
            thinking="Hm.",
            text="Let me see.",
            calls=(find("bank.pay"), Call(wires("anthropic", ["files.read"])[0], {"path": "a"})),
        ),
        Says("Yes."),
    ]
    for form in FORMS:
        conversation = Talk()
        with ContractServer(script) as server:
            for _ in range(2):
                await conversation.step(model(server, form), stream=stream)
            assert server.violations == []
        if form == "openai_responses":
            assert [item["type"] for item in server.seen[-1].body["input"]] == [
                "message", "reasoning", "message", "tool_search_call", "function_call",
                "tool_search_output", "function_call_output", "message",
            ]  # fmt: skip
            assert server.seen[-1].body["input"][3]["id"].startswith("tsc_")


@each
async def test_the_search_can_be_demanded(form):
    conversation = Talk()
    with serve((find("bank.pay"),), (find("weather"),), "Yes.") as server:
        asked = model(server, form)
        await conversation.step(asked)
        await conversation.step(asked, tool_choice="required", only="tool_search")
        await conversation.step(asked, tool_choice="required", only="bank.pay")
        assert server.violations == []
    demanded, other = server.seen[1].body, server.seen[2].body
    name = Aliases(["tool_search"], RULES[form]).wire("tool_search")
    assert demanded["tool_choice"]["name"] == name
    assert any(tool.get("name") == name for tool in demanded["tools"])
    # What has to be called is offered at once.
    (pay,) = wires(form, ["bank.pay"])
    assert not next(tool for tool in other["tools"] if tool.get("name") == pay).get("defer_loading")


async def test_a_search_is_shown_while_it_comes():
    conversation, shown = Talk(), []
    with serve((find("bank.pay"),)) as server:
        await model(server, "openai_responses").reply(conversation.request(stream=True), shown.append)
    assert shown == [Delta(tool="tool_search")]


@each
async def test_without_anything_to_search_for_nothing_is_changed(form):
    request = msgspec.structs.replace(Talk().request(), searching=None)
    with ContractServer(lambda _: Says("Yes.")) as server:
        await model(server, form).reply(request)
        await model(server, form, search="off").reply(Talk().request())
        assert server.violations == []
    assert server.seen[0].body == server.seen[1].body


async def test_a_model_that_only_speaks_first_searches_later():
    """A history without any search is no different."""
    for form in FORMS:
        conversation = Talk()
        with serve("Hello.", (find("bank.pay"),), "Yes.") as server:
            await conversation.step(model(server, form))
            conversation.ask("Pay.")
            for _ in range(2):
                await conversation.step(model(server, form))
            assert server.violations == []
        assert len({encode({"tools": seen.body["tools"]}) for seen in server.seen}) == 1
        assert isinstance(conversation.messages[0], UserText)
        assert isinstance(conversation.messages[-2], ToolResults)


def played(seed):
    """A conversation in which anything happens; the broken rules of its requests, and how often each thing was seen."""
    chance, conversation, seen = random.Random(seed), Talk(), collections.Counter()
    servers = {form: contract(form) for form in (*FORMS, "openai_chat")}
    makers = {
        "anthropic": lambda: MessagesFormat(FORMS["anthropic"], Options(native_search="on")),
        "openai_responses": lambda: ResponsesFormat(FORMS["openai_responses"], Options(native_search="on"), own=True),
        "openai_chat": lambda: ChatFormat("gpt-test", Options(), own=False),
    }
    formats = {form: make() for form, make in makers.items()}
    form = chance.choice(list(formats))
    for _ in range(12):
        form = form if chance.random() < 0.7 else chance.choice(list(formats))
        wire, server = formats[form], servers[form]
        request = conversation.request()
        exchange = wire.exchange(request)
        path = f"/v1{exchange.path}"
        assert server.check(exchange.body, wire.headers("k"), path) == [], (seed, exchange.body)
        names = [tool.name for tool in request.tools]
        if form in FORMS:
            assert sorted(callable_in(form, exchange.body)) == sorted(wires(form, names)), (seed, exchange.body)
            seen[f"{form} loads"] += bool(exchange.offered.loading.loaded)
        reply = exchange.whole(server.plain(_said(chance, exchange, names, form), exchange.body))
        conversation.take(reply, f"{wire.name}:{wire.model}")
        if not reply.proposals:
            conversation.ask("Go on.")
        if chance.random() < 0.1:
            seen["forgotten"] += 1
            conversation.forget(len(conversation.messages))
    return seen


def _said(chance, exchange, names, form):
    made = []
    for _ in range(chance.choice([0, 1, 1, 2])):
        if chance.random() < 0.6:
            wanted = chance.sample([tool.name for tool in LATER], chance.randint(0, 2)) or ["fail"]
            native = form == "openai_responses"
            made.append(
                find(*wanted) if native else Call(exchange.offered.wire("tool_search"), find(*wanted).arguments)
            )
        else:
            name = chance.choice([name for name in names if name != "tool_search"])
            made.append(Call(exchange.offered.wire(name), {"cents": 1}))
    return Says(
        text=chance.choice(["", "Let me see."]) if made else "Well.",
        calls=tuple(made),
        thinking=chance.choice(["", "Hm."]),
    )


@pytest.mark.untraced
def test_whatever_happens_what_is_offered_can_be_called_and_nothing_is_refused():
    seen = collections.Counter()
    for seed in range(150):
        seen += played(seed)
    assert min(seen[thing] for thing in ("anthropic loads", "openai_responses loads", "forgotten")) > 100


@each
async def test_a_whole_run(form):
    @tool(risk="read", deferred=True)
    def get_price(item: str) -> int:
        """Get the price of an item, in cents."""
        return {"tea": 250}[item]

    @tool(risk="read")
    def now() -> str:
        """Tell the time."""
        return "noon"

    script = [(find("select:get_price"),), (Call("get_price", {"item": "tea"}),), "Tea is 2.50."]
    with serve(*script, *script) as server:
        async with Runtime(tools=[get_price, now], model=model(server, form)) as rt:
            for _ in range(2):
                assert (await rt.run("What is tea?", session="s")).text == "Tea is 2.50."
        assert server.violations == []
    assert len({encode({"tools": seen.body["tools"]}) for seen in server.seen}) == 1
    able = ["now", "tool_search"]
    assert [sorted(callable_in(form, seen.body)) for seen in server.seen] == 2 * [
        able, ["get_price", *able], ["get_price", *able],
    ]  # fmt: skip


@pytest.mark.requirement("SPEC-02")
@ways
async def test_a_model_may_use_the_name_that_it_was_shown_a_tool_by_in_an_earlier_turn(stream):
    @tool(name="pay.refund", risk="read", deferred=True)
    def refund(payment: str) -> str:
        """Refund a payment."""
        return "refunded"

    @tool(risk="read")
    def now() -> str:
        """Tell the time."""
        return "noon"

    alias = Aliases(["pay.refund"], CHAT).wire("pay.refund")
    call = Call(alias, {"payment": "p1"})
    script = [(call,), (find(f"select:{alias}"),), (call,), "Done."]
    with serve(*script) as server:
        quiet = Routing(preselect="off", embedder="off")
        chat = OpenAIChat("m", base_url=server.url("openai_chat"), api_key="k")
        async with Runtime(tools=[refund, now], model=chat, routing=quiet, stream=stream) as rt:
            assert (await rt.run("Refund p1.", session="s")).text == "Done."
        assert server.violations == []
    hidden, found, done = (seen.body["messages"][-1]["content"] for seen in server.seen[1:])
    assert "pay.refund is there, but was not shown to you in this step" in hidden
    assert msgspec.json.decode(found)["callable_from_next_step"] == ["pay.refund"]
    assert done == "refunded"
