"""Breaks of what leaves failing tools alone, and of what answers instead."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

RULES = "tests/unit/core/test_breaker.py"
SUITE = "tests/conformance/test_breakers.py"
SHARED = "tests/unit/breakers/test_shared.py"
BREAKING = "tests/unit/runtime/test_breaking.py"
FALLBACK = "tests/unit/runtime/test_fallback.py"
FOLD = "tests/unit/core/test_fold_instead.py"

BREAKERS: Sequence[Mutant] = (
    Mutant(
        "RESI-04", "everybody tries an open breaker at once", "breakers/memory.py",
        "state = self._states[key] = breaker.trying(state, now, seconds)", "state = breaker.trying(state, now, seconds)",
        (f"{SUITE}::TestMemoryBreakers", f"{BREAKING}::test_of_a_hundred_callers_one_tries_it"),
    ),
    Mutant(
        "RESI-04", "each process tries an open breaker", "breakers/shared.py",
        "rows[key] = Row(state, self._owners.me())", "pass",
        (f"{SHARED}::test_of_a_hundred_callers_in_five_processes_exactly_one_tries_it",),
    ),
    Mutant(
        "RESI-04", "one that was killed while it tried keeps everybody out", "breakers/shared.py",
        "if self._owners.liveness(row.by) in _ALIVE:", "if _ALIVE:",
        (f"{SHARED}::test_one_that_is_killed_while_it_tries_leaves_the_place_to_others",),
    ),
    Mutant(
        "RESI-04", "that it was killed is forgotten before the call that saw it is made", "breakers/shared.py",
        "        self._gone[key] = row.by.id\n", "",
        (f"{SHARED}::test_one_that_is_killed_while_it_tries_leaves_the_place_to_others",),
    ),
    Mutant(
        "RESI-04", "whoever tries next is taken for the one that was killed", "breakers/shared.py",
        "if self._gone.get(key) == row.by.id:", "if key in self._gone:",
        (f"{SHARED}::test_the_next_one_to_try_it_is_not_taken_for_the_one_that_was_killed",),
    ),
    Mutant(
        "RESI-04", "a tool whose process dies is one that works", "runtime/breaking.py",
        "if error.transient or error.tool_code in _DIED:", "if error.transient:",
        (
            f"{BREAKING}::test_what_an_end_tells",
            "tests/unit/sources/test_child.py::TestFailures::test_one_whose_process_dies_is_left_alone_as_one_that_fails",
        ),
    ),
    Mutant(
        "RESI-05", "what has failed is announced as an answer", "sessions/project.py",
        'return "unknown" if response.effect is Effect.UNKNOWN else "badly"', 'return "well"',
        (f"{FALLBACK}::TestAnotherTool::test_one_that_fails_too_says_for_whom_and_nothing_stands_in_for_it",),
    ),
    Mutant(
        "RESI-05", "what was found out afterwards of what stood in does not say so", "runtime/recover.py",
        "        response = fallback.told(response, call.dispatch)\n", "        pass\n",
        (f"{FALLBACK}::TestAnotherTool::test_so_it_is_said_where_a_person_has_found_out",),
    ),
    Mutant(
        "RESI-05", "whoever approves is not told that it stands in", "answering/question.py",
        "        instead=event.instead,\n", "",
        (
            f"{FALLBACK}::TestAnotherTool::test_it_needs_an_approval_of_its_own",
            "tests/unit/cli/test_standing_in.py",
        ),
    ),
    Mutant(
        "RESI-04", "half is already too much", "core/breaker.py",
        "bad > rules.rate * total", "bad >= rules.rate * total",
        (f"{RULES}::test_the_defaults_are_over_half_of_ten_in_five_minutes_and_three_timeouts",),
    ),
    Mutant(
        "RESI-04", "timeouts in a row are nothing by themselves", "core/breaker.py",
        "if heard is Heard.TIMEOUT and state.timeouts >= rules.timeouts:", "if not rules.timeouts:",
        (f"{RULES}::test_the_defaults_are_over_half_of_ten_in_five_minutes_and_three_timeouts",),
    ),
    Mutant(
        "RESI-04", "a cancelled one counts as failed", "runtime/breaking.py",
        "        case Stopped():\n            return Heard.NOTHING", "        case Stopped():\n            return Heard.FAILURE",
        (f"{BREAKING}::test_a_cancelled_one_leaves_the_place_to_the_next", f"{BREAKING}::test_what_an_end_tells"),
    ),
    Mutant(
        "RESI-04", "what is asked wrongly counts against the tool", "runtime/breaking.py",
        'return Heard.ANSWER if fault.said.startswith("status ") else Heard.NOTHING', "return Heard.FAILURE",
        (f"{BREAKING}::test_what_is_asked_wrongly_is_no_failure_of_the_tool",),
    ),
    Mutant(
        "RESI-04", "the log does not say that a breaker opened", "runtime/effect.py",
        "before: list[Event] = [] if opened is None else [opened]", "before: list[Event] = []",
        (f"{BREAKING}::test_the_log_says_who_saw_it_open_and_until_when",),
    ),
    Mutant(
        "RESI-05", "something stands in where something may have happened", "runtime/fallback.py",
        "or response.effect is not Effect.NONE or", "or",
        (f"{FALLBACK}::TestAnotherTool::test_never_where_something_may_have_happened",),
    ),
    Mutant(
        "RESI-05", "something stands in for what the tool says of the call", "runtime/fallback.py",
        " or heard not in _TROUBLE:", ":",
        (f"{FALLBACK}::TestAnotherTool::test_never_for_what_the_tool_says_of_the_call",),
    ),
    Mutant(
        "RESI-05", "the model is not told", "sessions/project.py",
        "    disclosed = disclosure(response.fallback, ended=_ended(response)) if response.fallback is not None",
        "    disclosed = disclosure(response.fallback, ended=_ended(response)) if response.fallback is response",
        (f"{FALLBACK}::TestAnotherTool::test_it_answers_the_same_call_and_says_so",),
    ),
    Mutant(
        "RESI-05", "an old answer is given however old", "runtime/fallback.py",
        "if age > spec.cached_fallback_ms or TEXT in event.summary:", "if TEXT in event.summary:",
        (f"{FALLBACK}::TestAnEarlierAnswer::test_not_to_other_arguments_nor_when_it_is_too_old",),
    ),
    Mutant(
        "RESI-05", "one requester is told what another one was", "runtime/fallback.py",
        '"requester": drive.state.requester,', '"requester": "",',
        (f"{FALLBACK}::TestAnEarlierAnswer::test_another_requester_is_not_told_what_one_was",),
    ),
    Mutant(
        "RESI-05", "after a crash the failed tool is given up for good", "core/crash.py",
        "    if failed.instead is not None:  # another", "    if failed.instead is failed:  # another",
        (f"{FOLD}::test_once_the_log_says_so_it_is_the_others_turn_and_a_crash_changes_nothing",),
    ),
    Mutant(
        "RESI-07", "nobody hears of an opened breaker", "notify/from_log.py",
        "_TOLD = (ApprovalDecided, ApprovalExpired, BreakerOpened, ", "_TOLD = (ApprovalDecided, ApprovalExpired, ",
        ("tests/unit/notify/test_from_log.py::test_an_opened_breaker_is_told_without_its_target",),
    ),
)  # fmt: skip
