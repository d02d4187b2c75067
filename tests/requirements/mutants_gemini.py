"""Breaks of what is sent to Gemini and of how its replies are read."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

UNIT = "tests/unit/providers"
REQUEST, REPLY = f"{UNIT}/test_gemini_request.py", f"{UNIT}/test_gemini_reply.py"
PARTS, STREAM = f"{UNIT}/test_gemini_parts.py", f"{UNIT}/test_gemini_stream.py"

GEMINI: Sequence[Mutant] = (
    Mutant(
        "WIRE-01", "Gemini is asked with the model's turn last", "providers/gemini_request.py",
        "if not contents.ends_with_user:", "if not contents.made:",
        (f"{REQUEST}::test_the_user_begins_and_ends", f"{REQUEST}::test_any_history_is_legal"),
    ),
    Mutant(
        "WIRE-02", "Gemini's user may speak beside function responses", "providers/gemini_request.py",
        'self.made.append({"role": "user", "parts": parts})\n        self._open = False',
        'self.made.append({"role": "user", "parts": parts})\n        self._open = True',
        (f"{REQUEST}::test_results_stand_alone_right_after_their_calls_in_their_order",),
    ),
    Mutant(
        "WIRE-02", "Gemini rounds large integers in arguments", "providers/gemini_parts.py",
        '"args": exact(offered.argument_object(one.call))', '"args": offered.argument_object(one.call)',
        (f"{REQUEST}::test_arguments_are_objects_and_large_integers_text",),
    ),
    Mutant(
        "WIRE-02", "images stand in function responses of models that refuse them there", "providers/gemini_request.py",
        "inside = settings.options.images and since_three(settings.model)", "inside = settings.options.images",
        (f"{REQUEST}::test_for_older_models_images_follow_all_responses_in_a_content_of_their_own",),
    ),
    Mutant(
        "WIRE-03", "Gemini may call any tool where one is demanded", "providers/gemini_request.py",
        'config["allowedFunctionNames"] = [offered.wire(request.only)]', 'config["mode"] = "ANY"',
        (f"{REQUEST}::test_the_one_tool_that_must_be_called",),
    ),
    Mutant(
        "WIRE-03", "strict is lost on Gemini", "providers/gemini_request.py",
        '_STRICT = "VALIDATED"', '_STRICT = "AUTO"',
        (f"{REQUEST}::test_calls_are_held_to_their_schemas_where_that_is_asked_for",),
    ),
    Mutant(
        "WIRE-04", "a Gemini stream without a finish reason is whole", "providers/gemini_reply.py",
        'if arrived.reason != "STOP":', 'if arrived.reason not in {"", "STOP"}:',
        (f"{STREAM}::test_what_becomes_of_a_stream", f"{STREAM}::test_a_stream_cut_anywhere_is_never_a_call"),
    ),
    Mutant(
        "WIRE-04", "a Gemini call in pieces is a call", "providers/gemini_reply.py",
        'return bool(call.get("willContinue") or call.get("partialArgs"))', "return False",
        (f"{REPLY}::test_a_call_in_pieces_or_none_at_all_makes_the_reply_a_cut",),
    ),
    Mutant(
        "WIRE-04", "Gemini's last chunk, sent twice, is two calls", "providers/gemini_stream.py",
        "return candidate == self._last", "return candidate is self._last",
        (f"{STREAM}::test_what_becomes_of_a_stream",),
    ),
    Mutant(
        "WIRE-05", "a thought's signature is sent to another model", "providers/gemini_parts.py",
        "if turn.kept is None or turn.kept.model != sender:", "if turn.kept is None:",
        (f"{REQUEST}::test_what_another_said_is_rendered_plainly_and_signed_with_the_documented_stand_in",
         f"{PARTS}::test_any_other_bears_none"),
    ),
    Mutant(
        "WIRE-05", "a thought's signature is sent with other arguments", "providers/gemini_parts.py",
        'filled.pop("thoughtSignature", None)', "pass",
        (f"{REQUEST}::test_a_signature_goes_only_with_the_call_it_came_with",),
    ),
    Mutant(
        "WIRE-05", "another model's calls go to Gemini unsigned", "providers/gemini_parts.py",
        'first["thoughtSignature"] = UNSIGNED', "pass",
        (f"{PARTS}::test_only_the_first_of_another_models_calls_bears_the_stand_in",),
    ),
    Mutant(
        "CALL-03", "a Gemini response bears no id", "providers/gemini_parts.py",
        'response["id"] = one.id', "pass",
        (f"{PARTS}::test_a_call_of_the_asked_model_and_its_response_bear_its_id",
         f"{REQUEST}::test_ids_go_back_only_where_the_model_gave_them_and_are_unique"),
    ),
)  # fmt: skip
