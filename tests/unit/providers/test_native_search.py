"""What a request gives a provider's own search; and that whoever has none is not told of it."""

import msgspec
import pytest

from callslip.core.message import AssistantReply, CallMessage, ResultMessage, ToolResults
from callslip.ports.model import Searching, ToolView
from callslip.providers.anthropic import MessagesFormat
from callslip.providers.constrained import ConstrainedFormat
from callslip.providers.gemini import GeminiFormat
from callslip.providers.mistral import MistralFormat
from callslip.providers.native_search import loading_of, searches
from callslip.providers.openai_chat import ChatFormat
from callslip.providers.openai_responses import ResponsesFormat
from callslip.providers.options import Options

pytestmark = pytest.mark.requirement("DEFR-07")


def view(name):
    return ToolView(name=name, description=f"Does {name}.", input_schema={"type": "object"})


def search(number, *found, error=False):
    """A search and its result."""
    name = f"call_{number}"
    call = CallMessage(call_id=name, provider_id="", tool="tool_search", arguments={})
    result = ResultMessage(
        call_id=name, provider_id="", tool="tool_search", content="Found.", found=found, is_error=error
    )
    return AssistantReply(text="", calls=(call,)), ToolResults(results=(result,))


@pytest.fixture
def loading(ask):
    def make(*messages, tools=(), found=(), deferred=(), able=None, **changes):
        request = ask(
            messages=messages,
            tools=tuple(map(view, ("tool_search", "read", *tools))),
            searching=Searching(tool="tool_search", found=found, deferred=tuple(map(view, deferred))),
            **changes,
        )
        return loading_of(request, able or (lambda reply: [call.call_id for call in reply.calls]))

    return make


def test_each_result_loads_what_it_found(loading):
    made = loading(*search(1, "a", "b"), *search(2, "c"), tools="abc", found=tuple("abc"))
    assert made.by_call == {"call_1": ("a", "b"), "call_2": ("c",)}
    assert made.loaded == {"a", "b", "c"}
    assert made.search == "tool_search"


def test_what_was_found_twice_is_loaded_where_it_was_found_last(loading):
    made = loading(*search(1, "a", "b"), *search(2, "a", "a"), tools="ab", found=tuple("ab"))
    assert made.by_call == {"call_1": ("b",), "call_2": ("a",)}


def test_what_is_not_offered_any_more_is_not_loaded(loading):
    assert loading(*search(1, "a", "b"), tools="a", found=("a", "b")).by_call == {"call_1": ("a",)}
    assert loading(*search(1, "a", "b"), tools="ab", found=("a",)).by_call == {"call_1": ("a",)}
    assert loading(*search(1, "a")).by_call == {}


def test_what_no_result_names_is_offered_in_its_place(loading):
    made = loading(*search(1, "b", "a"), tools="abcd", found=("a", "b", "c"))
    assert made.loaded == {"a", "b"}
    names = [tool.name for tool in made.ordered(tuple(map(view, ("tool_search", "read", "b", "c", "a", "d"))))]
    assert names == ["tool_search", "read", "c", "d", "a", "b"]


def test_an_error_loads_nothing(loading):
    assert loading(*search(1, "a", error=True), tools="a", found=("a",)).loaded == set()


def test_only_results_that_can_load_do(loading):
    able = [[], ["call_2"]]
    made = loading(*search(1, "a"), *search(2, "b"), tools="ab", found=tuple("ab"), able=lambda _: able.pop(0))
    assert made.by_call == {"call_2": ("b",)}


def test_the_tool_that_must_be_called_is_not_loaded_but_offered(loading):
    made = loading(*search(1, "a", "b"), tools="ab", found=tuple("ab"), tool_choice="required", only="a")
    assert made.by_call == {"call_1": ("b",)}


def test_what_is_offered_is_not_deferred_as_well(loading):
    made = loading(*search(1, "a"), tools="a", found=("a",), deferred=("a", "read", "z"))
    assert [tool.name for tool in made.deferred] == ["z"]


def test_without_a_tool_to_search_with_there_is_nothing(ask):
    assert loading_of(ask(), lambda _: []) is None
    searching = Searching(tool="tool_search", found=(), deferred=(view("z"),))
    assert loading_of(ask(searching=searching), lambda _: []) is None


@pytest.mark.parametrize(
    ("wanted", "known", "used"),
    [("auto", True, True), ("auto", False, False), ("on", False, True), ("off", True, False)],
)
def test_who_says_whether_it_is_used(wanted, known, used):
    assert searches(wanted, known=known) is used


FORMATS = {
    "openai_chat": lambda: ChatFormat("gpt-5.6", Options(native_search="on"), own=True),
    "constrained": lambda: ConstrainedFormat("gpt-5.6", Options(native_search="on")),
    "gemini": lambda: GeminiFormat("gemini-3-pro-preview", Options(native_search="on")),
    "mistral": lambda: MistralFormat("mistral-large-latest", Options(native_search="on")),
    "anthropic": lambda: MessagesFormat("claude-opus-4-8", Options()),
    "openai_responses": lambda: ResponsesFormat("gpt-5.6", Options(), own=False),
    "anthropic off": lambda: MessagesFormat("claude-opus-4-8", Options(native_search="off"), own=True),
    "openai_responses off": lambda: ResponsesFormat("gpt-5.6", Options(native_search="off"), own=True),
}


@pytest.mark.parametrize("form", FORMATS)
def test_whoever_has_no_search_is_not_told_of_one(form, ask):
    request = ask(
        messages=search(1, "a"),
        tools=tuple(map(view, ("tool_search", "read", "a"))),
        searching=Searching(tool="tool_search", found=("a",), deferred=(view("z"),)),
    )
    made = FORMATS[form]()
    assert made.exchange(request).body == made.exchange(msgspec.structs.replace(request, searching=None)).body
