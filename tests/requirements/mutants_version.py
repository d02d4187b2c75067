"""Breaks of compare and swap: which version a call is made for, and what becomes of it when there is another."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

VERSIONS = "tests/unit/runtime/test_versions.py"
ONE = f"{VERSIONS}::TestOneCall"
REFUSED = f"{VERSIONS}::TestTheServiceSaysNo"
LOOKS = f"{VERSIONS}::TestItCanNotBeLookedAt"
BOTH = f"{VERSIONS}::TestTwoAtOnce"
CRASH = f"{VERSIONS}::TestACrash"
ASKED = f"{VERSIONS}::TestAPersonIsAsked"
VALUES = "tests/unit/core/test_version.py"
DECLARED = "tests/unit/sources/test_versions.py"
GOOD = "tests/unit/breakers/test_last_good.py"

VERSION: Sequence[Mutant] = (
    Mutant(
        "PARA-02", "a call for another version goes on", "runtime/versions.py",
        "if made_for is None or version.same(made_for, now.value):", "if True:",
        (ONE, BOTH),
    ),
    Mutant(
        "PARA-02", "no version is taken for the first one there is", "core/version.py",
        "        return one is other\n", "        return True\n",
        (ONE, VALUES),
    ),
    Mutant(
        "PARA-02", "the number is not the text", "core/version.py",
        "return str(one) == str(other)", "return one == other",
        (VALUES,),
    ),
    Mutant(
        "PARA-02", "a null is a version", "core/version.py",
        "given = arguments.get(name) if name else None", "given = str(arguments.get(name)) if name else None",
        (ONE, VALUES),
    ),
    Mutant(
        "PARA-02", "the version that was seen is not on record", "runtime/dispatch.py",
        "        version=version,\n        instead=cleared.instead,\n        changed",
        "        instead=cleared.instead,\n        changed",
        (ONE, CRASH),
    ),
    Mutant(
        "PARA-02", "the tool is not given the version", "runtime/effect.py",
        "version=None if t1.version is None else t1.version.value,", "version=None,",
        (ONE, CRASH),
    ),
    Mutant(
        "PARA-02", "a tool in a process of its own is not given it", "sources/child.py",
        '"version": context.version,', '"version": None,',
        ("tests/unit/sources/test_child.py::TestFailures::test_a_version_goes_in_and_a_conflict_comes_out",),
    ),
    Mutant(
        "PARA-02", "two calls see the same version side by side", "sources/versions.py",
        "if spec.risk is not Risk.READ and not own_claims(spec.claims):", "if False:",
        (f"{DECLARED}::TestDeclared",),
    ),
    Mutant(
        "PARA-02", "what others share keeps them out", "core/version.py",
        "if claim.kind is not Kind.SLOT and not claim.shared)", "if claim)",
        (VALUES, f"{DECLARED}::TestDeclared"),
    ),
    Mutant(
        "PARA-02", "a look that fails is taken for no version", "runtime/versions.py",
        "return told_by_tool(error) if isinstance(error, ToolFailed) else _unknown(error, spec)",
        "return Version(of=spec.name)",
        (LOOKS,),
    ),
    Mutant(
        "PARA-02", "anything is a version", "runtime/versions.py",
        "    if wrong is not None:\n", "    if False:\n",
        (LOOKS,),
    ),
    Mutant(
        "PARA-02", "a look may take for ever", "runtime/versions.py",
        "asyncio.timeout(deadline(drive, spec).until - drive.parts.clock.monotonic())", "asyncio.timeout(None)",
        (f"{LOOKS}::test_one_that_hangs_has_as_long_as_the_call",),
    ),
    Mutant(
        "PARA-02", "a service's no is tried again", "runtime/failure.py",
        "        return Fault(transient=False)\n", "        return Fault(transient=True)\n",
        (REFUSED,),
    ),
    Mutant(
        "PARA-02", "a service's no is told in other words", "runtime/outcome.py",
        "if isinstance(attempt, Raised) and isinstance(attempt.error, Conflict):", "if False:",
        (REFUSED,),
    ),
    Mutant(
        "PARA-02", "the repeat's no counts for the first attempt", "runtime/failure.py",
        "if repeats and effect is Effect.NONE and _of_itself(dispatch, attempt):", "if False:",
        (CRASH,),
    ),
    Mutant(
        "PARA-02", "a repeat that waits looks at the version anew", "runtime/failure.py",
        "or isinstance(error, Conflict) or error.transient", "or isinstance(error, Conflict)",
        (CRASH,),
    ),
    Mutant(
        "PARA-02", "a tool that knows what became of its first attempt is not believed", "runtime/failure.py",
        "return not isinstance(error, ToolFailed) or isinstance(error, Conflict) or error.transient", "return True",
        (CRASH,),
    ),
    Mutant(
        "PARA-02", "a log may repeat a call for another version", "core/attempts.py",
        "if before is not None and before.version != event.version and call.unconcluded:", "if False:",
        ("tests/unit/core/test_crash.py::TestFailClosed",),
    ),
    Mutant(
        "APPR-03", "an approval holds for the next version", "core/version.py",
        "if named or same(asked.value, now.value):", "if True:",
        (ASKED, VALUES),
    ),
    Mutant(
        "APPR-03", "an approval holds for another thing of the same version", "core/version.py",
        "if asked.of != now.of:", "if False:",
        (ASKED, VALUES),
    ),
    Mutant(
        "APPR-03", "a person who names the version there is must be asked again", "core/version.py",
        "if named or same(asked.value, now.value):", "if same(asked.value, now.value):",
        (ASKED, VALUES),
    ),
    Mutant(
        "APPR-02", "a question does not bind to the version it shows", "core/approval.py",
        '            facts["version"] = msgspec.structs.asdict(self.version)\n', "            pass\n",
        ("tests/unit/answering/test_question.py::TestChecked",),
    ),
    Mutant(
        "APPR-03", "another thing is known by its claim alone", "sources/versions.py",
        'self._unclaimed = [name for name in self._names if f"{{{name}}}" not in claimed]', "self._unclaimed = []",
        (DECLARED,),
    ),
    Mutant(
        "PARA-02", "a person is asked about a call that is refused", "runtime/dispatch.py",
        "if passed.entry.executor.spec.versioned and not isinstance(evidence, Refusal):", "if False:",
        (ASKED,),
    ),
    Mutant(
        "RESI-05", "a row that a power cut has mixed up is an answer", "breakers/last_good.py",
        "return place if found[2] == _sum(key, place) else None", "return place",
        (GOOD,),
    ),
)  # fmt: skip
