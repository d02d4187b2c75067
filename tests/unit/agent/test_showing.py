"""Tiers in a running session: what is shown, what is found, what a kill, a resume or a new turn leaves of it."""

import json

import pytest

from callslip import Runtime, tool
from callslip.core.budget import Budget, Budgets
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.message import ToolResults
from callslip.core.payload import inline
from callslip.core.routing import Routing
from callslip.errors import ToolDefinitionError
from callslip.providers.scripted import Scripted, calling

pytestmark = pytest.mark.anyio

QUIET = Routing(preselect="off", embedder="off")
TOOLS = {
    "pay.refund": "Refund a payment: give a customer their money back.",
    "pay.void": "Void an authorisation that was not captured.",
    "mail.send": "Send an e-mail to somebody.",
    "geo.weather": "The weather forecast for a place.",
    "crm.find": "Find a customer by name.",
}


def deferred(name, description):
    async def run(note: str = "") -> str:
        return f"{name} ran"

    run.__doc__ = description
    return tool(name=name, risk="read", deferred=True)(run)


@tool(risk="read")
async def now() -> str:
    """The time now."""
    return "12:00"


def found_tools():
    return [deferred(name, said) for name, said in TOOLS.items()]


@pytest.fixture
def world(tmp_path):
    class World:
        async def run(self, *replies, text="Go.", tools=None, routing=QUIET, **more):
            self.model = Scripted(list(replies))
            made = Runtime(
                tools=tools or [now, *found_tools()],
                model=self.model,
                state=tmp_path / "state",
                routing=routing,
                **more,
            )
            async with made as self.runtime:
                self.out = await self.runtime.run(text, session="s")
                stored = await self.runtime.parts.ledger.read("s")
                self.events = [one.record.event for one in stored]
            return self.out

        def shown(self, request):
            return [view.name for view in self.model.requests[request].tools]

        def results(self, request):
            (said,) = [one for one in self.model.requests[request].messages[-1:] if isinstance(one, ToolResults)]
            return [json.loads(one.content) for one in said.results]

        def of(self, kind):
            return [event for event in self.events if isinstance(event, kind)]

    return World()


def search(*queries, **more):
    return ("tool_search", {"queries": list(queries)} | more)


@pytest.mark.requirement("DEFR-01")
class TestTiers:
    async def test_pinned_tools_are_shown_and_deferred_ones_listed_by_name(self, world):
        await world.run("Hi.")
        assert world.shown(0) == ["now", "tool_search"]
        assert "- pay: pay.refund, pay.void" in world.model.requests[0].system
        assert world.model.requests[0].system.count("Refund a payment") == 0, "names, and no descriptions"

    async def test_without_deferred_tools_nothing_changes(self, world):
        await world.run("Hi.", tools=[now])
        assert world.shown(0) == ["now"]
        assert (world.model.requests[0].system, world.model.requests[0].searching) == ("", None)

    async def test_a_setting_defers_them_all_but_the_pinned(self, world):
        await world.run("Hi.", routing=Routing(defer="all", pinned=("crm.find",), preselect="off", embedder="off"))
        assert world.shown(0) == ["crm.find", "tool_search"]

    async def test_a_tool_that_was_found_in_the_same_reply_is_refused_until_the_next_step(self, world):
        await world.run(
            calling(search("select:pay.refund"), ("pay.refund", {})), calling(("pay.refund", {})), "Done."
        )  # fmt: skip
        _, refused = world.results(1)
        assert (refused["error_code"], refused["effect"]) == ("not_shown", "none")
        assert "call it in your next step" in refused["error_message"]
        assert world.model.requests[2].messages[-1].results[0].content == "pay.refund ran"

    async def test_what_was_never_found_is_refused_with_the_way_to_find_it(self, world):
        await world.run(calling(("mail.send", {})), "Sorry.")
        (refused,) = world.results(1)
        assert "tool_search with the query 'select:mail.send'" in refused["error_message"]
        assert not any(event.status == "success" for event in world.of(FunctionResponse))

    async def test_what_is_not_bound_at_all_is_unknown(self, world):
        await world.run(calling(("mail.burn", {})), "Sorry.")
        assert world.results(1)[0]["error_code"] == "unknown_tool"

    async def test_the_visible_set_is_on_record(self, world):
        await world.run(calling(search("select:pay.void")), "Done.")
        first, second = world.of(ModelRequested)
        assert [one.name for one in first.visible] == ["now", "tool_search"]
        assert [one.name for one in second.visible] == ["now", "tool_search", "pay.void"]

    async def test_the_name_of_the_search_is_kept(self, world):
        @tool(name="tool_search", risk="read")
        async def taken() -> str:
            """Another search."""
            raise AssertionError("it is not called")

        with pytest.raises(ToolDefinitionError, match="A tool is named 'tool_search'"):
            await world.run("Hi.", tools=[taken, *found_tools()])
        await world.run("Hi.", tools=[taken, now])
        assert world.shown(0) == ["tool_search", "now"], "where nothing is deferred it is a name like any other"


