"""The bound tools: what is shown of them, and the three parts of their registration."""

from __future__ import annotations

import msgspec
import pytest

from callslip import tool
from callslip.errors import ToolDefinitionError
from callslip.gate.catalogue import Catalogue, bindable, parts_of
from callslip.testing.fakes import FakeTool


@pytest.fixture
def catalogue(tools) -> Catalogue:
    return Catalogue(tools)


class TestWhatIsShown:
    def test_every_tool_a_model_may_call_in_the_order_given(self, catalogue):
        assert [shown.name for shown in catalogue.visible()] == ["find_order", "deliver", "refund", "erase"]

    def test_a_deferred_tool_is_bound_and_not_shown(self):
        catalogue = Catalogue([FakeTool("often"), FakeTool("seldom", deferred=True)])
        assert [shown.name for shown in catalogue.visible()] == ["often"]
        assert [shown.name for shown in catalogue.visible(["seldom"])] == ["seldom"]

    def test_a_name_that_is_not_bound_can_not_be_shown(self, catalogue):
        with pytest.raises(ToolDefinitionError, match="No tool named 'nope'"):
            catalogue.visible(["find_order", "nope"])

    @pytest.mark.requirement("SPEC-01")
    def test_when_not_to_use_it_is_shown_too(self):
        catalogue = Catalogue([FakeTool("find_order", description="Finds one.", when_not="For customers.")])
        (view,) = catalogue.views(catalogue.visible())
        assert view.description == "Finds one.\nDo not use it: For customers."

    def test_a_tool_that_has_gone_is_not_shown(self, catalogue):
        visible = catalogue.visible()
        assert [view.name for view in Catalogue([]).views(visible)] == []


@pytest.mark.requirement("SPEC-03")
class TestRegistration:
    def test_three_parts_a_tool(self, catalogue):
        parts = list(catalogue.parts())
        assert [part.part for part in parts[:3]] == ["schema", "executor", "handshake"]
        assert len(parts) == 3 * len(catalogue)
        assert all(part.ok for part in parts)

    def wrong(self, executor):
        return [(part.part, part.detail) for part in Catalogue([executor]).parts() if not part.ok]

    def test_an_example_that_its_schema_refuses(self):
        schema = {"type": "object", "required": ["id"]}
        bad = FakeTool("find", input_schema=schema, examples=({"id": 1}, {"other": 1}))
        assert self.wrong(bad) == [("schema", "its example {'other': 1} is not valid by it")]

    def test_an_executor_that_nothing_runs(self):
        dead = FakeTool("find")
        dead.run = None
        assert self.wrong(dead) == [("executor", "nothing runs it")]
        theirs = FakeTool("find", client_owned=True)
        theirs.run = None
        assert self.wrong(theirs) == []

    def test_what_is_bound_is_no_longer_what_was_shown(self):
        changed = FakeTool("find")
        catalogue = Catalogue([changed])
        changed.spec = msgspec.structs.replace(changed.spec, input_schema={"type": "object", "required": ["x"]})
        wrong = [part.part for part in catalogue.parts() if not part.ok]
        assert wrong == ["handshake"]

    def test_two_tools_of_one_name_are_refused(self):
        with pytest.raises(ToolDefinitionError, match="Two tools are named 'x'"):
            Catalogue([FakeTool("x"), FakeTool("x")])

    @pytest.mark.parametrize("where", ["input_schema", "output_schema"])
    def test_a_schema_that_is_none_is_refused_at_the_start(self, where):
        with pytest.raises(ToolDefinitionError, match=r"find: .*Nothing was started"):
            Catalogue([FakeTool("find", **{where: {"type": "objekt"}})])

    def test_an_empty_registry_is_empty(self):
        assert (len(Catalogue([])), Catalogue([]).visible()) == (0, ())


@pytest.mark.requirement("SPEC-05")
def test_the_visible_set_names_versions(tools):
    assert {shown.name: shown.version for shown in Catalogue(tools).visible()}["deliver"] == tools[1].spec.version


@pytest.mark.requirement("SPEC-02")
def test_the_names_of_two_functions_may_be_set_apart():
    @tool(name="orders.find", risk="read")
    async def find(n: int) -> int:
        """Find."""
        return n

    assert list(Catalogue([find])) == ["orders.find"]


@pytest.mark.requirement("SPEC-01")
class TestDeclarations:
    """Executors that are no functions are judged where they are bound."""

    @pytest.mark.parametrize(
        ("declared", "told"),
        [
            ({"claims": ("File:{path}",)}, "its claim 'File:{path}' begins with 'File'.*Nothing was started. Correct `claims`"),
            ({"claims": "file:{path}"}, "write claims="),
            ({"target": "{host"}, "its target '{host' has braces.*Correct `target`"),
            ({"breaker": "no"}, "breaker has to be True or False"),
            ({"requires": ("t",)}, "requires itself"),
            ({"requires": ("nope",)}, "requires 'nope', and no tool of that name is bound"),
        ],
    )  # fmt: skip
    def test_what_means_nothing_is_refused(self, declared, told):
        with pytest.raises(ToolDefinitionError, match=told):
            Catalogue([FakeTool("t", **declared)])

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("", "'': a tool needs a name, and this one is empty. Nothing was started. Correct `name`."),
            ("a\nb", r"'a\nb': its name holds a line break (\n). Nothing was started. Correct `name`."),
        ],
    )
    def test_a_name_that_is_none_is_refused_and_steers_no_terminal(self, name, told):
        with pytest.raises(ToolDefinitionError) as raised:
            Catalogue([FakeTool(name)])
        assert str(raised.value) == told

    def test_of_a_foreign_source_it_refuses_its_own_tool_alone(self):
        kept, refused = bindable([FakeTool("good"), FakeTool("bad", claims=("reads x",))])
        assert [one.spec.name for one in kept] == ["good"]
        assert refused["bad"].startswith(
            "its claim 'reads x' begins with 'reads ', which is no form of a claim. A claim"
        )

    def test_tools_that_need_each_other_could_never_be_called(self):
        first = [FakeTool("a", requires=("b",)), FakeTool("b", requires=("c",)), FakeTool("c", requires=("a",))]
        with pytest.raises(ToolDefinitionError, match="a requires b, where it is itself required in turn"):
            Catalogue(first)
        assert len(Catalogue([FakeTool("a", requires=("b", "c")), FakeTool("b", requires=("c",)), FakeTool("c")])) == 3

    def test_one_tool_is_judged_whatever_others_it_names(self):
        assert all(part.ok for part in parts_of(FakeTool("pay", compensation="refund", requires=("look",))))
