"""Breaks of what is tried again, and when."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

RETRYING = "tests/unit/runtime/test_retrying.py"
ASKING = "tests/unit/agent/test_asking.py"
FAULT = "tests/unit/core/test_fault.py"
CRASH = "tests/unit/core/test_crash.py::TestAfterAFailure"
RULE = "tests/property/test_retry.py"
WRITES = f"{RETRYING}::TestWhatMayHaveHappened"

RETRY: Sequence[Mutant] = (
    Mutant(
        "RESI-01", "the pause is not drawn", "core/retry.py",
        "max(asked or 0.0, 0.0) + draw * longest", "max(asked or 0.0, 0.0) + longest",
        (RULE,),
    ),
    Mutant(
        "RESI-01", "what the server asks for is not waited for", "core/retry.py",
        "seconds = pause(retry, tried, asked, draw)", "seconds = pause(retry, tried, None, draw)",
        (RULE, RETRYING),
    ),
    Mutant(
        "RESI-01", "an absurd time is waited for", "core/retry.py",
        "if asked is not None and not asked <= left:", "if asked is not None and asked != asked:",
        (RETRYING,),
    ),
    Mutant(
        "RESI-01", "it never ends", "core/retry.py",
        "if tried >= retry.attempts:", "if tried >= retry.attempts * 2:",
        (RULE, f"{RETRYING}::test_it_ends_after_so_many_attempts_with_the_failure_itself"),
    ),
    Mutant(
        "RESI-01", "what stays is taken for passing", "core/fault.py",
        "transient = status in _PASSES", "transient = status not in {401, 403}",
        (FAULT,),
    ),
    Mutant(
        "RESI-01", "an earlier request speaks for a later one", "core/fault.py",
        'ahead += [one.__cause__, _get(one, "os_error")', 'ahead += [one.__context__, _get(one, "os_error")',
        (FAULT,),
    ),
    Mutant(
        "RESI-01", "a pause is forgotten by a crash", "core/crash.py",
        "        return WaitUntil(at=failed.retry_at, reason=RETRY)\n    return GateAgain()", "        pass\n    return GateAgain()",
        (CRASH,),
    ),
    Mutant(
        "RESI-01", "a clock that is set back makes pauses longer", "runtime/advance.py",
        "now = max(drive.parts.clock.now(), rested)", "now = drive.parts.clock.now()",
        (f"{RETRYING}::TestWhileItPauses",),
    ),
    Mutant(
        "RESI-01", "a steer is not heard in a pause", "runtime/pausing.py",
        "return nothing and not drive.paused and withdrawn(drive, call)", "return nothing and drive.state.stop",
        (f"{RETRYING}::TestWhileItPauses",),
    ),
    Mutant(
        "RESI-02", "a passing fault is taken for one that did nothing", "runtime/outcome.py",
        "if fault.effect in set(Effect) else Effect.UNKNOWN",
        "if fault.effect in set(Effect) else Effect.NONE if fault.transient else Effect.UNKNOWN",
        (WRITES,),
    ),
    Mutant(
        "RESI-02", "any 5xx proves that nothing happened", "core/fault.py",
        "or (status == 503 and after is not None)", "or status >= 500",
        (WRITES, FAULT),
    ),
    Mutant(
        "RESI-02", "a broken connection proves that nothing happened", "core/fault.py",
        'Fault(transient=True, said="the connection broke", network=True)',
        'Fault(transient=True, said="the connection broke", network=True, nothing_sent=True)',
        (WRITES, FAULT),
    ),
    Mutant(
        "RESI-02", "an exception alone claims that nothing happened", "runtime/failure.py",
        "return faults.classify(error, now=now)", "return faults.one_request(error) or faults.classify(error, now=now)",
        (WRITES,),
    ),
    Mutant(
        "WIRE-06", "a run fails at the first fault", "agent/asking.py",
        "if not isinstance(error, ModelUnavailable) or not error.can_retry:", "if isinstance(error, ModelUnavailable):",
        (ASKING,),
    ),
    Mutant(
        "WIRE-06", "what stays is asked again", "agent/asking.py",
        "or not error.can_retry:", "or error is None:",
        (ASKING,),
    ),
    Mutant(
        "WIRE-06", "requests are not counted from the log", "agent/asking.py",
        "tried = 1 if before is None else before.attempt + 1", "tried = 1",
        (ASKING,),
    ),
    Mutant(
        "WIRE-06", "the model's own time is not waited for", "agent/asking.py",
        "asked=error.retry_after,", "asked=None,",
        (ASKING,),
    ),
)  # fmt: skip
