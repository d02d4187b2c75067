import pytest

from callslip.core.message import AssistantReply, CallMessage, Kept, ResultMessage, ToolResults
from callslip.ports.model import Searching, ToolView
from callslip.providers.openai_responses import OpenAIResponses, ResponsesFormat
from callslip.providers.openai_responses_search import knows_search
from callslip.providers.options import Options

pytestmark = pytest.mark.requirement("DEFR-07")
SCHEMA = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}, "server": {"type": "string"}},
    "required": ["queries"],
}
SENDER = "openai_responses:gpt-5.6"
ITEM = {"type": "tool_search_call", "id": "tsc_1", "status": "completed", "execution": "client"}
MADE = {**ITEM, "call_id": "call_9", "arguments": {"queries": ["pay"]}}


def view(name, schema=None):
    return ToolView(name=name, description=f"Does {name}.", input_schema=schema or {"type": "object"})


def history(*, item=ITEM, model=SENDER, found=("pay",), content="Found: pay.", error=False):
    call = CallMessage(call_id="c1", provider_id="call_9", tool="tool_search", arguments={"queries": ["pay"]})
    result = ResultMessage(
        call_id="c1", provider_id="call_9", tool="tool_search", content=content, found=found, is_error=error
    )
    kept = Kept(model=model, items=({"call": 0, "item": item},)) if item else None
    return AssistantReply(text="", calls=(call,), kept=kept), ToolResults(results=(result,))


@pytest.fixture
def exchange(ask):
    def make(*messages, tools=(), found=(), search="on", searching=True, **changes):
        request = ask(
            tools=(view("tool_search", SCHEMA), view("read"), *map(view, tools)),
            searching=Searching(tool="tool_search", found=found, deferred=(view("later"),)) if searching else None,
            **({"messages": messages} | changes if messages else changes),
        )
        return ResponsesFormat("gpt-5.6", Options(native_search=search), own=False).exchange(request)

    return make


def test_the_search_takes_its_tools_place_and_what_is_deferred_is_not_sent(exchange):
    made = exchange().body
    assert made["tools"][0] == {
        "type": "tool_search",
        "execution": "client",
        "description": "Does tool_search.",
        "parameters": SCHEMA,
    }
    assert [tool["type"] for tool in made["tools"]] == ["tool_search", "function"]
    assert "later" not in str(made)


def test_a_search_goes_back_as_it_came_and_its_output_loads_what_was_found(exchange):
    made = exchange(*history(item={**ITEM, "created_by": None, "extra": 1}), tools=["pay"], found=("pay",)).body
    called, output, words = made["input"]
    assert called == {**MADE, "extra": 1}
    assert output == {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": "call_9",
        "status": "completed",
        "tools": [
            {
                "type": "function",
                "name": "pay",
                "description": "Does pay.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
                "defer_loading": True,
            }
        ],
    }
    assert (words["role"], words["content"].endswith("The result of tool_search:\nFound: pay.")) == ("user", True)
    assert [tool.get("name") for tool in made["tools"]] == [None, "read"]


def test_an_error_loads_nothing_and_is_told(exchange):
    made = exchange(*history(error=True, content="No more searches."), tools=["pay"], found=("pay",)).body
    assert made["input"][1]["tools"] == []
    assert "No more searches." in made["input"][2]["content"]
    assert [tool.get("name") for tool in made["tools"]] == [None, "read", "pay"]


@pytest.mark.parametrize(
    "told",
    [
        {"model": "openai_responses:gpt-5.5"},
        {"item": None},
        {"item": {"type": "function_call", "id": "fc_1"}},
    ],
)
def test_what_was_no_search_of_this_model_is_a_plain_call(told, exchange):
    made = exchange(*history(**told), tools=["pay"], found=("pay",)).body
    assert [item["type"] for item in made["input"]] == ["function_call", "function_call_output"]
    assert made["input"][0].get("id") in (None, "fc_1")
    assert [tool.get("name") for tool in made["tools"]] == [None, "read", "pay"]


@pytest.mark.parametrize("changes", [{"search": "off"}, {"searching": False}])
def test_where_nothing_is_searched_for_a_search_is_a_plain_call(changes, exchange):
    called, output = exchange(*history(), tools=["pay"], found=("pay",), **changes).body["input"]
    assert called == {
        "type": "function_call",
        "call_id": "call_9",
        "name": called["name"],
        "arguments": '{"queries":["pay"]}',
    }
    assert (output["type"], output["output"]) == ("function_call_output", "Found: pay.")


def body_of(*output, status="completed", **more):
    return {"status": status, "output": list(output), "model": "gpt-5.6", **more}


