"""Breaks of what all providers share: the neutral history, attachments, faults, the choice of a model."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

CASES = "tests/wire/test_history_cases.py"
FAULTS = "tests/unit/providers/test_faults.py"
CHOICE = "tests/unit/providers/test_choice.py"
GIVEN_BACK = "tests/unit/agent/test_given_back.py"
ATTACHMENTS = "tests/unit/sessions/test_attachments.py"

WIRE: Sequence[Mutant] = (
    Mutant(
        "WIRE-01",
        "what one provider keeps is sent to another",
        "providers/openai_responses_items.py",
        "turn.kept is not None and turn.kept.model == self._side.sender",
        "turn.kept is not None",
        (CASES,),
    ),
    Mutant(
        "WIRE-01",
        "an id that stands already stands again",
        "providers/call_ids.py",
        "if rule.allows(own) and own not in taken else",
        "if rule.allows(own) else",
        (CASES,),
    ),
    Mutant(
        "WIRE-02",
        "images of an error stand in it, where Anthropic takes text alone",
        "agent/given_back.py",
        "        if one.is_error:  # which",
        "        if False:  # which",
        (GIVEN_BACK,),
    ),
    Mutant(
        "WIRE-06",
        "an error in the body that stays may be asked again",
        "providers/faults.py",
        "retryable=not permanent",
        "retryable=True",
        (FAULTS,),
    ),
    Mutant(
        "WIRE-06",
        "the date of Retry-After is held against nothing",
        "core/retry_after.py",
        "max(0.0, (until - since).total_seconds())",
        "0.0",
        (FAULTS,),
    ),
    Mutant(
        "RSLT-04",
        "the oldest attachments are kept",
        "sessions/attachments.py",
        "for message in reversed(messages):",
        "for message in messages:",
        (ATTACHMENTS,),
    ),
    Mutant(
        "RSLT-04",
        "an image is whatever it was declared as",
        "sessions/attachments.py",
        "media_type = media_type_of(data)",
        "media_type = reference.media_type",
        (ATTACHMENTS,),
    ),
    Mutant(
        "RSLT-04",
        "a tool's name for an image is told as it is",
        "sessions/attachments.py",
        "visible(name[:_LONGEST_NAME]).translate(_BRACKETS)",
        "name",
        (ATTACHMENTS,),
    ),
    Mutant(
        "ORCH-06",
        "a step that went wrong is asked of the same model",
        "providers/choice.py",
        "wanted = min(_trouble(request.messages), max(one.level for one in roomy))",
        "wanted = 0",
        (CHOICE,),
    ),
    Mutant(
        "ORCH-06",
        "the dearest model is taken",
        "providers/choice.py",
        "return min(fit, key=",
        "return max(fit, key=",
        (CHOICE,),
    ),
    Mutant(
        "ORCH-06",
        "the log names the chooser",
        "agent/step.py",
        "    model = chosen(model, request)\n    step = ",
        "    step = ",
        (CHOICE,),
    ),
)
