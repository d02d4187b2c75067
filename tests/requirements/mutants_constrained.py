"""Deliberate breaks of calls that a model writes as JSON, for want of calls of its own."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

ENVELOPE = "tests/unit/providers/test_constrained_envelope.py"
ANSWER = "tests/unit/providers/test_constrained_answer.py"
REPLY = "tests/unit/providers/test_constrained_reply.py"
REQUEST = "tests/unit/providers/test_constrained_request.py"
WIRE = "tests/wire/test_constrained.py"

CONSTRAINED_CALLS: Sequence[Mutant] = (
    Mutant(
        "WIRE-04", "an envelope inside other words is a call", "providers/constrained_envelope.py",
        "fenced = _FENCED.fullmatch(body)", "fenced = _FENCED.search(body)",
        (ENVELOPE,),
    ),
    Mutant(
        "WIRE-04", "of two values under one key the last counts", "providers/constrained_envelope.py",
        "if len(made) != len(pairs):", "if False:",
        (ENVELOPE,),
    ),
    Mutant(
        "WIRE-04", "what a model thinks is read as what it says", "providers/constrained_envelope.py",
        'rf"\\s*{THOUGHT_BEGINS}.*?{THOUGHT_ENDS}"', 'rf"\\s*{THOUGHT_BEGINS}.*?(?={{)"',
        (ENVELOPE,),
    ),
    Mutant(
        "WIRE-04", "a whole envelope in a reply that was cut is a call", "providers/constrained_reply.py",
        'if bare.finish != "stop":', 'if bare.finish != "stop" and not read(reply.text):',
        (REPLY,),
    ),
    Mutant(
        "WIRE-04", "an envelope that can't be read ends the turn as an answer", "providers/constrained_reply.py",
        "if envelope is None and begins(reply.text):", "if False:",
        (REPLY,),
    ),
    Mutant(
        "CALL-01", "calls in the server's own form count beside the envelope", "providers/constrained_reply.py",
        "bare = msgspec.structs.replace(reply, proposals=(), kept=())", "bare = reply",
        (REPLY,),
    ),
    Mutant(
        "WIRE-03", "an envelope is read though no call was asked for", "providers/constrained_reply.py",
        "    if not enveloped:\n        return bare\n", "",
        (REPLY,),
    ),
    Mutant(
        "WIRE-03", "there is no way to decline", "providers/constrained_envelope.py",
        "        branches += [", "        branches = branches or [",
        (ENVELOPE,),
    ),
    Mutant(
        "WIRE-03", "a demanded call may be left out", "providers/constrained_request.py",
        'must_call = request.tool_choice == "required"', "must_call = False",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-03", "the envelope's own levels are not counted for strict", "providers/constrained_request.py",
        " and not any(reasons(constraint, CONSTRAINED))", "",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-02", "one side may speak twice in a row", "providers/constrained_request.py",
        'if wire and wire[-1]["role"] == role:', "if False:",
        (REQUEST, WIRE),
    ),
    Mutant(
        "WIRE-02", "a result stands as it is, and may look like several", "providers/constrained_request.py",
        "return json.dumps(made, ensure_ascii=False)", "return str(one.content)",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-04", "a person is shown the JSON of calls", "providers/constrained_answer.py",
        "if MEANT.match(self._held):", "if False:",
        (ANSWER,),
    ),
)  # fmt: skip