def streamed(exchange, *events):
    assembly = exchange.assembly()
    shown = [delta for event in events for delta in assembly.add(event["type"], event)]
    return assembly.reply(broken=False), shown


def test_a_search_is_a_call_of_its_tool(exchange):
    reply = exchange().whole(body_of(MADE))
    (proposal,) = reply.proposals
    assert (proposal.tool, proposal.arguments, proposal.provider_id) == ("tool_search", {"queries": ["pay"]}, "call_9")
    assert reply.kept == ({"call": 0, "item": ITEM},)
    assert reply.finish == "calls"


def test_a_streamed_search_is_the_same_call(exchange):
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**MADE, "arguments": {}}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": MADE}
    end = {"type": "response.completed", "response": body_of(MADE)}
    reply, shown = streamed(exchange(), added, done, end)
    assert reply.proposals == exchange().whole(body_of(MADE)).proposals
    assert [delta.tool for delta in shown] == ["tool_search"]
    bare, shown = streamed(exchange(), done, {**end, "response": body_of()})
    assert (bare.proposals, bare.kept) == (reply.proposals, reply.kept)
    assert [delta.tool for delta in shown] == ["tool_search"]


def test_a_search_that_did_not_come_to_its_end_is_none(exchange):
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**MADE, "status": "in_progress"}}
    end = {"type": "response.completed", "response": body_of()}
    cut, _ = streamed(exchange(), added, end)
    assert (cut.proposals, cut.finish, cut.kept) == ((), "cut", ())
    whole = exchange().whole(body_of({**MADE, "status": "incomplete"}))
    assert (whole.proposals, whole.finish) == ((), "cut")


def test_stream_and_end_that_say_different_searches_make_none(exchange):
    done = {"type": "response.output_item.done", "output_index": 0, "item": MADE}
    end = {"type": "response.completed", "response": body_of({**MADE, "arguments": {"queries": ["other"]}})}
    reply, _ = streamed(exchange(), done, end)
    assert (reply.proposals, reply.finish) == ((), "cut")


def test_a_search_that_was_not_offered_is_not_called_and_not_kept(exchange):
    said = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hm."}]}
    plain = exchange(search="off")
    reply = plain.whole(body_of(said, MADE))
    assert (reply.proposals, reply.finish, reply.text) == ((), "stop", "Hm.")
    assert MADE not in reply.kept
    reply, shown = streamed(plain, {"type": "response.output_item.done", "output_index": 0, "item": MADE})
    assert (reply.proposals, shown) == ((), [])


def test_a_search_that_openai_ran_itself_is_kept_as_it_came(exchange):
    ran = {**ITEM, "execution": "server", "call_id": None, "arguments": {"paths": ["crm"]}}
    found = {"type": "tool_search_output", "id": "tso_1", "execution": "server", "call_id": None, "tools": []}
    said = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hm."}]}
    reply = exchange().whole(body_of(ran, found, said))
    assert (reply.proposals, reply.kept) == ((), (ran, found, said))


def test_it_is_used_where_model_and_address_are_known(ask):
    request = ask(
        tools=(view("tool_search"),), searching=Searching(tool="tool_search", found=(), deferred=(view("later"),))
    )

    def searches(model, **settings):
        body = OpenAIResponses(model, api_key="k", **settings)._wire.exchange(request).body
        return body["tools"][0]["type"] == "tool_search"

    openai, other = {"base_url": "https://api.openai.com/v1"}, {"base_url": "http://127.0.0.1:1/v1"}
    assert searches("gpt-5.6", **openai)
    assert not searches("gpt-5.3", **openai)
    assert not searches("gpt-5.6", **other)
    assert searches("gpt-5.6", **other, own=True)
    assert searches("any", **other, options=Options(native_search="on"))
    assert not searches("gpt-5.6", **openai, options=Options(native_search="off"))


@pytest.mark.parametrize(
    ("model", "knows"),
    [
        ("gpt-5.4", True),
        ("gpt-5.4-mini-2026-03-17", True),
        ("openai/gpt-5.6-sol", True),
        ("gpt-6-astra", True),
        ("gpt-10", True),
        ("gpt-5.4-nano", False),
        ("gpt-5.4-nano-2026-03-17", False),
        ("gpt-5.3-codex", False),
        ("gpt-5", False),
        ("gpt-5-mini", False),
        ("gpt-4.1", False),
        ("gpt-4o", False),
        ("o3", False),
        ("my-deployment", False),
    ],
)
def test_which_models_are_known_to_search(model, knows):
    assert knows_search(model) is knows
