"""Breaks of what is sent as a tool's schema, and of the way back."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

CASES = "tests/unit/schema/shape/test_cases.py"
SHAPED = "tests/unit/schema/shape/test_shaped.py"
BOUNDED = "tests/unit/schema/shape/test_bounded.py"

SCHEMAS: Sequence[Mutant] = (
    Mutant(
        "WIRE-03", "a map is closed for the sake of strict", "schema/shape/node.py",
        'if "properties" not in keywords and keywords.get("additionalProperties") is not False:',
        'if "properties" not in keywords and False:',
        (f"{SHAPED}::TestParts",),
    ),
    Mutant(
        "WIRE-03", "a null that is a value is dropped", "schema/shape/node.py",
        "absent = optional and takes_null(schema) and refuses_null(self, raw)",
        "absent = optional and takes_null(schema)",
        (f"{SHAPED}::TestTheWayBack",),
    ),
    Mutant(
        "WIRE-03", "a null that only stands for left out stays", "schema/shape/way.py",
        "if item is None and steps and all(step.absent for step in steps):", "if steps is None:",
        (f"{SHAPED}::TestTheWayBack",),
    ),
    Mutant(
        "WIRE-03", "two keys get one alias", "schema/shape/keys.py",
        "while (alias := _alias(key, self._rule, attempt)) in self._taken:",
        "while not (alias := _alias(key, self._rule, attempt)):",
        (f"{SHAPED}::TestKeys",),
    ),
    Mutant(
        "WIRE-03", "recursion is sent to those who refuse it in strict form", "schema/shape/node.py",
        "self.dialect.strict_recursion if self.strict else self.dialect.recursion", "True",
        (f"{CASES}::test_strict_is_on_where_it_can_be_and_else_says_why_not",
         f"{CASES}::test_recursion_keeps_its_reference_or_is_cut_after_one_round"),
    ),
    Mutant(
        "WIRE-03", "a large integer is sent as a bound", "schema/shape/plain.py",
        "return math.isfinite(value) and abs(value) <= LARGEST", "return math.isfinite(value)",
        (f"{SHAPED}::TestWhatIsSaidInWords",),
    ),
    Mutant(
        "WIRE-03", "strict tools don't share the limits of a request", "schema/shape/together.py",
        "tools, optional, unions = tools + 1, optional + size.optional, unions + size.unions", "pass",
        (f"{SHAPED}::TestTogether",),
    ),
    Mutant(
        "WIRE-03", "inlining hardly ends", "schema/shape/reading.py",
        "MOST_PARTS: Final = 2000", "MOST_PARTS: Final = 20_000",
        (f"{BOUNDED}::test_no_schema_costs_much_or_grows_large",),
    ),
    Mutant(
        "WIRE-03", "one bad schema takes the other tools with it", "gate/catalogue.py",
        '            refused[executor.spec.name] = f"{error.__cause__}. The other tools are bound."\n',
        "            raise\n",
        (f"{CASES}::test_a_schema_that_can_not_be_used_refuses_its_own_tool_alone",),
    ),
)  # fmt: skip
