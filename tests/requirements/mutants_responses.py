"""Breaks of the Responses adapter."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

REQUEST = "tests/unit/providers/test_openai_responses_request.py"
ITEMS = "tests/unit/providers/test_openai_responses_items.py"
REPLY = "tests/unit/providers/test_openai_responses_reply.py"
STREAM = "tests/unit/providers/test_openai_responses_stream.py"

RESPONSES: Sequence[Mutant] = (
    Mutant(
        "CALL-03", "the id of a call's item is taken for the call's", "providers/openai_responses_reply.py",
        'id_in(call, "call_id")', "id_in(call)",
        (REPLY,),
    ),
    Mutant(
        "WIRE-01", "the name of one of OpenAI's own tools is sent", "providers/aliases.py",
        'reserved=frozenset(\n        {"api_tool"', 'reserved=frozenset(\n        set() and {"api_tool"',
        (REQUEST,),
    ),
    Mutant(
        "WIRE-03", "strict is left out, which means on", "providers/openai_responses_search.py",
        '    made["strict"] = tool.shaped.strict\n', "",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-04", "a response that did not complete makes calls", "providers/openai_responses_reply.py",
        "if status != COMPLETED or not all(is_whole(call) for call in calls):",
        "if not all(is_whole(call) for call in calls):",
        (REPLY, STREAM),
    ),
    Mutant(
        "WIRE-04", "where stream and end say different calls, one is made", "providers/openai_responses_stream.py",
        "return assembled, last <= ended", "return assembled, True",
        (STREAM,),
    ),
    Mutant(
        "WIRE-04", "a call that ended twice is two", "providers/openai_responses_stream.py",
        "        self._endings.add(ending)\n", "",
        (STREAM,),
    ),
    Mutant(
        "WIRE-05", "reasoning is what it began as, not what it ended as", "providers/openai_responses_stream.py",
        "parts.item, parts.is_done = item, True",
        'parts.item, parts.is_done = item if kind != "reasoning" or len(parts.item) < 2 else parts.item, True',
        (STREAM,),
    ),
    Mutant(
        "WIRE-05", "reasoning is not asked for in a form that can go back", "providers/openai_responses_request.py",
        '        body["include"] = ["reasoning.encrypted_content"]\n', "        pass\n",
        (REQUEST,),
    ),
    Mutant(
        "WIRE-05", "one model's reasoning is sent to another", "providers/openai_responses_items.py",
        "if turn.kept is not None and turn.kept.model == self._side.sender else ()",
        "if turn.kept is not None else ()",
        (ITEMS,),
    ),
    Mutant(
        "WIRE-05", "what followed reasoning that can't go back keeps its id", "providers/openai_responses_items.py",
        "if not torn and self._take(item, kind):", "if self._take(item, kind):",
        (ITEMS,),
    ),
    Mutant(
        "WIRE-05", "a program's call is answered to nobody", "providers/openai_responses_items.py",
        'return item | {"caller": caller} if caller else item', "return item",
        (ITEMS,),
    ),
    Mutant(
        "WIRE-05", "nulls that were given out go back", "providers/openai_responses_items.py",
        "for name, value in item.items() if value is not None}\n    return {",
        "for name, value in item.items()}\n    return {",
        (ITEMS,),
    ),
)  # fmt: skip
