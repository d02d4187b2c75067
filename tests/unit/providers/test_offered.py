"""What is offered and what comes back: names and arguments are canonical before anybody else sees them, and go back to
the provider as it gave them.
"""

import json

import pytest

from callslip.core.message import AssistantReply, CallMessage, ResultMessage, ToolResults, UserText
from callslip.ports.model import Request, Searching, ToolView
from callslip.providers import offered as module
from callslip.providers.aliases import CHAT, GEMINI as GEMINI_NAMES
from callslip.providers.offered import Offered
from callslip.schema.shape.dialect import COMPATIBLE, GEMINI, OPENAI

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "labels[]": {"type": "array", "items": {"type": "string"}}},
    "required": ["title"],
}
CREATE = ToolView(name="github.issues.create", description="Create.", input_schema=SCHEMA)
HELLO = (UserText(text="Hi"),)
READ = ToolView(name="read_file", description="Read.", input_schema={"type": "object"})


def offered(dialect=OPENAI, *, tools=(CREATE, READ), messages=HELLO, strict=None):
    return Offered(Request(system="", messages=messages, tools=tools), CHAT, dialect, strict=strict)


def call(arguments, tool="github.issues.create"):
    return CallMessage(call_id="c1", provider_id="p1", tool=tool, arguments=arguments)


@pytest.mark.requirement("SPEC-02")
class TestNames:
    def test_a_proposal_bears_the_tools_own_name(self):
        alias = offered().tools[0].wire
        assert alias != "github.issues.create"
        assert offered().proposal(alias, "{}", "p1").tool == "github.issues.create"

    def test_the_history_bears_the_alias_that_was_offered(self):
        assert offered().wire("github.issues.create") == offered().tools[0].wire

    def test_so_does_a_tool_that_is_not_offered_any_more(self):
        said = AssistantReply(text="", calls=(call("{}"),))
        result = ResultMessage(call_id="c1", provider_id="p1", tool="github.issues.create", content="done")
        gone = offered(tools=(READ,), messages=(UserText(text="Hi"), said, ToolResults(results=(result,))))
        assert gone.wire("github.issues.create") == offered().tools[0].wire
        assert gone.proposal(gone.wire("github.issues.create"), "{}", "").tool == "github.issues.create"

    @pytest.mark.parametrize("wrap", ["functions.{}", " {}\n", "{}"])
    def test_an_alias_is_known_with_what_models_put_around_it(self, wrap):
        assert offered().proposal(wrap.format(offered().tools[0].wire), "{}", "").tool == "github.issues.create"

    @pytest.mark.parametrize("wrap", ["functions.{}", " {}\n", "{}"])
    def test_an_alias_is_read_back_also_of_a_tool_that_has_to_be_found_first(self, wrap):
        alias = offered().tools[0].wire
        request = Request(
            system="",
            messages=HELLO,
            tools=(READ,),
            searching=Searching(tool="read_file", found=(), deferred=(CREATE,)),
        )
        assert Offered(request, CHAT, OPENAI).tool(wrap.format(alias)) == "github.issues.create"
        for other in (alias[1:], alias.replace("issues", "issue"), f"{alias[:-1]}a", "github_issues_create"):
            assert Offered(request, CHAT, OPENAI).tool(other) == other
        assert Offered(request, GEMINI_NAMES, GEMINI).tool(alias) == alias, "this provider never calls it so"

    def test_names_that_are_offered_cost_nothing_more(self, monkeypatch):
        def dear(name):
            raise AssertionError("no digest is needed")

        monkeypatch.setattr(module, "digest", dear)
        request = Request(
            system="", messages=HELLO, tools=(CREATE, READ),
            searching=Searching(tool="read_file", found=(), deferred=(ToolView(name="a.b", description="", input_schema={}),)),
        )  # fmt: skip
        made = Offered(request, CHAT, OPENAI)
        for wire in (*(one.wire for one in made.tools), "nobody", ""):
            made.tool(wire)

    @pytest.mark.parametrize("name", ["github.issues.create", "Read_File", "functions.", "functions.nobody", ""])
    def test_a_name_that_was_not_offered_is_left_to_the_gate(self, name):
        assert offered().proposal(name, "{}", "").tool == name

    def test_tools_keep_their_order(self):
        assert [one.wire for one in offered(tools=(READ, CREATE)).tools] == [
            one.wire for one in reversed(offered().tools)
        ]


@pytest.mark.requirement("WIRE-03")
class TestArguments:
    def test_a_null_that_only_says_left_out_is_dropped_before_anything_is_judged(self):
        given = '{"title": "x", "labels[]": null}'
        assert offered().proposal(offered().tools[0].wire, given, "").arguments == {"title": "x"}

    def test_without_strict_nothing_was_said_by_a_null(self):
        given = '{"title": "x", "labels[]": null}'
        assert offered(strict=False).proposal(offered().tools[0].wire, given, "").arguments == given

    def test_a_renamed_key_gets_its_name_back(self):
        gemini = offered(GEMINI)
        key = next(name for name in gemini.tools[0].shaped.schema["properties"] if name != "title")
        assert key != "labels[]"
        proposal = gemini.proposal(gemini.tools[0].wire, {"title": "x", key: ["bug"]}, "p1")
        assert proposal.arguments == {"title": "x", "labels[]": ["bug"]}
        assert gemini.argument_object(call(proposal.arguments)) == {"title": "x", key: ["bug"]}
        assert json.loads(gemini.argument_text(call(proposal.arguments))) == {"title": "x", key: ["bug"]}

    @pytest.mark.parametrize(
        "given", ['{"title":"x"}', '{ "title" : "x" }', "{cut", "[1]", "", "null", '{"title": 1e400}']
    )
    @pytest.mark.parametrize("dialect", [OPENAI, GEMINI, COMPATIBLE])
    def test_where_nothing_is_undone_the_text_stays_to_the_letter(self, dialect, given):
        made = offered(dialect)
        assert made.proposal(made.tools[0].wire, given, "").arguments == given

    def test_arguments_of_a_tool_that_is_gone_are_sent_as_they_are(self):
        assert offered().argument_object(call({"labels[]": None}, tool="gone")) == {"labels[]": None}

    def test_what_was_no_object_is_sent_back_as_raw_text(self):
        for made in (offered(), offered(GEMINI)):
            assert "{cut" in json.dumps(made.argument_object(call("{cut")))
            assert "{cut" in made.argument_text(call("{cut"))
