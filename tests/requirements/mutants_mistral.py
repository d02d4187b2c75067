"""Breaks of the Mistral adapter."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

REQUEST = "tests/unit/providers/test_mistral_request.py"
REPLY = "tests/unit/providers/test_mistral_reply.py"

MISTRAL: Sequence[Mutant] = (
    Mutant(
        "CALL-03", "another provider's id is sent to Mistral", "providers/mistral_request.py",
        'pattern=r"[a-zA-Z0-9]{9}"', 'pattern=r"[!-~]{1,40}"',
        (REQUEST,),
    ),
    Mutant(
        "CALL-03", "the word null is taken for an id", "providers/mistral_reply.py",
        'not in {"", NO_ID}', 'not in {""}',
        (REPLY,),
    ),
    Mutant(
        "WIRE-01", "a user speaks right after a result", "providers/mistral_request.py",
        'if wire and wire[-1]["role"] == "tool":', "if False:",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-01", "the model itself speaks last", "providers/mistral_request.py",
        "return closed(wire)", "return wire",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-03", "a model is told an effort that it does not know", "providers/mistral_request.py",
        'return "high" if effort in {"low", "medium"} and _ON_OR_OFF.match(model) else _EFFORTS[effort]',
        "return _EFFORTS[effort]",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-04", "whole calls without ids are joined", "providers/mistral_reply.py",
        'if not (whole and as_text(function.get("name"))):', "if True:",
        (REPLY,),
    ),
    Mutant(
        "WIRE-04", "what only begins like a whole call is one", "providers/mistral_reply.py",
        'if not (whole and as_text(function.get("name"))):', "if not whole:",
        (REPLY,),
    ),
    Mutant(
        "WIRE-04", "an end that comes twice adds its calls to themselves", "providers/mistral_reply.py",
        "return choice == before", "return False",
        (REPLY,),
    ),
    Mutant(
        "WIRE-04", "a broken stream keeps what it began to think", "providers/mistral_reply.py",
        'kept=chunks.kept() if reply.finish in {"calls", "stop"} else ()', "kept=chunks.kept()",
        (REPLY,),
    ),
    Mutant(
        "WIRE-05", "what a model thought is forgotten", "providers/mistral_request.py",
        "        if chunks:\n            return chunks\n", "",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-05", "what one model thought is sent to another", "providers/mistral_request.py",
        "if turn.kept is not None and turn.kept.model == settings.sender:", "if turn.kept is not None:",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-05", "a thought that was closed goes on", "providers/mistral_reply.py",
        'return kind == "thinking" and before.get("closed") is not True', 'return kind == "thinking"',
        (REPLY,),
    ),
)  # fmt: skip
