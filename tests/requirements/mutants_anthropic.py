"""Breaks of what Anthropic's Messages API is sent, and of what its replies become."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

UNIT = "tests/unit/providers"
CONTENT = f"{UNIT}/test_anthropic_content.py"
REQUEST = f"{UNIT}/test_anthropic_request.py"
REPLY = f"{UNIT}/test_anthropic_reply.py"
STREAM = f"{UNIT}/test_anthropic_stream.py"
THINKING = f"{UNIT}/test_anthropic_thinking.py"
WIRE = "tests/wire/test_anthropic.py"

ANTHROPIC: Sequence[Mutant] = (
    Mutant(
        "WIRE-02", "an image is sent inside an error", "providers/anthropic_content.py",
        "            attached = []\n", "",
        (f"{CONTENT}::test_images_of_an_error_stand_behind_all_results",),
    ),
    Mutant(
        "WIRE-02", "what comes beside results is mixed with them", "providers/anthropic_content.py",
        "return [*results, *beside]", "return [*beside, *results]",
        (f"{CONTENT}::test_images_of_an_error_stand_behind_all_results",),
    ),
    Mutant(
        "CALL-03", "an id that the API refuses goes back", "providers/anthropic_content.py",
        'r"[a-zA-Z0-9_-]{1,64}"', 'r".*"',
        (f"{CONTENT}::test_an_id_that_is_not_legal_is_made_anew",),
    ),
    Mutant(
        "WIRE-05", "another model is sent what this one thought", "providers/anthropic_content.py",
        "if turn.kept is None or turn.kept.model != sent.sender:", "if turn.kept is None:",
        (f"{CONTENT}::test_what_another_model_thought_is_not_sent",),
    ),
    Mutant(
        "WIRE-05", "thinking leaves its place", "providers/anthropic_content.py",
        "if marked == list(range(len(calls))) and", "if False and",
        (f"{CONTENT}::test_what_was_thought_goes_back_to_the_letter_and_in_its_place",),
    ),
    Mutant(
        "WIRE-05", "a budget is asked for in a loop without thinking", "providers/anthropic_thinking.py",
        "if forced or not begun or budget >= max_tokens:", "if forced or budget >= max_tokens:",
        (f"{THINKING}::test_a_budget_is_not_asked_for_in_a_loop_that_began_without_thinking",
         f"{REQUEST}::test_a_loop_that_another_model_began_goes_on_without_a_budget"),
    ),
    Mutant(
        "WIRE-05", "thinking without its signature goes back", "providers/anthropic_reply.py",
        'and as_text(block.get("signature", "none")) != ""', "",
        (f"{REPLY}::test_what_would_be_refused_is_not_kept", f"{STREAM}::test_what_becomes_of_a_stream"),
    ),
    Mutant(
        "WIRE-03", "a model that thinks unasked is forced to call", "providers/anthropic_thinking.py",
        "if forced and model.line and model.thinks_unasked:", "if False:",
        (f"{THINKING}::test_a_forced_tool_excludes_thinking",),
    ),
    Mutant(
        "WIRE-03", "a model that can't be forced is", "providers/anthropic_request.py",
        'if request.tool_choice == "required" and settings.claude.takes_forced_choice:',
        'if request.tool_choice == "required":',
        (f"{REQUEST}::test_tool_choice", f"{WIRE}::test_every_option_is_legal_for_every_model"),
    ),
    Mutant(
        "WIRE-04", "a block without its end makes a call", "providers/anthropic_stream.py",
        "doubt = self._doubt or any(block.is_open for block in self._blocks)", "doubt = self._doubt",
        (f"{STREAM}::test_what_becomes_of_a_stream",),
    ),
    Mutant(
        "WIRE-04", "a message without its end makes a call", "providers/anthropic_stream.py",
        "if broken or not self._ended or", "if broken or",
        (f"{STREAM}::test_a_stream_cut_anywhere_before_its_end_is_a_cut",),
    ),
    Mutant(
        "WIRE-04", "a piece that is no text is lost, and the call made without it", "providers/anthropic_stream.py",
        "return self.kind == kind and (piece is None or isinstance(piece, str))", "return self.kind == kind",
        (f"{STREAM}::test_what_becomes_of_a_stream",),
    ),
    Mutant(
        "CALL-05", "a paused reply makes a call", "providers/anthropic_reply.py",
        '_WHOLE = frozenset({"end_turn",', '_WHOLE = frozenset({"pause_turn", "end_turn",',
        (f"{REPLY}::test_only_a_reply_that_came_to_its_end_makes_calls",),
    ),
    Mutant(
        "CALL-05", "a reply that hit its limit makes a call", "providers/anthropic_reply.py",
        '    "max_tokens": "length",\n', '    "max_tokens": "calls",\n',
        (f"{REPLY}::test_only_a_reply_that_came_to_its_end_makes_calls",),
    ),
)  # fmt: skip
