"""The tool by which a model finds others: what it is asked, what it gives, and what it makes of hostile input."""

import pytest

from callslip.core import alias
from callslip.core.activation import Admission, Found, Refused
from callslip.core.tool import Risk
from callslip.ports.finder import Findings, Matches, Unknown
from callslip.providers.aliases import CHAT, RESPONSES, Aliases
from callslip.schema.validate import compile_schema
from callslip.sources.tool_search import ToolSearch, spec

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-02")]


class Finder:
    servers = ("crm", "pay")

    def __init__(self, *matches, trouble=""):
        self.findings = Findings(matches=matches, trouble=trouble)
        self.asked = []

    async def search(self, queries, most, *, server=""):
        self.asked.append((list(queries), most, server))
        return self.findings


class Context:
    def __init__(self, refused=(), shown=(), why=None):
        self.wanted = []
        self.named = frozenset()
        self.notes = ()
        self.shown = shown
        self.refused = refused
        self.why = why or {}

    def activate(self, tools, named=()):
        self.wanted, self.named = list(tools), named
        left = tuple(name for name in tools if name not in self.refused)
        taken = tuple(Found(name, "1", 1) for name in left if name not in self.shown)
        refused = tuple(Refused(name, self.why.get(name, "no room")) for name in self.refused)
        return Admission(visible=left, activated=taken, refused=refused)


async def found(finder, context=None, **arguments):
    return await ToolSearch(finder, 8).run({"queries": ["x"]} | arguments, context or Context())


async def test_it_gives_names_and_no_schemas():
    said = await found(Finder(Matches(query="x", tools=("pay.refund",))))
    assert said == {
        "results": [{"query": "x", "tools": ["pay.refund"]}],
        "callable_from_next_step": ["pay.refund"],
    }


async def test_it_passes_the_queries_the_server_and_its_own_limit():
    finder = Finder()
    await found(finder, queries=["a", "b"], server="crm")
    assert finder.asked == [(["a", "b"], 8, "crm")]


async def test_the_best_of_each_query_comes_before_the_second_of_any():
    context = Context()
    await found(Finder(Matches(query="1", tools=("a", "b")), Matches(query="2", tools=("c", "a"))), context)
    assert context.wanted == ["a", "c", "b"]


@pytest.mark.parametrize(
    "name", ["tool_search", "Tool_Search", Aliases(["tool_search"], RESPONSES).wire("tool_search")]
)
async def test_the_search_itself_is_shown_already(name):
    unknown = (Unknown(name="pay.viod"), Unknown(name=name, near=("tool.research",)))
    match = Matches(query="select:…", unknown=unknown, nothing="No tool has that name.")
    said = await found(Finder(match), Context(shown=("tool_search",)))
    (result,) = said["results"]
    assert (result["tools"], result["not_found"]) == (["tool_search"], [{"name": "pay.viod"}])
    assert (result["note"], "nothing_fits" in result) == ("You are shown tool_search already.", False)
    assert said["callable_from_next_step"] == ["tool_search"]


async def test_what_is_asked_for_by_name_is_told_apart_from_what_words_find():
    context = Context()
    matches = [
        Matches(query=" Select:a,b", tools=("a", "b")), Matches(query="refund", tools=("c", "a")),
        Matches(query="pay.void ", tools=("pay.void", "pay.refund")),
    ]  # fmt: skip
    await found(Finder(*matches), context)
    assert context.named == {"a", "b", "pay.void"}


ALIAS = Aliases(["pay.refund"], CHAT).wire("pay.refund")


@pytest.mark.parametrize(
    ("query", "tools", "named"),
    [
        ("payRefund", ("pay.refund", "pay.void"), {"pay.refund"}),
        (" PAY_REFUND ", ("pay.refund",), {"pay.refund"}),
        (ALIAS, ("pay.refund",), {"pay.refund"}),
        (ALIAS.upper(), ("pay.refund",), {"pay.refund"}),
        ("payRefund", ("pay.void", "pay.refund"), set()),
        ("pay refund", ("pay.refund",), set()),
        ("refund", ("pay.refund",), set()),
        (f"refund_{alias.digest('pay.void')}", ("pay.refund",), set()),
        (ALIAS, ("pay.refund", ALIAS), {ALIAS}),
        ("payRefund", (), set()),
        ("?", ("…", "pay.refund"), set()),
        ("", ("…",), set()),
    ],
)
async def test_a_name_in_another_spelling_is_a_name_if_just_that_tool_came_first(query, tools, named):
    context = Context()
    await found(Finder(Matches(query=query, tools=tools)), context)
    assert context.named == named


@pytest.mark.requirement("DEFR-05")
async def test_nothing_is_said_to_be_nothing_with_what_came_nearest():
    said = await found(Finder(Matches(query="x", nothing="No tool does that.", nearest=("pay.void",))))
    assert said["results"] == [
        {"query": "x", "tools": [], "nothing_fits": "No tool does that.", "nearest": ["pay.void"]}
    ]
    assert said["callable_from_next_step"] == []


async def test_what_there_is_no_room_for_is_said_with_the_reason():
    said = await found(Finder(Matches(query="x", tools=("a", "b"))), Context(refused=("b",)))
    assert said["callable_from_next_step"] == ["a"]
    assert said["not_shown"] == [{"tools": ["b"], "why": "no room"}]


