"""A tool's declaration and the version made of it."""

from __future__ import annotations

import msgspec
import pytest

from callslip.core.tool import Recovery, Risk, ToolSpec

SPEC = ToolSpec(name="find_order", description="Finds an order.", input_schema={"type": "object"})


@pytest.mark.requirement("SPEC-01")
class TestDeclaration:
    def test_undeclared_means_dangerous_never_and_not_for_programs(self):
        assert (SPEC.risk, SPEC.recovery, SPEC.callable_from) == (Risk.DANGEROUS, Recovery.NEVER, ("model",))
        assert SPEC.untrusted_fields == ("*",)

    def test_everything_that_can_be_declared(self):
        assert set(ToolSpec.__struct_fields__) == {
            "name", "category", "tags", "description", "when_not", "input_schema", "output_schema", "examples", "tag",
            "risk", "timeout_ms", "quiet_ms", "local_effect", "recovery", "callable_from", "requires", "claims",
            "allowed_paths", "allowed_hosts", "identity_arguments", "secret_arguments", "untrusted_fields", "sandbox", "deferred",
            "client_owned", "asks_user", "background", "background_timeout_ms", "poll_after_ms", "fallback",
            "compensation", "normalise", "cached_fallback_ms", "hedge_after_ms", "breaker", "target", "versioned", "expects",
        }  # fmt: skip


@pytest.mark.requirement("SPEC-05")
class TestVersion:
    @pytest.mark.parametrize(
        "change",
        [
            {"description": "Finds one."}, {"when_not": "For customers."}, {"input_schema": {"type": "object", "a": 1}},
            {"output_schema": {"type": "string"}}, {"tag": "2"}, {"risk": Risk.READ}, {"recovery": Recovery.PROBE},
            {"quiet_ms": 1}, {"local_effect": True}, {"callable_from": ("model", "program")}, {"requires": ("x",)},
            {"claims": ("file:{path}",)}, {"allowed_paths": ("a",)}, {"allowed_hosts": ("h",)}, {"secret_arguments": ("token",)}, {"client_owned": True},
            {"asks_user": True}, {"background": True}, {"normalise": {"day": "relative_date"}},
            {"versioned": True}, {"identity_arguments": ("to",)}, {"untrusted_fields": ()}, {"sandbox": "process"}, {"name": "find_orders"},
        ],
        ids=lambda change: next(iter(change)),
    )  # fmt: skip
    def test_what_a_caller_or_a_policy_could_notice_makes_another_version(self, change):
        assert msgspec.structs.replace(SPEC, **change).version != SPEC.version

    @pytest.mark.parametrize("change", [{"category": "c"}, {"tags": ("t",)}, {"deferred": True}])
    def test_where_it_is_listed_does_not(self, change):
        assert msgspec.structs.replace(SPEC, **change).version == SPEC.version

    def test_the_same_whatever_the_order_of_keys(self):
        one = ToolSpec(name="t", input_schema={"a": 1, "b": {"c": 1, "d": 2}})
        other = ToolSpec(name="t", input_schema={"b": {"d": 2, "c": 1}, "a": 1})
        assert one.version == other.version
        assert len(one.version) == 16

    def test_without_normalisers_it_is_what_it_was_before_there_were_any(self):
        assert SPEC.version == "254a70795c3968fb"

    def test_a_description_that_is_no_utf8_has_one_all_the_same(self):
        assert ToolSpec(name="t", description="\ud800").version
