"""Breaks of reads that are executed twice, and of pauses under a clock that is set back."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

HEDGE_TESTS = "tests/unit/runtime/test_hedge.py"
RULE = "tests/unit/core/test_hedging.py"
SHOWN = "tests/unit/cli/test_hedged_shown.py"
RETRYING = "tests/unit/runtime/test_retrying.py"
ASKING = "tests/unit/agent/test_asking.py"
ANSWERS = f"{HEDGE_TESTS}::TestTheFirstAnswerCounts"
FAILS = f"{HEDGE_TESTS}::TestAFailure"
ENDS = f"{HEDGE_TESTS}::TestWhatEndsItEndsBoth"
THREADS = f"{HEDGE_TESTS}::TestThreads"
AFTER = f"{HEDGE_TESTS}::TestWhatGoesOnAfterTheAnswer"
VERSIONS = "tests/unit/runtime/test_versions.py"
CRASH = "tests/unit/core/test_crash.py"
SHOWN_SAID = "tests/unit/cli/test_output.py"
OFTEN = f"{HEDGE_TESTS}::TestHowOften"

HEDGE: Sequence[Mutant] = (
    Mutant(
        "RESI-01", "the one that lost is not told", "runtime/hedge.py",
        "        self.lost.set_result(None)\n", "",
        (ANSWERS, THREADS),
    ),
    Mutant(
        "RESI-01", "the answer waits for the one that lost", "runtime/hedge.py",
        "                    self._see_out(running)\n",
        "                    self._see_out(running)\n                    await asyncio.wait([one.task for one in self._executions])\n",
        (f"{ENDS}::test_one_that_swallows_its_end_is_left_behind_after_the_grace_time",),
    ),
    Mutant(
        "PARA-05", "a run ends before what its reads left going", "agent/loop.py",
        "    await trail.over(drive)\n    failpoint", "    failpoint",
        (f"{AFTER}::test_a_run_goes_on_meanwhile_and_does_not_end_before_it",),
    ),
    Mutant(
        "PARA-05", "nothing is awaited that goes on after an answer", "runtime/trail.py",
        "    if tasks:\n", "    if not tasks:\n",
        (AFTER,),
    ),
    Mutant(
        "PARA-05", "what goes on after an answer holds nothing", "runtime/claiming.py",
        "if drive.trails:", "if False:",
        (AFTER,),
    ),
    Mutant(
        "PARA-05", "what can't be ended after an answer is forgotten", "runtime/hedge.py",
        "leave_behind(self._drive.parts, [one.context for one in beaten])", "pass",
        (ENDS, THREADS),
    ),
    Mutant(
        "RESI-01", "the one that lost is waited for as after a stop", "runtime/execute.py",
        "over = work.done() or timer.done() or (lost is not None and lost.done())", "over = work.done() or timer.done()",
        (ANSWERS, THREADS),
    ),
    Mutant(
        "RESI-01", "the first end counts, also a failure", "runtime/hedge.py",
        "if isinstance(one.task.result(), Returned):", "if True:",
        (FAILS,),
    ),
    Mutant(
        "RESI-01", "the last failure counts", "runtime/hedge.py",
        "return failed[0].task.result(), failed[0].context", "return failed[-1].task.result(), failed[-1].context",
        (FAILS,),
    ),
    Mutant(
        "RESI-01", "what failed before is hedged", "runtime/hedge.py",
        "if first.task.done() or stop.done() or", "if stop.done() or",
        (ANSWERS, FAILS),
    ),
    Mutant(
        "RESI-01", "a second one begins after a stop", "runtime/hedge.py",
        "stop.done() or first.context.cancelled or not first", "not first",
        (ENDS,),
    ),
    Mutant(
        "RESI-01", "a second one stands in the queue behind the first", "runtime/hedge.py",
        "            if first.context.begun:\n                return True", "            return True",
        (THREADS,),
    ),
    Mutant(
        "RESI-01", "every slow call is hedged", "runtime/hedge.py",
        "drive.parts.hedging[spec.name] = left", "pass",
        (OFTEN,),
    ),
    Mutant(
        "RESI-01", "calls don't pay for it", "core/hedging.py",
        "Allowance(allowance.calls + 1)", "allowance",
        (RULE, OFTEN),
    ),
    Mutant(
        "RESI-01", "what was saved has no end", "core/hedging.py",
        "return allowance if allowance.calls >= CALLS * MOST else Allowance", "return Allowance",
        (RULE,),
    ),
    Mutant(
        "RESI-01", "a tool that keeps failing is hedged", "runtime/hedge.py",
        "if left is None or not breaking.closed(drive, call_id, spec, arguments):", "if left is None:",
        (OFTEN,),
    ),
    Mutant(
        "RESI-01", "the call that tries an open breaker is hedged", "runtime/breaking.py",
        "    if mine is not None and mine.trial:\n        return False\n", "    if mine is not None and mine.trial:\n        return True\n",
        (OFTEN,),
    ),
    Mutant(
        "RESI-01", "a hedge takes the try of an open breaker", "runtime/breaking.py",
        "        breakers.leave(way, Heard.NOTHING)\n    return not way.trial", "        pass\n    return not way.trial",
        (OFTEN,),
    ),
    Mutant(
        "RESI-01", "what one alone may have is used by two", "runtime/hedge.py",
        "or hedging.alone(self._t1.claims) is not None", "",
        (OFTEN,),
    ),
    Mutant(
        "RESI-01", "what writes may be hedged", "core/hedging.py",
        "if spec.risk is not Risk.READ or spec.client_owned", "if spec.client_owned",
        (RULE, f"{HEDGE_TESTS}::TestDeclared"),
    ),
    Mutant(
        "RESI-01", "the two share their arguments", "runtime/hedge.py",
        "again = copy.deepcopy(dict(given))", "again = dict(given)",
        (ANSWERS,),
    ),
    Mutant(
        "RESI-01", "the record does not say who answered", "runtime/effect.py",
        "events[-1] = _with_hedge(events[-1], race.hedged)", "pass",
        (ANSWERS, SHOWN),
    ),
    Mutant(
        "RESI-03", "a late end of the one that lost is lost", "runtime/hedge.py",
        "            one.late.settled()", "            pass",
        (ENDS, THREADS),
    ),
    Mutant(
        "RESI-03", "what of the two still runs is not known", "runtime/hedge.py",
        "return [one.context for one in self._executions if one.task.done()]", "return []",
        (THREADS,),
    ),
    Mutant(
        "RESI-01", "a clock that is set back before a pause makes it longer", "runtime/drive.py",
        "min(left, known[1] - clock.monotonic())", "left",
        (f"{RETRYING}::test_a_clock_that_is_set_back_between_a_failure_and_its_pause_makes_it_no_longer", ASKING),
    ),
    Mutant(
        "RESI-01", "a pause after a probe is not kept by the monotonic clock", "runtime/recover.py",
        "drive.will_pause(call.call.call_id, again, now=now)", "pass",
        (f"{RETRYING}::test_a_clock_that_is_set_back_before_a_probes_pause_makes_it_no_longer",),
    ),
    Mutant(
        "WIRE-06", "a pause of the model is not kept by the monotonic clock", "agent/asking.py",
        'drive.will_pause("", again, now=now)', "pass",
        (f"{ASKING}::test_a_clock_that_is_set_back_between_a_failure_and_its_pause_makes_it_no_longer",),
    ),
    Mutant(
        "RESI-02", "a repeat that says nothing happened speaks for the one before it", "runtime/failure.py",
        "    if dispatch.risk is Risk.READ:\n        return False", "    if dispatch.version is None:\n        return False",
        (f"{VERSIONS}::TestACrash::test_nor_is_one_without_a_version_that_tells_of_itself_only",),
    ),
    Mutant(
        "RECO-01", "a parked repeat says nothing of the attempts before it", "core/attempts.py",
        "call.unclear = (*call.unclear, call.attempts) if repeats else ()", "call.unclear = ()",
        (f"{CRASH}::TestAfterAFailure", f"{SHOWN_SAID}::test_what_a_repeat_said_of_itself_is_not_shown_as_what_became_of_the_call"),
    ),
    Mutant(
        "PARA-02", "an operator reads that nothing was executed of what was repeated", "runtime/outcome.py",
        "if unclear and isinstance(attempt.error, Conflict):", "if False:",
        (f"{VERSIONS}::TestACrash", f"{SHOWN_SAID}::test_what_a_repeat_said_of_itself_is_not_shown_as_what_became_of_the_call"),
    ),
)  # fmt: skip