async def test_one_reason_is_said_once_for_all_that_it_holds_for():
    context = Context(refused=("b", "d", "c"), why={"d": "too large"})
    said = await found(Finder(Matches(query="x", tools=tuple("abcd"))), context)
    assert said["not_shown"] == [{"tools": ["b", "c"], "why": "no room"}, {"tools": ["d"], "why": "too large"}]


async def test_trouble_of_the_index_is_said():
    assert (await found(Finder(trouble="The index was made anew.")))["note"] == "The index was made anew."


async def test_a_long_query_is_not_repeated_whole():
    said = await found(Finder(Matches(query="q" * 20_000)))
    assert len(said["results"][0]["query"]) == 201


async def test_a_server_that_is_none_means_everywhere_with_a_note():
    finder = Finder(Matches(query="x", tools=("a",)))
    said = await found(finder, server="mail")
    assert finder.asked == [(["x"], 8, "")]
    assert said["note"] == "There is no server 'mail', so all tools were searched. The servers are: crm, pay."
    assert said["callable_from_next_step"] == ["a"]


@pytest.mark.parametrize("server", ["CRM", "Crm", " crm "])
async def test_a_server_in_another_case_is_that_server(server):
    finder = Finder(Matches(query="x", tools=("a",)))
    said = await found(finder, server=server)
    assert finder.asked == [(["x"], 8, "crm")]
    assert "note" not in said


async def test_the_exact_spelling_of_a_server_comes_first_and_another_one_is_not_guessed():
    finder = Finder(Matches(query="x"))
    finder.servers = ("CRM", "crm")
    await found(finder, server="crm")
    said = await found(finder, server="Crm")
    assert [server for _, _, server in finder.asked] == ["crm", ""]
    assert "Did you mean CRM or crm?" in said["note"]


async def test_a_server_that_is_nearly_one_is_named():
    said = await found(Finder(), server="crn")
    assert said["note"] == (
        "There is no server 'crn', so all tools were searched. Did you mean crm? The servers are: crm, pay."
    )


async def test_of_many_servers_some_are_named_and_it_says_that_there_are_more():
    finder = Finder()
    finder.servers = tuple(f"number{n:03}" for n in range(500))
    said = await found(finder, server="xyz")
    assert said["note"].endswith("number019, ….")


async def test_names_that_were_not_found_and_what_was_left_off_are_said():
    match = Matches(
        query="select:a,b,c", tools=("a",), unknown=(Unknown(name="b", near=("d",)), Unknown(name="e")),
        left_off=("c",), note="Only so many.",
    )  # fmt: skip
    said = await found(Finder(match))
    assert said["results"] == [
        {
            "query": "select:a,b,c",
            "tools": ["a"],
            "not_found": [{"name": "b", "near": ["d"]}, {"name": "e"}],
            "left_off": ["c"],
            "note": "Only so many.",
        }
    ]
    assert said["note"] == "A search gives only so many tools. Search again for what was left off."


async def test_the_number_of_what_else_was_left_off_is_said():
    said = await found(Finder(Matches(query="select:a,b", tools=("a",), left_off=("b",), more_left_off=32)))
    assert (said["results"][0]["left_off"], said["results"][0]["more_left_off"]) == (["b"], 32)


NOTHING = Matches(query="x", nothing="No tool does that.")


@pytest.mark.requirement("DEFR-05")
@pytest.mark.parametrize(
    ("matches", "context", "notes"),
    [
        ([Matches(query="x", tools=("a",))], {}, ()),
        ([NOTHING], {}, ("nothing fitted",)),
        ([Matches(query="x", tools=("a",)), NOTHING], {}, ("nothing fitted 1 of 2 queries",)),
        ([Matches(query="x", tools=("a", "b"))], {"refused": ("b",)}, ("no room for b",)),
        ([Matches(query="x", tools=tuple("abcde"))], {"refused": tuple("abcde")}, ("no room for a, b, c and 2 more",)),
        ([Matches(query="x", tools=("a",), unknown=(Unknown(name="b"),))], {}, ("1 name that no tool has",)),
        (
            [Matches(query="x", tools=("a",), unknown=(Unknown(name="b"),), more_unknown=999)],
            {},
            ("1,000 names that no tool has",),
        ),
        ([Matches(query="x", tools=("a",))], {"shown": ("a",)}, ("what was found was shown already",)),
    ],
)
async def test_what_it_lacks_is_noted_for_the_log(matches, context, notes):
    made = Context(**context)
    await found(Finder(*matches), made)
    assert made.notes == notes


def test_it_only_reads():
    assert (spec().risk, spec().deferred, spec().callable_from) == (Risk.READ, False, ("model",))


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ({"queries": ["a"]}, True),
        ({"queries": ["a"] * 5, "server": "crm"}, True),
        ({"queries": []}, False),
        ({"queries": ["a"] * 6}, False),
        ({"queries": "a"}, False),
        ({}, False),
        ({"queries": ["a"], "k": 100}, False),
    ],
)
def test_its_arguments(arguments, good):
    assert (not compile_schema(spec().input_schema).errors(arguments)) is good
