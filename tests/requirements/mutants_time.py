"""Breaks of what ends calls: deadlines, stops, processes, batches."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

ENDS = "tests/unit/runtime/test_ends.py"
TURN = "tests/unit/agent/test_turn_time.py"
CHILD = "tests/unit/sources/test_child.py"
BATCH = "tests/unit/runtime/test_structured.py"

TIME: Sequence[Mutant] = (
    Mutant(
        "RESI-03", "a later cause overwrites the first", "runtime/execute.py",
        "msgspec.structs.replace(cause, began", "msgspec.structs.replace(cause if context.remaining() else TimedOut(), began",
        (f"{ENDS}::TestTheFirstCauseStays",),
    ),
    Mutant(
        "RESI-03", "what came after the deadline is a success", "ports/context.py",
        "self._ended_at >= self._until", "self._ended_at < 0",
        (f"{ENDS}::TestWhatComesAfterTheDeadline",),
    ),
    Mutant(
        "RESI-03", "a call begins after its deadline", "ports/context.py",
        "if self._until is not None and self._clock.monotonic() >= self._until:", "if False:",
        (f"{ENDS}::TestRoomThatComesTooLate",),
    ),
    Mutant(
        "RESI-03", "a late result is lost", "runtime/execute.py",
        "on_late(end.value, None)", "pass",
        (f"{ENDS}::TestWhatComesAfterTheDeadline",),
    ),
    Mutant(
        "RESI-03", "timers follow the clock on the wall", "ports/context.py",
        "if self._until is None:", "if self.deadline:",
        (f"{ENDS}::TestAClockThatIsSet",),
    ),
    Mutant(
        "RESI-03", "a call outlasts its turn", "runtime/deadline.py",
        "left * 1000 < milliseconds", "left < 0",
        (f"{TURN}::TestARun",),
    ),
    Mutant(
        "RESI-03", "a crash gives the turn more time", "core/fold.py",
        "if state.turn_from and not state.run_open:", "if state.turn_from:",
        (f"{TURN}::TestInTheLog",),
    ),
    Mutant(
        "RESI-03", "a daemon that left its parents lives on", "sources/child_supervisor.py",
        "libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)", "libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)",
        (f"{CHILD}::TestEnds::test_with_daemons_that_left_session_and_parents",),
    ),
    Mutant(
        "RESI-03", "a tool's process outlives its owner", "sources/child_supervisor.py",
        'if not told or b"K" in told:', 'if b"K" in told:',
        (f"{CHILD}::TestEnds::test_with_its_owner",),
    ),
    Mutant(
        "RESI-03", "a process that is deaf is not killed", "sources/child.py",
        'self._tell(b"K")', 'self._tell(b"T")',
        (f"{CHILD}::TestEnds::test_at_its_deadline_whatever_it_does",),
    ),
    Mutant(
        "RESI-03", "a tool's process imports whatever lies there", "sources/child.py",
        'if hasattr(one, "elsewhere")]', 'if hasattr(one, "nowhere")]',
        (f"{CHILD}::TestDeclaration::test_it_imports_what_was_accepted_and_nothing_else",),
    ),
    Mutant(
        "PARA-05", "a call begins although it was cancelled", "runtime/dispatch.py",
        "    if not stop.done():\n        await take_effect", "    if drive:\n        await take_effect",
        ("tests/unit/runtime/test_hard_cases.py::test_a_stop_in_the_very_moment_of_t1_begins_nothing",),
    ),
    Mutant(
        "PARA-05", "a cancelled batch does not wait for what is in the world", "runtime/drive.py",
        "            cancelled = error\n", "            raise\n",
        (BATCH,),
    ),
    Mutant(
        "PARA-05", "a tool's own cancellation after a stop leaves no record", "runtime/execute.py",
        "        if context.cancelled:\n            return None", "        if context.cancelled:\n            raise",
        (f"{ENDS}::TestWhatATooLRaises",),
    ),
)  # fmt: skip
