"""From a function to a tool: what is derived, what is declared, what is refused."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Annotated, Literal

import pytest
from pydantic import Field

from callslip import Context, Runtime, tool
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolDefinitionError
from callslip.ports.executor import ProbeAnswer
from callslip.testing.clock import FakeClock
from callslip.testing.fakes import FakeTool

pytestmark = pytest.mark.anyio


def context(**changed) -> Context:
    facts = {
        "session": "s", "call_id": "c", "attempt": 1, "idempotency_key": "k", "deadline": 0, "clock": FakeClock(),
        "on_progress": lambda *_: None, "on_partial": lambda _: None,
    }  # fmt: skip
    return Context(**(facts | changed))


@pytest.mark.requirement("SPEC-02")
class TestDerived:
    def test_name_words_and_schemas(self):
        @tool
        def find_order(number: Annotated[int, Field(ge=1)], unit: Literal["kg", "lb"] = "kg") -> list[str]:
            """Find the parts of an order.

            Args:
                number: Of the order, as printed.
            """
            return [str(number)]

        spec = find_order.spec
        assert (spec.name, spec.description) == ("find_order", "Find the parts of an order.")
        assert spec.input_schema["required"] == ["number"]
        assert spec.input_schema["properties"]["number"]["description"] == "Of the order, as printed."
        assert spec.input_schema["properties"]["number"]["minimum"] == 1
        assert spec.input_schema["properties"]["unit"]["enum"] == ["kg", "lb"]
        assert spec.output_schema == {"type": "array", "items": {"type": "string"}}

    def test_it_stays_the_function_it_was(self):
        @tool(risk="read")
        def double(n: int) -> int:
            """Twice."""
            return 2 * n

        assert double(4) == 8
        assert (double.__name__, double.__doc__) == ("double", "Twice.")
        assert list(inspect.signature(double).parameters) == ["n"]

    async def test_a_wrapped_function_keeps_its_true_signature_and_runs_through_its_wrapper(self):
        calls = []

        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                calls.append(kwargs)
                return function(*args, **kwargs)

            return wrapper

        @tool
        @logged
        def double(n: int) -> int:
            """Twice."""
            return 2 * n

        assert list(double.spec.input_schema["properties"]) == ["n"]
        assert await double.run({"n": 4}, context()) == 8
        assert calls == [{"n": 4}]

    async def test_synchronous_and_asynchronous_functions_run_alike(self):
        @tool
        async def slow(n: int) -> int:
            """Twice."""
            return 2 * n

        @tool
        def quick(n: int) -> int:
            """Twice."""
            return 2 * n

        assert [await one.run({"n": 1}, context()) for one in (slow, quick)] == [2, 2]

    async def test_the_context_is_the_runtimes_to_give(self):
        @tool
        def key(where: Context, n: int) -> str:
            """The key."""
            return where.idempotency_key

        assert list(key.spec.input_schema["properties"]) == ["n"]
        assert await key.run({"n": 1}, context(idempotency_key="k9")) == "k9"

    @pytest.mark.parametrize("declared", [{}, {"risk": "read"}])
    def test_what_can_not_be_called_by_name_can_not_be_a_tool(self, declared):
        def positional(a: int, /) -> int:
            return a

        with pytest.raises(ToolDefinitionError, match="positional can't be a tool"):
            tool(**declared)(positional) if declared else tool(positional)

    @pytest.mark.parametrize(
        ("name", "told"),
        [("", "'': a tool needs a name"), ("a\x1b", r"'a\x1b': its name holds a control character (\x1b)")],
    )
    def test_a_name_that_is_none_is_refused_where_it_is_declared(self, name, told):
        with pytest.raises(ToolDefinitionError) as raised:
            tool(name=name, risk="read")(self.test_name_words_and_schemas)
        assert str(raised.value).startswith(told)

    async def test_a_name_no_provider_takes_is_the_tools_own_all_the_same(self):
        @tool(name="orders.find", risk="read")
        def find(n: int) -> int:
            """Find."""
            return n

        async with Runtime(tools=[find]) as runtime:
            batch = await runtime.dispatch([{"name": "orders.find", "input": {"n": 3}}], session="s", step="1")
        assert (batch.results[0].tool, batch.results[0].result.structured) == ("orders.find", 3)


def evidence(**_):
    return Evidence(target="t", before="a", after="b")


@pytest.mark.requirement("SPEC-01")
class TestDeclared:
    def test_undeclared_means_dangerous_and_never(self):
        @tool
        def act() -> None:
            """Act."""

        assert (act.spec.risk, act.spec.recovery, act.spec.callable_from) == (
            Risk.DANGEROUS, Recovery.NEVER, ("model",),
        )  # fmt: skip
        assert repr(act) == "<tool act dangerous never>"

    def test_declared_words_win_over_derived_ones_and_seconds_become_milliseconds(self):
        @tool(name="other", description="Says so.", timeout=1.5, quiet=0, input_schema={"type": "object"},
              output_schema={}, tags=["a"], examples=[{"n": 1}], requires=["x"], claims=["f:{n}"])  # fmt: skip
        def act(n: int) -> int:
            """Derived."""
            return n

        spec = act.spec
        assert (spec.name, spec.description, spec.timeout_ms, spec.quiet_ms) == ("other", "Says so.", 1500, 0)
        assert (spec.input_schema, spec.output_schema) == ({"type": "object"}, {})
        assert (spec.tags, spec.examples, spec.requires, spec.claims) == (("a",), ({"n": 1},), ("x",), ("f:{n}",))

    @pytest.mark.parametrize(
        ("declared", "told"),
        [
            ({"recovery": "probe"}, "needs a probe function"),
            ({"recovery": "evidence"}, "needs a prepare and a digest function"),
            ({"recovery": "evidence", "prepare": evidence}, "needs a prepare and a digest function"),
            ({"timeout": 0}, "timeout must be positive"),
            ({"quiet": -1}, "quiet not negative"),
            ({"risk": "harmless"}, "'harmless' is not one of read, write, dangerous"),
            ({"recovery": "always"}, "'always' is not one of"),
            ({"rsik": "read"}, "See ToolSpec"),
            ({"timeout": math.inf}, "timeout is a number of seconds and not inf"),
            ({"timeout": math.nan}, "timeout is a number of seconds and not nan"),
            ({"timeout": "10"}, "timeout is a number of seconds and not '10'"),
            ({"timeout": None}, "timeout is a number of seconds and not None"),
            ({"timeout": 1e12}, "timeout is more than ten years"),
            ({"quiet": True}, "quiet is a number of seconds and not True"),
            (
                {"risk": "read", "cached_fallback": True},
                "cached_fallback is a number of seconds, or None, and not True",
            ),
            ({"poll_after": "1"}, "poll_after is a number"),
            ({"classify": 3}, "classify has to be a function, and is 3"),
            ({"probe": "x"}, "probe has to be a function"),
            ({"rules": print}, "rules has to be a list of functions"),
            ({"rules": [3]}, "rules has to be a list of functions, and 3 in it is none"),
            ({"process": "yes"}, "process has to be True or False"),
            ({"breaker": "no"}, "breaker has to be True or False, and is 'no'"),
            ({"fallback": ["a"]}, "fallback has to be a text"),
            ({"tags": "a"}, "write tags="),
            ({"requires": "act"}, "write requires="),
            ({"requires": ["act"]}, "requires itself"),
            ({"allowed_paths": "/"}, "write allowed_paths="),
            ({"claims": "file:{path}"}, "write claims="),
            ({"claims": [3]}, "3 in it is none"),
            ({"claims": ["file:{pth}"]}, "it takes none.*Nothing was started"),
            ({"target": "{hst}"}, "its target '{hst}' names {hst}"),
            ({"input_schema": 3}, "input_schema has to be a mapping"),
            ({"examples": [3]}, "each of examples has to be a mapping"),
            ({"examples": {"a": 1}}, "examples has to be a list of mappings"),
            ({"normalise": [3]}, "normalise has to be a mapping"),
            ({"normalise": {"a": 3}}, "normalise of 'a' has to be a mapping"),
            ({"name": 3}, "name has to be a text"),
        ],
    )
    def test_a_declaration_that_contradicts_itself_is_refused(self, declared, told):
        def act() -> None:
            """Act."""

        with pytest.raises(ToolDefinitionError, match=told):
            tool(**declared)(act)

    @pytest.mark.parametrize(
        ("answer", "happened", "result"),
        [
            (None, False, None),
            ({"id": 1}, True, {"id": 1}),
            (False, True, False),
            (ProbeAnswer(happened=None), None, None),
        ],
    )
    async def test_what_a_probe_may_answer(self, answer, happened, result):
        seen = []

        def probe(context, n):
            seen.append((context.idempotency_key, n))
            return answer

        @tool(recovery="probe", probe=probe)
        def act(n: int) -> None:
            """Act."""

        found = await act.probe({"n": 3}, context(idempotency_key="k3"))
        assert (found.happened, found.result) == (happened, result)
        assert seen == [("k3", 3)]

    async def test_without_a_probe_nothing_can_be_told(self):
        @tool
        def act() -> None:
            """Act."""

        assert (await act.probe({}, context())).happened is None
        assert await act.prepare({}) is None
        with pytest.raises(ToolDefinitionError, match="no digest function"):
            await act.digest("t")

    async def test_evidence(self):
        @tool(recovery="evidence", prepare=evidence, digest=lambda target: f"digest of {target}")
        def act(n: int) -> None:
            """Act."""

        assert (await act.prepare({"n": 1})).target == "t"
        assert await act.digest("t") == "digest of t"


@pytest.mark.requirement("SPEC-05")
async def test_the_version_stands_in_every_t1():
    from callslip.core.events.tool_dispatch import ToolDispatch

    @tool(risk="read", tag="v2")
    def look(n: int) -> int:
        """Look."""
        return n

    async with Runtime(tools=[look]) as runtime:
        await runtime.dispatch([{"name": "look", "input": {"n": 1}}] * 2, session="s", step="1")
        log = [stored.record.event for stored in await runtime.parts.ledger.read("s")]
    versions = [event.tool_version for event in log if isinstance(event, ToolDispatch)]
    assert versions == [look.spec.version] * 2


@pytest.mark.requirement("DECL-03")
async def test_whatever_stands_behind_the_interface_is_called_alike():
    @tool(risk="read")
    async def function(n: int) -> int:
        """Twice."""
        return 2 * n

    @tool(risk="read", client_owned=True)
    async def client(n: int) -> int:
        """Twice, elsewhere."""
        raise AssertionError

    other = FakeTool("other", answers=[lambda arguments: 2 * arguments["n"]], risk="read")
    step = [{"name": name, "input": {"n": 4}} for name in ("function", "other", "client")]
    async with Runtime(tools=[function, other, client]) as runtime:
        await runtime.dispatch(step, session="s", step="1")
        (wait,) = await runtime.waits()
        await runtime.submit(wait.id, 8)
        batch = await runtime.dispatch(step, session="s", step="1")
    assert [outcome.result.structured for outcome in batch.results] == [8, 8, 8]
    assert [(one.arguments, one.attempt) for one in other.calls] == [({"n": 4}, 1)]
