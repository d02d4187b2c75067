"""Breaks of what people decide: approvals, who may give them, what is trusted."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

APPROVALS = "tests/unit/runtime/test_approvals.py"
LOOP = "tests/unit/agent/test_loop_approvals.py"
FOLD = "tests/unit/core/test_fold_approvals.py"
ATTACKED = "tests/unit/runtime/test_approvals_attacked.py"

PEOPLE: Sequence[Mutant] = (
    Mutant(
        "APPR-01", "the question opens no wait", "runtime/ask.py",
        "asked, wait, judged=judged)", "asked, judged=judged)",
        (f"{APPROVALS}::TestItRests",),
    ),
    Mutant(
        "APPR-01", "a call that was asked about is asked about again at every drive", "core/crash.py",
        "if call.pending and (call.marker or call.dispatch is not None):", "if call.pending and call.dispatch is not None:",
        (f"{LOOP}::test_nobody_is_asked_twice_for_a_reason_that_is_none", f"{APPROVALS}::TestItRests"),
    ),
    Mutant(
        "APPR-02", "an answer is not used up by a verdict that nothing happened", "core/attempts.py",
        'if event.verdict == "did_not_happen":  #', 'if event.verdict == "happened":  #',
        (f"{APPROVALS}::TestWhatItBindsTo", FOLD),
    ),
    Mutant(
        "APPR-02", "whatever is said approves", "core/call.py",
        'if one.decision != "approved"), None)', 'if one.decision == ""), None)',
        (f"{APPROVALS}::TestEditDenyGrant", FOLD),
    ),
    Mutant(
        "APPR-02", "any approval will do", "core/asking.py",
        "call.asked.approval_id != event.approval or not call.approved", "not call.approved",
        (FOLD,),
    ),
    Mutant(
        "APPR-02", "other arguments than those shown may be dispatched", "core/asking.py",
        "if edited is None and event.arguments_digest != call.asked.arguments_digest:", "if edited is None and False:",
        (FOLD,),
    ),
    Mutant(
        "APPR-02", "an answer may name another question", "runtime/approvals.py",
        "if (event.call_id, event.approval_id, event.binding) != (", "if False and (event.call_id,) != (",
        (f"{APPROVALS}::TestWhatItBindsTo",),
    ),
    Mutant(
        "APPR-03", "what an approval was given on is not compared", "runtime/dispatch.py",
        "again = changed(drive, call, passed, evidence, asked, version) if asked is not None else ()", "again = ()",
        (f"{APPROVALS}::TestAskedAgainWhenSomethingChanged",),
    ),
    Mutant(
        "APPR-03", "other rules void nothing", "core/approval.py",
        "if set(now.rules) != set(asked.rules):", "if False:",
        (f"{APPROVALS}::TestAskedAgainWhenSomethingChanged",),
    ),
    Mutant(
        "APPR-03", "a changed target voids nothing", "core/approval.py",
        "elif _state(now.evidence) != _state(asked.evidence):", "elif False:",
        (f"{APPROVALS}::TestAskedAgainWhenSomethingChanged",),
    ),
    Mutant(
        "APPR-03", "the order of the rules voids an approval", "core/approval.py",
        '"rules": sorted(set(self.rules)),', '"rules": list(self.rules),',
        (f"{APPROVALS}::TestAskedAgainWhenSomethingChanged",),
    ),
    Mutant(
        "APPR-04", "an edit is forgotten", "runtime/judge.py",
        "call.arguments(decided=wrong is None)", "call.call.arguments",
        (f"{APPROVALS}::TestEditDenyGrant",),
    ),
    Mutant(
        "APPR-04", "an edit is not checked by the schema", "runtime/edits.py",
        "errors = compile_schema(schema).errors(dict(given))", "errors = ()",
        (f"{APPROVALS}::TestEditDenyGrant",),
    ),
    Mutant(
        "APPR-04", "the model is not told of an edit", "core/call.py",
        "return (*before, *(self.edited.changes if self.edited is not None else ()))", "return before",
        (f"{LOOP}::test_the_model_is_told_of_an_edit",),
    ),
    Mutant(
        "APPR-04", "the model is not told why it was denied", "gate/approval.py",
        """reason = f": {denied.reason.rstrip('.')}" if denied.reason else \"\"""", 'reason = ""',
        (f"{APPROVALS}::TestEditDenyGrant",),
    ),
    Mutant(
        "APPR-04", "a grant covers a wider call", "core/grant.py",
        "if any(name not in known for name in arguments):", "if False:",
        (f"{APPROVALS}::TestEditDenyGrant",),
    ),
    Mutant(
        "APPR-04", "a grant covers another executor", "core/grant.py",
        "(grant.tool, grant.tool_version, grant.executor, grant.requester)\n        == (subject.tool, subject.tool_version, subject.executor, subject.requester)",
        "grant.tool == subject.tool",
        (f"{APPROVALS}::TestEditDenyGrant",),
    ),
    Mutant(
        "APPR-05", "the free siblings wait too", "runtime/batch.py",
        "running[call_id] = task = asyncio.ensure_future(advance.advance(drive, call, stop))",
        "running[call_id] = task = asyncio.ensure_future(advance.advance(drive, drive.state.open_calls()[-1], stop))",
        (f"{APPROVALS}::TestEachByItself",),
    ),
    Mutant(
        "APPR-06", "an expired question counts as open", "core/call.py",
        "not (self.approved or self.denied or self.lapsed)", "not (self.approved or self.denied)",
        (f"{APPROVALS}::TestExpiry",),
    ),
    Mutant(
        "APPR-06", "an expiry is told as a denial", "gate/approval.py",
        "status=Status.TIMEOUT,", "status=Status.PERMISSION_DENIED,",
        (f"{APPROVALS}::TestExpiry",),
    ),
    Mutant(
        "APPR-06", "a clock expires what nobody swept", "runtime/approvals.py",
        "            _check_wanted(state, call, row)\n", '            _check_wanted(state, call, row)\n            if row.wake_at is not None and self._parts.clock.now() >= row.wake_at:\n                raise WaitConflict("expired")\n',
        (f"{APPROVALS}::TestExpiry",),
    ),
    Mutant(
        "APPR-07", "one person counts twice", "gate/proof.py",
        "if accounts & their_accounts:", "if False:",
        (f"{APPROVALS}::TestSeveralPeople",),
    ),
    Mutant(
        "APPR-07", "a second account of whoever asks may approve", "gate/proof.py",
        "_accounts(standing, {asker.name}, asker.uid))]", "set())]",
        (f"{APPROVALS}::TestSeveralPeople",),
    ),
    Mutant(
        "APPR-07", "one of two is enough", "core/call.py",
        "len(self.decided) >= self.asked.approvers", "bool(self.decided)",
        (f"{APPROVALS}::TestSeveralPeople",),
    ),
    Mutant(
        "APPR-08", "signatures are not looked at", "gate/proof.py",
        "principal.key != proof.key or not verify(", "principal.key != proof.key or False and verify(",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-08", "any principal may decide", "gate/proof.py",
        "return None if standing.may(proof.principal, *roles) else", "return None if principal.roles else",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-08", "what stands in the log is believed", "runtime/judge.py",
        "wrong = None if trusted is None else approval.fault(call, drive.session, trusted)", "wrong = None",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-08", "a forged verdict is acted upon", "runtime/advance.py",
        "if forged is not None:", "if False:",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-08", "a forged result reaches the model", "runtime/proofs.py",
        "if wrong is not None:\n            raise TrustBroken(", "if False:\n            raise TrustBroken(",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-08", "a trust file that was put back is believed", "runtime/proofs.py",
        "if not standing.follows(state.trust_seq, state.trust_digest):", "if False:",
        (f"{APPROVALS}::TestWhoMayDecide",),
    ),
    Mutant(
        "APPR-03", "another attempt is not judged anew", "runtime/advance.py",
        "    why = await void(drive, call)\n", "    why = None\n",
        (f"{APPROVALS}::TestAskedAgainWhenSomethingChanged",),
    ),
    Mutant(
        "APPR-02", "a question altered on disk is answered", "runtime/approvals.py",
        "if altered(call.asked, row.session, text):", "if False:",
        (f"{ATTACKED}::TestWhatWasShown",),
    ),
    Mutant(
        "APPR-08", "a revocation while the target is looked at is missed", "runtime/dispatch.py",
        "if cleared.permitted.approval and not await still(drive, call, cleared):", "if False:",
        (f"{ATTACKED}::TestWhoDecides",),
    ),
    Mutant(
        "APPR-08", "anybody accepts another workspace", "sessions/acquire.py",
        "        and by_operator(parts, state.session, accepted, accepted.wait_id) is None\n", "",
        (f"{ATTACKED}::TestWhoDecides",),
    ),
    Mutant(
        "APPR-08", "a name is enough to use a grant", "gate/approval.py",
        "if not trusted.standing.advisory and not trusted.asker.shown:", "if False:",
        (f"{ATTACKED}::TestWhoDecides",),
    ),
    Mutant(
        "CALL-09", "an answer is not the user's own words", "runtime/questions.py",
        "from_user=True, notes", "from_user=False, notes",
        ("tests/unit/runtime/test_questions.py::TestOneQuestion",),
    ),
    Mutant(
        "CALL-09", "a question waits for leave to be asked", "gate/access.py",
        'if verdict.decision == "ask" and spec.asks_user:', 'if verdict.decision == "never" and spec.asks_user:',
        ("tests/unit/runtime/test_questions.py::TestPolicy",),
    ),
    Mutant(
        "SPEC-06", "a known job is judged as an unclear dispatch", "core/crash.py",
        "    if call.job is not None:\n        return _job(call, now)\n", "",
        ("tests/unit/core/test_jobs.py::TestTheTable",),
    ),
    Mutant(
        "SPEC-06", "an unsigned end of a job counts", "runtime/proofs.py",
        "if not must_be_given and not call.from_outside:", "if not must_be_given:",
        ("tests/unit/runtime/test_background.py::TestFromOutside",),
    ),
    Mutant(
        "RECO-07", "the first effect is undone first", "runtime/compensate.py",
        "made.sort(key=lambda one: -one.settled)", "made.sort(key=lambda one: one.settled)",
        ("tests/unit/agent/test_revert.py::TestItUndoes",),
    ),
    Mutant(
        "RECO-07", "a revert is anybody's", "runtime/judge.py",
        "unproven = revert_fault(drive) if step is not None and step.model == REVERT else None", "unproven = None",
        ("tests/unit/agent/test_revert.py::TestWho",),
    ),
    Mutant(
        "LEDG-06", "a call of a copy is dispatched because the copy does not know better", "core/sealing.py",
        "    call.marker = False\n", "    call.marker = True\n",
        ("tests/unit/core/test_sealing.py::TestACopy",),
    ),
    Mutant(
        "LEDG-06", "an approval given before the copy was made still counts", "core/sealing.py",
        "    call.asked, call.decided, call.lapsed = None, (), False\n", "",
        ("tests/unit/core/test_sealing.py::TestACopy",),
    ),
    Mutant(
        "LEDG-06", "records of a file are not checked against their chain", "sessions/import_.py",
        "!= row.digest:", '== b"":',
        ("tests/unit/sessions/test_moving.py::TestHostileFiles",),
    ),
    Mutant(
        "LEDG-06", "something is added after the seal", "core/fold.py",
        "if state.sealed is not None and not isinstance(record.event, _AFTER_SEAL):",
        "if state.sealed is None and isinstance(record.event, BlobErased):",
        ("tests/unit/core/test_sealing.py::TestTheSeal",),
    ),
    Mutant(
        "LEDG-08", "what was said stands in the record", "core/private.py",
        "bare = {name: _empty(value) for name, value in parts.items()}", "bare = dict(parts)",
        ("tests/unit/core/test_private.py",),
    ),
    Mutant(
        "LEDG-08", "the key outlives the erasure", "sessions/erase.py",
        "        parts.keyring.destroy(begun.session, begun.keys)\n", "        pass\n",
        ("tests/unit/sessions/test_erase.py::TestAWholeSession",),
    ),
    Mutant(
        "LEDG-08", "an erasure that was broken off is forgotten", "sessions/erase.py",
        "    await _carry_out(parts, begun, await _unwanted(parts, begun))\n", "    parts.erasures.done(begun)\n",
        ("tests/unit/sessions/test_erase.py::TestBrokenOff",),
    ),
)  # fmt: skip