@pytest.mark.requirement("DEFR-02")
class TestSearch:
    async def test_schemas_come_with_the_next_step(self, world):
        await world.run(calling(search("give a customer money back")), "Done.")
        assert "properties" not in world.model.requests[1].messages[-1].results[0].content
        assert "pay.refund" in world.shown(1)
        (view,) = [view for view in world.model.requests[1].tools if view.name == "pay.refund"]
        assert "note" in view.input_schema["properties"]

    async def test_no_more_than_is_offered(self, world):
        routing = Routing(preselect="off", offers=2, embedder="off")
        await world.run(calling(search(*(f"select:{name}" for name in TOOLS))), "Done.", routing=routing)
        assert len(world.shown(1)) == 4

    async def test_of_the_search_itself_it_is_said_that_it_is_shown(self, world):
        await world.run(calling(search("select:tool_search")), "Done.")
        (said,) = world.results(1)
        assert said == {
            "results": [
                {"query": "select:tool_search", "tools": ["tool_search"], "note": "You are shown tool_search already."}
            ],
            "callable_from_next_step": ["tool_search"],
        }
        assert world.shown(1) == ["now", "tool_search"]

    async def test_a_full_set_refuses_and_drops_nothing(self, world):
        routing = Routing(preselect="off", tools=1, embedder="off")
        await world.run(
            calling(search("select:pay.void")), calling(search("select:pay.refund")), "Done.", routing=routing
        )
        assert world.shown(2) == ["now", "tool_search", "pay.void"]
        (said,) = world.results(2)
        (refused,) = said["not_shown"]
        assert refused["tools"] == ["pay.refund"]
        assert refused["why"].startswith("no more than 1 found tool is shown in a turn, and one is: use what you")

    async def test_what_words_find_leaves_room_for_names(self, world):
        routing = Routing(preselect="off", tools=3, embedder="off")
        await world.run(
            calling(search("refund a payment", "void an authorisation", "weather forecast", "find a customer")),
            calling(search("select:mail.send")),
            "Done.",
            routing=routing,
        )
        assert len(world.shown(1)) == 4
        (refused,) = world.results(1)[0]["not_shown"]
        assert (len(refused["tools"]) > 1, "the query 'select:NAME' shows it" in refused["why"]) == (True, True)
        assert world.shown(2) == [*world.shown(1), "mail.send"]

    async def test_nobody_is_told_to_search_for_what_cannot_be_shown_any_more(self, world):
        routing = Routing(preselect="off", tools=1, embedder="off")
        await world.run(
            calling(search("select:pay.void")), calling(("pay.refund", {}), ("pay.void", {})), "Done.", routing=routing
        )  # fmt: skip
        refused, done = world.model.requests[2].messages[-1].results
        said = json.loads(refused.content)
        assert (said["error_code"], done.content) == ("not_shown", "pay.void ran")
        assert said["error_message"].startswith(
            "pay.refund is there, but was not shown to you in this step, so nothing was executed. It can't be shown "
            "now: no more than 1 found tool is"
        )
        assert "select:" not in said["error_message"]

    async def test_siblings_do_not_take_the_same_room(self, world):
        routing = Routing(preselect="off", tools=1, embedder="off")
        await world.run(
            calling(search("select:pay.void"), search("select:pay.refund")), "Done.", routing=routing
        )  # fmt: skip
        assert len(world.shown(1)) == 3
        assert sum("not_shown" in said for said in world.results(1)) == 1

    @pytest.mark.requirement("ARGS-02")
    async def test_one_query_may_stand_without_its_list_and_that_is_on_record(self, world):
        await world.run(
            calling(
                ("tool_search", {"queries": "select:pay.void"}),
                ("tool_search", {"queries": '["select:mail.send"]'}),
                ("tool_search", {"queries": "select:pay.viod"}),
            ),
            "Done.",
        )
        assert world.shown(1) == ["now", "tool_search", "pay.void", "mail.send"]
        assert [event.changed for event in world.of(ToolDispatch)] == [
            ('queries: "select:pay.void" → ["select:pay.void"]',),
            ('queries: "[\\"select:mail.send\\"]" → ["select:mail.send"]',),
            ('queries: "select:pay.viod" → ["select:pay.viod"]',),
        ]
        assert world.results(1)[2]["results"][0]["not_found"] == [{"name": "pay.viod", "near": ["pay.void"]}]

    async def test_of_one_server_only(self, world):
        await world.run(calling(search("select:mail.send,pay.void", server="pay")), "Done.")
        assert world.shown(1) == ["now", "tool_search", "pay.void"]

    async def test_a_search_that_is_refused_makes_nothing_visible(self, world):
        await world.run(calling(("tool_search", {"queries": []})), "Done.")
        assert world.results(1)[0]["error_code"] == "invalid_arguments"
        assert world.shown(1) == ["now", "tool_search"]


