"""Breaks of what a run may use, and of what it may repeat."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

USED = "tests/unit/agent/test_budgets.py"
GUARD = "tests/unit/agent/test_loop_guard.py"
COUNTED = "tests/unit/core/test_counting.py"
RECOUNT = "tests/property/test_counting.py"

BUDGETS: Sequence[Mutant] = (
    Mutant(
        "RESI-06", "a resume forgets what the turn has used", "core/counting.py",
        "    if counts.limit:\n        _grant(counts)", "    counts.turn = Spent()\n    if counts.limit:\n        _grant(counts)",
        (RECOUNT, USED),
    ),
    Mutant(
        "RESI-06", "a resume grants nothing", "core/counting.py",
        "    if counts.limit:\n        _grant(counts)\n    elif", '    if counts.limit:\n        counts.limit = ""\n    elif',
        (COUNTED, RECOUNT),
    ),
    Mutant(
        "RESI-06", "a resume grants a session more", "core/counting.py",
        'elif scope == "turn" and what == "tokens":\n        counts.turn.input_tokens',
        'elif what == "tokens":\n        counts.session.input_tokens = counts.session.output_tokens = 0\n        counts.turn.input_tokens',
        (COUNTED, USED),
    ),
    Mutant(
        "RESI-06", "a turn begins with what the one before has used", "core/counting.py",
        "        counts.of_turn = event.turn\n        counts.turn = Spent()", "        counts.of_turn = event.turn",
        (RECOUNT, USED),
    ),
    Mutant(
        "RESI-06", "a rehearsal counts", "core/fold.py",
        "record=one.record), counted=False)", "record=one.record))",
        (COUNTED,),
    ),
    Mutant(
        "RESI-06", "siblings all pass while none has begun", "core/budget.py",
        "    later = len(proposed) - position - 1", "    later = len(proposed)",
        (USED, RECOUNT),
    ),
    Mutant(
        "RESI-06", "an unknown cost is nothing", "core/budget.py",
        "(self.used >= self.of or self.unknown > 0)", "self.used >= self.of",
        (USED,),
    ),
    Mutant(
        "RESI-06", "a model that goes on calling is asked for ever", "core/budget.py",
        "use.used > use.of and counts.told >= _TOLD_ENOUGH and not new_turn", "False",
        (USED,),
    ),
    Mutant(
        "RESI-06", "a model is stopped before it could answer", "core/budget.py",
        "_TOLD_ENOUGH = 2", "_TOLD_ENOUGH = 1",
        (USED,),
    ),
    Mutant(
        "RESI-06", "siblings ask people more than may be asked", "runtime/budgeting.py",
        "if wait.kind is WaitKind.APPROVAL} | drive.asking", "if wait.kind is WaitKind.APPROVAL}",
        (USED,),
    ),
    Mutant(
        "RESI-06", "what the requester uses elsewhere is not seen", "agent/spending.py",
        "[budget.on_day(counts, now), *others]", "[budget.on_day(counts, now)]",
        (USED,),
    ),
    Mutant(
        "RESI-06", "everybody pays for everybody", "agent/spending.py",
        "        if known[1] == requester:\n", "        if True:\n",
        (USED,),
    ),
    Mutant(
        "RESI-06", "a budget of the session is the turn's", "core/budget.py",
        '*_of("session", counts.session, session),', '*_of("session", counts.turn, session),',
        (USED,),
    ),
    Mutant(
        "RESI-06", "a clock grants anew what was used up", "agent/loop.py",
        "clocks = asking.clocks(drive) if limit else ()", "clocks = ()",
        (f"{USED}::test_no_clock_grants_anew",),
    ),
    Mutant(
        "RESI-06", "nobody hears of it", "notify/from_log.py",
        'event.status == "failed" or bool(event.limit)', 'event.status == "failed"',
        (USED,),
    ),
    Mutant(
        "ARGS-05", "nothing is ever a repetition", "core/repeat.py",
        "count=before.count + (before.step != now.step))", "count=1)",
        (GUARD, COUNTED),
    ),
    Mutant(
        "ARGS-05", "what stands twice in one reply counts twice", "core/repeat.py",
        "count=before.count + (before.step != now.step))", "count=before.count + 1)",
        (GUARD, COUNTED, RECOUNT),
    ),
    Mutant(
        "ARGS-05", "another fault counts with the first", "core/repeat.py",
        "if before is None or before.same != now.same:", "if before is None:",
        (COUNTED,),
    ),
    Mutant(
        "ARGS-05", "the run never ends", "core/repeat.py",
        "if one.count >= most + MORE", "if one.count < 0",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "what is right by now is refused all the same", "gate/loop.py",
        "if repeated is None or repeated.found_by_gate:", "if repeated is None:",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "only what gets to the guard is guarded", "gate/pipeline.py",
        "return loop.once_more(case.tool, passed, case.repeated) if isinstance(passed, Refusal) else passed", "return passed",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "what was changed in the world does not count", "core/counting.py",
        "            _world_changed(counts)\n", "            pass\n",
        (GUARD, COUNTED),
    ),
    Mutant(
        "ARGS-05", "calls that were made are told apart by their spelling", "core/repeat.py",
        "if said is None or call.edits or", "if True or",
        (GUARD, COUNTED),
    ),
    Mutant(
        "ARGS-05", "a person is asked again for other words", "core/repeat.py",
        "call.asked if response.error_code in _OF_PEOPLE else None", "None",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "what a person put there is the model's", "core/repeat.py",
        "if said is None or call.edits or", "if said is None or",
        (GUARD, COUNTED),
    ),
    Mutant(
        "ARGS-05", "final arguments are not looked up", "gate/pipeline.py",
        "None if case.made is None else", "None if True else",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "insisting in other words is not counted", "core/counting.py",
        "if before.call_id == same_as:", "if False:",
        (GUARD, COUNTED),
    ),
    Mutant(
        "ARGS-05", "spelling tells equal proposals apart", "core/repeat.py",
        "return canon.canonical(canon.parse(value.encode()))", "return value",
        (COUNTED,),
    ),
    Mutant(
        "ARGS-05", "a dispatcher's failures are never forgotten", "core/counting.py",
        "record.at - one.at > repeat.WINDOW_MS", "False",
        (COUNTED,),
    ),
    Mutant(
        "ARGS-05", "a read that gives nothing new is made for ever", "runtime/budgeting.py",
        "((counts.failures, limits.same_failures), (counts.results, limits.same_results))",
        "((counts.failures, limits.same_failures),)",
        (GUARD,),
    ),
    Mutant(
        "ARGS-05", "faults of all fields are one", "core/advice.py",
        "Fault(tool=tool, field=error.field, rule=error.rule)", 'Fault(tool=tool, field="", rule=error.rule)',
        ("tests/unit/core/test_advice.py",),
    ),
)  # fmt: skip
