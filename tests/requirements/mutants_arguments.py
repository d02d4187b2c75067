"""Deliberate breaks of what happens to arguments between the model's text and the tool."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

CASES = "tests/unit/gate/test_argument_cases.py"
REPAIR = "tests/unit/schema/test_repair.py"
COERCE = "tests/unit/schema/test_coerce.py"
NORMALISE = "tests/unit/schema/test_normalise.py"
CHANGED = "tests/unit/runtime/test_changed_arguments.py"
PARSE = "tests/unit/schema/test_parse.py"
DERIVE = "tests/unit/schema/test_derive.py"
VALIDATE = "tests/unit/schema/test_validate.py"
EFFORT = "tests/unit/schema/test_effort.py"
PROPERTY = "tests/property/test_arguments.py"

ARGUMENTS: Sequence[Mutant] = (
    Mutant(
        "ARGS-01", "text is repaired for writing tools too", "gate/arguments.py",
        "spec.risk is not Risk.READ", "False",
        (CASES,),
    ),
    Mutant(
        "ARGS-01", "a repair is not recorded", "schema/repair.py",
        "changed=(*repaired.changed, *parsed.changed)", "changed=parsed.changed",
        (CASES,),
    ),
    Mutant(
        "ARGS-01", "brackets in prose are nothing", "schema/repair.py",
        """for mark in '[]{}"'""", "for mark in '[]\"'",
        (REPAIR,),
    ),
    Mutant(
        "ARGS-01", "a comma after nothing is forgiven", "schema/repair.py",
        "(?P<hollow>[{\\[]\\s*+,)", "(?P<hollow>[{\\[]\\s*+,,)",
        (REPAIR,),
    ),
    Mutant(
        "ARGS-01", "Python's own escapes are kept", "schema/repair.py",
        "if own and found[1] not in ESCAPES:", "if False:",
        (REPAIR, PROPERTY),
    ),
    Mutant(
        "ARGS-01", "a key that stands twice is repaired away", "schema/parse.py",
        "if len(decoded) == len(pairs):", "if decoded is not None:",
        (CASES,),
    ),
    Mutant(
        "ARGS-01", "a string in a string in a string is unfolded", "schema/parse.py",
        """if not inner.lstrip(WHITE_SPACE).startswith('"'):""", "if True:",
        (REPAIR,),
    ),
    Mutant(
        "ARGS-01", "a second value beside the object is prose", "schema/repair.py",
        "if ANOTHER_VALUE.fullmatch(bare_before) or ANOTHER_VALUE.fullmatch(bare_after):", "if False:",
        (REPAIR,),
    ),
    Mutant(
        "ARGS-02", "digits before an exponent are rounded", "schema/parse.py",
        "return number if len(text) < SHORTEST_LOSS else _exact(text, number)", "return number",
        (PARSE,),
    ),
    Mutant(
        "ARGS-02", "an integer is what a float makes of it", "schema/derive.py",
        "int(Decimal(repr(number)))", "int(number)",
        (DERIVE,),
    ),
    Mutant(
        "ARGS-02", "an integer becomes an infinity", "schema/derive.py",
        "if len(text) >= SHORTEST_TOO_LARGE and _overflowed(adapter, value, bound[name]):", "if False:",
        (DERIVE,),
    ),
    Mutant(
        "ARGS-02", "what stood inside a string is not brought into form", "gate/arguments.py",
        "if entry.normalisers and coerced.changes:", "if False:",
        (CASES,),
    ),
    Mutant(
        "ARGS-02", "what was brought into form late is not judged again", "gate/arguments.py",
        "errors, changes = entry.arguments.errors(value), (*changes, *formed)", "changes = (*changes, *formed)",
        (CASES,),
    ),
    Mutant(
        "ARGS-02", "a leading zero is no digit", "schema/lossless.py",
        'INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)', 'INTEGER: Final = re.compile(r"-?[0-9]+", re.ASCII)',
        (CASES, COERCE),
    ),
    Mutant(
        "ARGS-02", "digits that a float can't keep are dropped", "schema/lossless.py",
        "math.isfinite(number) and Decimal(repr(number)) == Decimal(bare)", "math.isfinite(number)",
        (COERCE,),
    ),
    Mutant(
        "ARGS-02", "yes is true", "schema/lossless.py",
        '{"true": True, "false": False}', '{"true": True, "false": False, "yes": True}',
        (CASES,),
    ),
    Mutant(
        "ARGS-02", "a required null is dropped", "schema/coerce.py",
        "name not in node.required and ", "",
        (CASES, COERCE),
    ),
    Mutant(
        "ARGS-02", "what is valid by a branch is read by another", "schema/coerce.py",
        "any(self._fits(branch, value) is not False for branch in branches)", "False",
        (COERCE, PROPERTY),
    ),
    Mutant(
        "ARGS-02", "half of it is changed though the rest stays wrong", "schema/coerce.py",
        "return Coerced(value=value, changes=(), errors=rest if", "return Coerced(value=made, changes=(), errors=rest if",
        (COERCE, PROPERTY),
    ),
    Mutant(
        "ARGS-02", "a change is not recorded", "gate/arguments.py",
        "(*changes, *coerced.changes)", "changes",
        (CASES, CHANGED),
    ),
    Mutant(
        "ARGS-02", "a day is that of UTC", "schema/normalise.py",
        "fromtimestamp(self.at / 1000, self.zone)", "fromtimestamp(self.at / 1000, datetime.UTC)",
        (CASES, NORMALISE),
    ),
    Mutant(
        "ARGS-02", "tomorrow moves while a person is asked", "runtime/judge.py",
        "at=call.proposed_at or drive.parts.clock.now()", "at=drive.parts.clock.now()",
        (CHANGED,),
    ),
    Mutant(
        "ARGS-02", "next friday is this one", "schema/normalise.py",
        "return coming if wanted <= today.weekday() else None", "return coming",
        (NORMALISE,),
    ),
    Mutant(
        "ARGS-02", "what a person has written is changed", "runtime/judge.py",
        "by_person=raw is not call.call.arguments,", "by_person=False,",
        (CHANGED,),
    ),
    Mutant(
        "ARGS-02", "a secret's value is told", "gate/arguments.py",
        "told(changes, spec.secret_arguments)", "told(changes)",
        (CASES,),
    ),
    Mutant(
        "ARGS-03", "a secret's value is quoted in a refusal", "gate/arguments.py",
        "errors = _unseen(errors, spec.secret_arguments)", "errors = _unseen(errors, ())",
        (CASES,),
    ),
    Mutant(
        "ARGS-03", "a format is only a note", "schema/engine.py",
        "validate_formats=True", "validate_formats=False",
        (CASES,),
    ),
    Mutant(
        "ARGS-03", "no form of a union is told", "schema/validate.py",
        "if inner.path == here:", "if True:",
        (VALIDATE,),
    ),
    Mutant(
        "ARGS-03", "faults are collected however many there may be", "schema/validate.py",
        "if faults <= MOST_FAULTS:", "if True:",
        (EFFORT,),
    ),
    Mutant(
        "ARGS-03", "a schema may branch without end", "schema/validate.py",
        "if self._effort.branching > MOST_LOOKS:", "if False:",
        (EFFORT,),
    ),
    Mutant(
        "ARGS-03", "a value of whatever size is judged by a schema of whatever width", "schema/validate.py",
        "if not self._bounded(value, parts):", "if False:",
        (EFFORT,),
    ),
    Mutant(
        "ARGS-03", "references by an anchor are not counted", "schema/effort.py",
        'for key in ("$anchor", "$dynamicAnchor"):', "for key in ():",
        (EFFORT,),
    ),
    Mutant(
        "ARGS-03", "what was read is told as it was sent", "schema/coerce.py",
        "errors=rest if rest and _nothing_new(rest, found) else found", "errors=found",
        (CASES,),
    ),
    Mutant(
        "ARGS-03", "faults that coercion made are told", "schema/coerce.py",
        "rest if rest and _nothing_new(rest, found) else found", "rest or found",
        (COERCE, PROPERTY),
    ),
    Mutant(
        "ARGS-04", "rules are asked of what was sent, not of what is run", "gate/pipeline.py",
        "business.check_rules(entry, canon.parse(arguments.text))", "business.check_rules(entry, case.arguments)",
        (CHANGED,),
    ),
)  # fmt: skip