@pytest.mark.requirement("DEFR-03")
class TestActivation:
    async def test_it_lasts_for_the_turn_and_grows(self, world):
        await world.run(
            calling(search("select:pay.void")), calling(search("select:mail.send")), calling(("now", {})), "Done."
        )
        assert world.shown(3) == ["now", "tool_search", "pay.void", "mail.send"]
        assert [one.name for one in world.of(FunctionResponse)[0].activated] == ["pay.void"]

    async def test_the_next_turn_begins_without_it_and_finds_it_by_name(self, world):
        await world.run(calling(search("select:pay.void")), calling(("pay.void", {})), "Done.")
        before = ["", "", ""]
        await world.run(*before, calling(search("select:pay.void")), "Again.")
        assert world.shown(0) == ["now", "tool_search"]
        assert any("pay.void" in str(message) for message in world.model.requests[0].messages), "history mentions it"
        assert "pay.void" in world.shown(1)

    async def test_nor_does_it_come_back_later_in_that_turn(self, world):
        await world.run(calling(search("select:pay.void")), "Done.")
        await world.run("", "", calling(("now", {})), "Again.")
        assert world.shown(1) == ["now", "tool_search"]

    async def test_a_turn_that_was_interrupted_goes_on_with_it(self, world):
        with pytest.raises(Exception, match="holds 1 replies"):
            await world.run(calling(search("select:pay.void")))
        world.model = Scripted(["", "Done."])
        async with Runtime(
            tools=[now, *found_tools()], model=world.model, state=world.runtime.settings.state, routing=QUIET
        ) as runtime:
            await runtime.resume("s")
        assert world.shown(0) == ["now", "tool_search", "pay.void"]

    async def test_a_summary_of_the_conversation_does_not_end_it(self, world):
        with pytest.raises(Exception, match="holds 1 replies"):
            await world.run(calling(search("select:pay.void")))
        world.model = Scripted(["Done."])
        async with Runtime(
            tools=[now, *found_tools()], model=world.model, state=world.runtime.settings.state, routing=QUIET
        ) as runtime:
            async with runtime._driving("s", create=False) as drive:
                await drive.append(ContextCompacted(summary=inline(b'"In short."'), keep=0))
                await drive.end_idle()
            await runtime.resume("s")
        assert world.shown(0) == ["now", "tool_search", "pay.void"]

    async def test_another_version_of_the_tool_has_to_be_found_anew(self, world):
        with pytest.raises(Exception, match="holds 1 replies"):
            await world.run(calling(search("select:pay.void,mail.send")))
        changed = [now, *(deferred(name, said + (" Now." * (name == "pay.void"))) for name, said in TOOLS.items())]
        world.model = Scripted(["", "Done."])
        async with Runtime(
            tools=changed, model=world.model, state=world.runtime.settings.state, routing=QUIET
        ) as runtime:
            await runtime.resume("s")
        assert world.shown(0) == ["now", "tool_search", "mail.send"]

    async def test_it_permits_nothing(self, world):
        await world.run(
            calling(search("select:pay.void")), calling(("pay.void", {})), "Done.",
            policy={"tool.pay.void": "deny"},
        )  # fmt: skip
        assert world.results(2)[0]["error_code"] == "policy_denied"

    async def test_search_never_widens_what_is_bound(self, world):
        await world.run(calling(search("select:secret.tool")), "Done.", tools=[now, *found_tools()[:2]])
        assert world.shown(1) == ["now", "tool_search"]


