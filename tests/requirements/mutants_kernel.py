"""Breaks of the kernel: calls, log, recovery, tools."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

DISPATCH = "tests/unit/runtime/test_dispatch.py"
LOOP = "tests/unit/agent/test_loop.py"
FOLD = "tests/unit/core/test_fold.py"
CRASH = "tests/unit/core/test_crash.py"
PROJECT = "tests/unit/sessions/test_project.py"
ACQUIRE = "tests/unit/sessions/test_acquire.py"
PIPELINE = "tests/unit/gate/test_pipeline.py"
STATE = "tests/unit/ledgers/test_state_folder.py"
TOOL = "tests/unit/sources/test_tool.py"
KEYS = "tests/unit/worker/test_keys.py"

KERNEL: Sequence[Mutant] = (
    Mutant(
        "CALL-01", "what needs approval runs without it", "gate/approval.py",
        'if verdict.decision == "allow" and wrong is None:', "if wrong is None:",
        ("tests/unit/runtime/test_approvals.py::TestItRests",),
    ),
    Mutant(
        "CALL-01", "a refused call is dispatched all the same", "gate/access.py",
        'if verdict.decision in {"allow", "ask"}:', "if verdict.reason is not None:",
        (f"{DISPATCH}::TestOnlyThroughTheGates",),
    ),
    Mutant(
        "CALL-02", "required calls are asked for before the tool's own rules", "gate/pipeline.py",
        "business.check_rules(entry, canon.parse(arguments.text))\n        or business.check_required(entry, case.succeeded)",
        "business.check_required(entry, case.succeeded)\n        or business.check_rules(entry, canon.parse(arguments.text))",
        (f"{PIPELINE}::TestTheOrder",),
    ),
    Mutant(
        "CALL-02", "hidden tools are suggested", "gate/pipeline.py",
        "lookup(case.tool, (tool.name for tool in case.visible))", "lookup(case.tool, catalogue)",
        (f"{PIPELINE}::TestTheOrder",),
    ),
    Mutant(
        "CALL-03", "two calls of a step have one id", "core/ids.py",
        '{session}\\0{step}\\0{position}"', '{session}\\0{step}"',
        ("tests/unit/core/test_ids.py::TestCallIds",),
    ),
    Mutant(
        "CALL-03", "the provider's id is forgotten", "agent/step.py",
        'provider_call_id=canon.scrub(str(proposal.provider_id or ""))', 'provider_call_id=""',
        (f"{LOOP}::TestTurns",),
    ),
    Mutant(
        "CALL-04", "a write that failed is said to have had no effect", "runtime/outcome.py",
        "return Effect(fault.effect) if fault.effect in set(Effect) else Effect.UNKNOWN", "return Effect.NONE",
        (f"{DISPATCH}::TestOutcomes",),
    ),
    Mutant(
        "CALL-05", "a step is shown before all its calls are answered", "core/stepping.py",
        "if len(responses) < len(calls):", "if not responses:",
        (f"{PROJECT}::TestExactlyOneResult",),
    ),
    Mutant(
        "CALL-05", "nobody tells the model that its reply was cut", "sessions/project.py",
        "if item.finish in _CUT:", "if not item.finish:",
        (f"{LOOP}::TestIncompleteReplies", f"{PROJECT}::TestNotices"),
    ),
    Mutant(
        "CALL-06", "results are given back in another order", "agent/batch.py",
        "for call in calls:\n        response = responses.get", "for call in reversed(calls):\n        response = responses.get",
        (f"{DISPATCH}::TestABatch",),
    ),
    Mutant(
        "CALL-07", "an exception's text goes to the model", "runtime/outcome.py",
        "unexpectedly ({type(attempt.error).__name__})", "unexpectedly ({attempt.error})",
        (f"{DISPATCH}::TestWhatTheModelIsTold",),
    ),
    Mutant(
        "CALL-08", "an empty reply is no failure", "agent/loop.py",
        'if finish == "empty":', 'if finish == "nothing":',
        (f"{LOOP}::test_an_empty_reply_fails_the_step_and_can_be_resumed",),
    ),
    Mutant(
        "LEDG-01", "a record is not bound to the one before", "core/event.py",
        "hashlib.sha256(previous + text)", "hashlib.sha256(text)",
        ("tests/unit/core/test_event.py::TestTheChain",),
    ),
    Mutant(
        "LEDG-01", "a log could be another session's", "core/event.py",
        'b"callslip log 1\\n" + session.encode()', 'b"callslip log 1\\n"',
        ("tests/unit/core/test_event.py::TestTheChain",),
    ),
    Mutant(
        "LEDG-02", "the effect begins though T1 failed", "runtime/dispatch.py",
        "    await drive.append(*(repeated or ()), t1, judged=judged)",
        "    try:\n        await drive.append(*(repeated or ()), t1, judged=judged)\n    except LedgerError:\n        pass",
        (f"{DISPATCH}::TestCommitsAndEffects",),
    ),
    Mutant(
        "LEDG-02", "a result is shown though T2 failed", "runtime/effect.py",
        "    except (LedgerUnavailable, CommitUnknown) as error:\n        raise type(error)(",
        "    except (LedgerUnavailable, CommitUnknown):\n        return\n    except ValueError as error:\n        raise type(error)(",
        (f"{DISPATCH}::TestCommitsAndEffects",),
    ),
    Mutant(
        "LEDG-03", "a stale owner may append", "ledgers/rules.py",
        "if head.epoch != epoch or head.owner is None:", "if head.owner is None:",
        (f"{ACQUIRE}::TestOneOwner",),
    ),
    Mutant(
        "LEDG-03", "a live owner loses its session", "sessions/acquire.py",
        "if liveness is Liveness.ALIVE:", "if liveness is None:",
        (f"{ACQUIRE}::TestOneOwner",),
    ),
    Mutant(
        "LEDG-03", "an outsider answers by a state that has passed", "ledgers/rules.py",
        "if head.seq != expected:", "if head.seq < expected:",
        ("tests/unit/worker/test_other_processes.py::test_an_answer_judged_by_what_has_passed_is_not_written",),
    ),
    Mutant(
        "LEDG-04", "the model's own calls are hidden from it", "core/events/function_call.py",
        "hidden: bool = False", "hidden: bool = True",
        ("tests/unit/core/test_event.py::TestCallsAndResponses",),
    ),
    Mutant(
        "LEDG-05", "a blob is named without being stored", "runtime/payloads.py",
        "return Payload(blob=await blobs.put(text), size=len(text))", 'return Payload(blob="sha256:" + canon.digest(text), size=len(text))',
        ("tests/unit/core/test_payload.py",),
    ),
    Mutant(
        "LEDG-05", "large payloads stay in the log", "runtime/payloads.py",
        "if len(text) <= INLINE_LIMIT and (", "if text and (",
        ("tests/unit/core/test_payload.py", "tests/unit/ledgers/test_log_size.py"),
    ),
    Mutant(
        "LEDG-06", "a hole in the log is not seen", "core/fold.py",
        "if stored.seq != state.seq + 1:", "if stored.seq <= state.seq:",
        (f"{FOLD}::TestImpossibleOrders",),
    ),
    Mutant(
        "LEDG-06", "an event of a newer version is read all the same", "core/event.py",
        "if record.v > PROTOCOL:", "if record.v < 0:",
        ("tests/unit/core/test_event.py::TestUnreadableRecords",),
    ),
    Mutant(
        "LEDG-06", "a second response is taken", "core/attempts.py",
        "if call.response is not None:\n        raise", "if call.response is None and call.resolved_seq == -1:\n        raise",
        (f"{CRASH}::TestFailClosed",),
    ),
    Mutant(
        "LEDG-07", "the model is shown results as they arrived", "core/stepping.py",
        "responses=tuple(responses),", "responses=tuple(reversed(responses)),",
        ("tests/unit/ledgers/test_views.py", f"{PROJECT}::TestOrder"),
    ),
    Mutant(
        "RECO-01", "nobody waits for the old attempt's end", "core/crash.py",
        "if until is None or now < until:", "if until is not None and now < 0:",
        (CRASH,),
    ),
    Mutant(
        "RECO-01", "what nobody declared safe is repeated", "core/crash.py",
        '            )\n        return Park(code="unknown_outcome", reason=_unclear(call))', "            )\n        return Again()",
        (CRASH,),
    ),
    Mutant(
        "RECO-01", "evidence of neither kind is taken for success", "core/crash.py",
        "if now_digest == call.dispatch.evidence.after:", "if now_digest != call.dispatch.evidence.before:",
        (CRASH,),
    ),
    Mutant(
        "RECO-02", "verdicts are mistaken for each other", "runtime/recover.py",
        'if resolved.verdict == "happened":', 'if resolved.verdict != "happened":',
        (f"{LOOP}::TestParkedCalls",),
    ),
    Mutant(
        "RECO-02", "a parked call leaves no wait behind", "runtime/recover.py",
        "call.call.call_id), parked, wait)", "call.call.call_id), parked)",
        (f"{LOOP}::TestParkedCalls",),
    ),
    Mutant(
        "RECO-03", "the user's words are shown again", "core/stepping.py",
        "state.queued = [message for message in state.queued if message.seq not in event.consumed]",
        "state.queued = list(state.queued)",
        (f"{LOOP}::TestResume",),
    ),
    Mutant(
        "RECO-03", "a run does not name what it was built on", "sessions/acquire.py",
        "anchor_digest=state.digest.hex()", 'anchor_digest=""',
        (f"{ACQUIRE}::TestThePrefix",),
    ),
    Mutant(
        "RECO-03", "a call that has its response runs again", "core/crash.py",
        "if call.response is not None:\n        return Reuse()", "if call.response is not None:\n        return Again()",
        (f"{CRASH}::test_a_response_is_reused",),
    ),
    Mutant(
        "RECO-04", "any workspace will do", "agent/loop.py",
        "if same or (accepted is not None and", "if same or (accepted is None or",
        (f"{LOOP}::TestBeforeTheModelIsAsked",),
    ),
    Mutant(
        "RECO-04", "a call whose tool has gone fails the run", "gate/visibility.py",
        "entry = catalogue.get(name)", "entry = catalogue[name]",
        (f"{LOOP}::TestBeforeTheModelIsAsked",),
    ),
    Mutant(
        "RECO-05", "a dispatch is forgotten when its owner dies", "core/fold.py",
        "call.ended_seen_at = record.at", "call.dispatch = None",
        ("tests/unit/cli/test_processes.py::test_after_kill_9_nothing_is_repeated_and_a_person_decides",),
    ),
    Mutant(
        "RECO-05", "what a killed process did is done again", "core/crash.py",
        "if dispatch.risk is Risk.READ:\n            late", "if dispatch.risk is not Risk.READ:\n            return Again()\n        if dispatch.risk is Risk.READ:\n            late",
        ("tests/unit/cli/test_processes.py::test_after_kill_9_nothing_is_repeated_and_a_person_decides",),
    ),
    Mutant(
        "RECO-06", "the key does not tell arguments apart", "core/ids.py",
        '{session}\\0{call}\\0{arguments_digest}"', '{session}\\0{call}"',
        ("tests/unit/core/test_ids.py::TestIdempotencyKeys",),
    ),
    Mutant(
        "RECO-06", "each attempt has a key of its own", "runtime/effect.py",
        "idempotency_key=t1.idempotency_key,", "idempotency_key=t1.nonce,",
        (f"{DISPATCH}::TestIdempotencyKeys",),
    ),
    Mutant(
        "RECO-06", "the key is made anew instead of copied", "runtime/dispatch.py",
        "if earlier is not None and earlier.arguments_digest == digest and", "if earlier is not None and not digest and",
        (KEYS,),
    ),
    Mutant(
        "SPEC-01", "undeclared means harmless", "core/tool.py",
        "risk: Risk = Risk.DANGEROUS", "risk: Risk = Risk.READ",
        ("tests/unit/core/test_tool.py::TestDeclaration",),
    ),
    Mutant(
        "SPEC-02", "the docstring is not read", "sources/functions.py",
        '_first(declared.pop("description", None), derived.description)', 'declared.pop("description", "")',
        (f"{TOOL}::TestDerived",),
    ),
    Mutant(
        "SPEC-03", "the handshake is always well", "gate/catalogue.py",
        "same = entry.executor.version == spec.version and entry.view.input_schema == spec.input_schema", "same = True",
        ("tests/unit/gate/test_catalogue.py::TestRegistration",),
    ),
    Mutant(
        "SPEC-03", "examples are not tried", "gate/catalogue.py",
        "if entry.arguments.errors(example)), None)", "if entry.arguments is None), None)",
        ("tests/unit/gate/test_catalogue.py::TestRegistration",),
    ),
    Mutant(
        "SPEC-04", "a vague name passes", "schema/lint.py",
        "if not telling:", "if not words:",
        ("tests/unit/schema/test_lint.py",),
    ),
    Mutant(
        "SPEC-04", "any number of tools is fine", "schema/lint.py",
        "if shown > MOST_VISIBLE:", "if shown > 10 * MOST_VISIBLE:",
        ("tests/unit/schema/test_lint.py",),
    ),
    Mutant(
        "SPEC-05", "a dispatch does not name its tool's version", "runtime/dispatch.py",
        "tool_version=passed.entry.executor.version,", 'tool_version="",',
        (f"{TOOL}::test_the_version_stands_in_every_t1",),
    ),
    Mutant(
        "SPEC-05", "another risk is the same version", "core/tool.py",
        '"risk": self.risk.value,', '"risk": "",',
        ("tests/unit/core/test_tool.py::TestVersion",),
    ),
    Mutant(
        "ARGS-03", "arguments are not validated", "gate/arguments.py",
        "errors = entry.arguments.errors(value)", "errors = ()",
        (f"{PIPELINE}::TestArguments",),
    ),
    Mutant(
        "ARGS-04", "a tool's own rules are not heard", "gate/business.py",
        "if complaint is None:", "if complaint is None or complaint:",
        (f"{PIPELINE}::TestBusinessRules",),
    ),
    Mutant(
        "GATE-07", "the model is not told to leave it", "gate/access.py",
        "Nothing was executed. Don't try it again.", "",
        (f"{PIPELINE}::TestPolicy",),
    ),
    Mutant(
        "GATE-09", "the group may read the state", "ledgers/state_folder.py",
        "if mode & ~most:", "if mode & ~most & 0o007:",
        (f"{STATE}::TestModes",),
    ),
    Mutant(
        "GATE-09", "a link leads the state into what tools may write", "ledgers/state_folder.py",
        "real = Path(os.path.realpath(folder))", "real = folder",
        (f"{STATE}::TestPlace",),
    ),
    Mutant(
        "GATE-09", "a file that is gone once it is listed stops the start", "ledgers/state_folder.py",
        "with contextlib.suppress(FileNotFoundError):", "with contextlib.nullcontext():",
        (f"{STATE}::TestModes",),
    ),
    Mutant(
        "RSLT-02", "a departure from the schema is not noted", "runtime/outcome.py",
        "notes += _mismatch(output, plain.value)", "notes += []",
        (f"{DISPATCH}::TestResults",),
    ),
    Mutant(
        "RSLT-03", "a long result loses its tail", "runtime/outcome.py",
        "return head + note + tail", "return head + note",
        (f"{DISPATCH}::TestResults",),
    ),
    Mutant(
        "RSLT-05", "held secrets stay", "runtime/redact.py",
        "data = self._held.sub(lambda _: _MARK.encode(), data)", "data = bytes(data)",
        ("tests/unit/sources/test_secrets.py",),
    ),
    Mutant(
        "RSLT-06", "pieces are not shown", "sources/functions.py",
        "context.partial(piece if isinstance(piece, str) else repr(piece))", "str(piece)",
        ("tests/unit/sources/test_streams.py::test_pieces_that_are_no_text_become_a_list",),
    ),
    Mutant(
        "PARA-06", "required calls are not required", "gate/business.py",
        "if name not in succeeded]", "if name == succeeded]",
        (f"{PIPELINE}::TestRequiredCalls",),
    ),
    Mutant(
        "RESI-02", "anything may be repeated", "core/attempts.py",
        'call.dispatch.recovery == "idempotent"', "call.dispatch.recovery is not None",
        (f"{CRASH}::TestFailClosed",),
    ),
    Mutant(
        "STAT-06", "the first segment of a conversation is lost", "sessions/checkpoint.py",
        "for address in state.segments:", "for address in state.segments[1:]:",
        ("tests/unit/sessions/test_checkpoint.py",),
    ),
    Mutant(
        "ORCH-04", "a steer closes nothing", "runtime/judge.py",
        "return call.withdrawn or drive.state.stop or (steered and", "return call.withdrawn or drive.state.stop or (False and",
        (f"{LOOP}::TestFromOutside",),
    ),
    Mutant(
        "ORCH-04", "a worker that ends lets new calls begin", "runtime/drive.py",
        "self.paused = True", "self.paused = False",
        ("tests/unit/worker/test_worker.py::TestHowItWorks",),
    ),
)  # fmt: skip