@pytest.mark.requirement("DEFR-04")
class TestPreselection:
    ROUTING = Routing(preselect=2, embedder="off")

    async def test_what_fits_the_users_words_is_shown_at_once(self, world):
        await world.run(
            calling(("pay.refund", {})), "Done.", text="Refund the payment of order 17", routing=self.ROUTING
        )
        assert "pay.refund" in world.shown(0)
        (first, _) = world.of(ModelRequested)
        assert first.preselected[0] == "pay.refund"
        assert world.model.requests[1].messages[-1].results[0].content == "pay.refund ran"

    async def test_it_lasts_for_the_turn(self, world):
        await world.run(
            calling(("now", {})), "Done.", text="Refund the payment of order 17", routing=self.ROUTING
        )  # fmt: skip
        assert "pay.refund" in world.shown(1)

    async def test_what_fits_the_models_plan_comes_with_its_next_step(self, world):
        await world.run(
            calling(("now", {}), text="I will look up the weather forecast for that place."), "Done.",
            text="Hello", routing=self.ROUTING,
        )  # fmt: skip
        assert "geo.weather" not in world.shown(0)
        assert "geo.weather" in world.shown(1)

    async def test_nothing_where_nothing_fits(self, world):
        await world.run("Hi.", text="Hello there", routing=self.ROUTING)
        assert world.shown(0) == ["now", "tool_search"]
        assert world.of(ModelRequested)[0].preselected == ()

    MANY = "Refund the payment, void the authorisation, find the customer, send an e-mail"

    async def test_within_half_of_the_room(self, world):
        await world.run("Hi.", text=self.MANY, routing=Routing(preselect=5, tools=4, embedder="off"))
        assert len(world.shown(0)) == 4

    async def test_guesses_leave_room_for_what_is_asked_for(self, world):
        routing = Routing(preselect=5, tools=2, embedder="off")
        await world.run(
            calling(search("select:geo.weather"), text="I find the customer, and send them an e-mail."),
            calling(("geo.weather", {})),
            "Done.",
            text=self.MANY,
            routing=routing,
        )
        assert len(world.shown(0)) == 3
        assert world.shown(1) == [*world.shown(0), "geo.weather"]
        assert world.model.requests[2].messages[-1].results[0].content == "geo.weather ran"
        assert all(not one.preselected for one in world.of(ModelRequested)[1:]), "the half is taken"

    async def test_large_ones_neither(self, world):
        tools = [now, *(deferred(f"pay.refund_{n}", "Refund a payment. " + "Word " * 400) for n in range(4))]
        routing = Routing(preselect=4, tokens=1_500, embedder="off")
        await world.run("Hi.", text="Refund the payment", tools=tools, routing=routing)
        assert len(world.shown(0)) == 3


@pytest.mark.requirement("DEFR-05")
class TestBudget:
    async def test_a_turn_may_search_only_so_often(self, world):
        routing = Routing(preselect="off", searches=1, embedder="off")
        await world.run(
            calling(search("select:pay.void")), calling(search("select:mail.send")), "Done.", routing=routing
        )
        assert world.results(2)[0]["error_code"] == "budget_spent"
        assert "mail.send" not in world.shown(2)

    async def test_a_budget_of_ones_own_counts_instead(self, world):
        routing = Routing(preselect="off", searches=1, embedder="off")
        await world.run(
            calling(search("select:pay.void")), calling(search("select:mail.send")), "Done.", routing=routing,
            budgets=Budgets(turn=Budget(searches=5)),
        )  # fmt: skip
        assert "mail.send" in world.shown(2)


class TestForks:
    @pytest.mark.requirement("DEFR-03")
    async def test_a_fork_in_the_middle_of_a_turn_keeps_what_was_found_for_its_first_turn(self, tmp_path):
        model = Scripted(["Hi.", "Again.", "Bye."])
        tools = [now, *found_tools()]
        async with Runtime(tools=tools, model=model, state=tmp_path / "state", routing=QUIET) as runtime:
            version = runtime.catalogue["pay.void"].executor.version
            parent = await runtime.run("Hello.", session="parent")
            assert parent.status == "finished"
            last = (await runtime.parts.ledger.read("parent"))[-1]
            forked = SessionForked(
                parent="parent", seq=last.seq, digest=last.digest.hex(),
                activated=(VisibleTool(name="pay.void", version=version),),
            )  # fmt: skip
            async with runtime._driving("fork", create=True) as drive:
                await drive.append(forked)
                await drive.end_idle()
            await runtime.run("Go on.", session="fork")
            await runtime.run("And on.", session="fork")
        assert [view.name for view in model.requests[1].tools] == ["now", "tool_search", "pay.void"]
        assert [view.name for view in model.requests[2].tools] == ["now", "tool_search"]


class TestDispatchers:
    @pytest.mark.requirement("DEFR-03")
    async def test_what_a_dispatchers_session_has_found_can_be_called_in_its_next_steps(self, tmp_path):
        async with Runtime(tools=[now, *found_tools()], state=tmp_path / "state", routing=QUIET) as runtime:
            name, arguments = search("select:pay.void")
            both = [{"name": name, "arguments": arguments}, {"name": "pay.void", "arguments": {}}]
            first = await runtime.dispatch(both, session="s", step="1")
            assert [one.error_code for one in first.results] == [None, "not_shown"]
            second = await runtime.dispatch([{"name": "pay.void", "arguments": {}}], session="s", step="2")
            assert second.results[0].result.structured == "pay.void ran"
            third = await runtime.dispatch(
                [{"name": "pay.void", "arguments": {}}], session="s", step="3", visible=["now"]
            )  # fmt: skip
            assert third.results[0].error_code == "unknown_tool", "there is no way to find it in this step"

    @pytest.mark.requirement("DEFR-02")
    async def test_where_no_turn_ends_the_latest_finds_count(self, tmp_path):
        routing = Routing(preselect="off", tools=2, embedder="off")
        async with Runtime(tools=[now, *found_tools()], state=tmp_path / "state", routing=routing) as runtime:
            for step, name in enumerate(["pay.void", "mail.send", "crm.find"]):
                tool_name, arguments = search(f"select:{name}")
                done = await runtime.dispatch(
                    [{"name": tool_name, "arguments": arguments}], session="s", step=f"f{step}"
                )
                assert done.results[0].result.structured["callable_from_next_step"] == [name]
            calls = [{"name": name, "arguments": {}} for name in ("pay.void", "mail.send", "crm.find")]
            used = await runtime.dispatch(calls, session="s", step="use")
            assert [one.error_code for one in used.results] == ["not_shown", None, None]

    @pytest.mark.requirement("DEFR-02")
    async def test_one_that_is_found_again_is_the_latest(self, tmp_path):
        routing = Routing(preselect="off", tools=2, embedder="off")
        async with Runtime(tools=[now, *found_tools()], state=tmp_path / "state", routing=routing) as runtime:
            for step, name in enumerate(["pay.void", "mail.send", "crm.find", "pay.void"]):
                tool_name, arguments = search(f"select:{name}")
                await runtime.dispatch([{"name": tool_name, "arguments": arguments}], session="s", step=f"f{step}")
            calls = [{"name": name, "arguments": {}} for name in ("pay.void", "mail.send", "crm.find")]
            used = await runtime.dispatch(calls, session="s", step="use")
            assert [one.error_code for one in used.results] == [None, "not_shown", None]
