"""Breaks of what providers with a search of their own are sent, and of what their searches become."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

UNIT = "tests/unit/providers"
LOADING = f"{UNIT}/test_native_search.py"
ANTHROPIC = f"{UNIT}/test_anthropic_search.py"
RESPONSES = f"{UNIT}/test_openai_responses_search.py"
RULES = "tests/unit/testing/contract/test_rules_openai_responses.py"
WIRE = "tests/wire/test_native_search.py"

NATIVE_SEARCH: Sequence[Mutant] = (
    Mutant(
        "DEFR-07", "what was found twice is loaded where it was found first", "providers/native_search.py",
        "for result in results for name in result.found if name in found}",
        "for result in reversed(results) for name in result.found if name in found}",
        (f"{LOADING}::test_what_was_found_twice_is_loaded_where_it_was_found_last",
         f"{WIRE}::test_a_turn_lets_go_of_what_the_last_one_found"),
    ),
    Mutant(
        "DEFR-07", "what a turn let go of can be called all the same", "providers/native_search.py",
        "found = (offered & set(searching.found))",
        "found = {n for m in _results(request) for n in m.found}",
        (f"{LOADING}::test_what_is_not_offered_any_more_is_not_loaded",),
    ),
    Mutant(
        "DEFR-07", "what is deferred follows the order of finding", "providers/anthropic_search.py",
        "every = sorted((*found, *others), key=lambda tool: tool.name)", "every = [*found, *others]",
        (f"{WIRE}::test_three_steps_there_and_back", f"{WIRE}::test_the_tools_do_not_follow_the_order_of_finding"),
    ),
    Mutant(
        "DEFR-07", "a tool whose search was summed up stays deferred", "providers/native_search.py",
        "loaded=frozenset(last),", "loaded=frozenset(found),",
        (f"{WIRE}::test_what_was_found_can_be_called_after_a_summary",),
    ),
    Mutant(
        "DEFR-07", "the tool that must be called is deferred", "providers/native_search.py",
        " - {searching.tool, request.only}", " - {searching.tool}",
        (f"{LOADING}::test_the_tool_that_must_be_called_is_not_loaded_but_offered",
         f"{WIRE}::test_the_search_can_be_demanded"),
    ),
    Mutant(
        "DEFR-07", "an error loads tools", "providers/native_search.py",
        " and not result.is_error]", "]",
        (f"{LOADING}::test_an_error_loads_nothing", f"{RESPONSES}::test_an_error_loads_nothing_and_is_told"),
    ),
    Mutant(
        "DEFR-07", "the cache's breakpoint is at a deferred tool", "providers/anthropic_request.py",
        "[*_marked(tools), *_deferred(request, settings, offered)]",
        "_marked([*tools, *_deferred(request, settings, offered)])",
        (f"{ANTHROPIC}::test_what_may_be_found_stands_behind_the_rest_by_name",
         f"{WIRE}::test_three_steps_there_and_back"),
    ),
    Mutant(
        "DEFR-07", "references and words are mixed", "providers/anthropic_content.py",
        '"content": [reference(wire) for wire in wires]}',
        '"content": [*map(reference, wires), _text(call.content)]}',
        (f"{WIRE}::test_three_steps_there_and_back",),
    ),
    Mutant(
        "DEFR-07", "a definition is sent as it once was", "providers/anthropic_search.py",
        "if known is None or (known[0] is not tool and known[0] != tool):", "if known is None:",
        (f"{ANTHROPIC}::test_a_definition_is_made_once_and_anew_when_the_tool_has_changed",),
    ),
    Mutant(
        "DEFR-07", "more are deferred than the API takes", "providers/anthropic_search.py",
        "if len(every) <= MOST_DEFERRED:", "if every is not None:",
        (f"{ANTHROPIC}::test_too_many_are_left_out_until_they_are_found",),
    ),
    Mutant(
        "DEFR-07", "a server that copied the API is sent what it does not know", "providers/anthropic.py",
        "known=own and known.knows_search", "known=known.knows_search",
        (f"{ANTHROPIC}::test_which_models_are_known_to_search",
         f"{LOADING}::test_whoever_has_no_search_is_not_told_of_one"),
    ),
    Mutant(
        "DEFR-07", "nano is taken to search", "providers/openai_responses_search.py",
        ' and "-nano" not in model', "",
        (f"{RESPONSES}::test_which_models_are_known_to_search",),
    ),
    Mutant(
        "DEFR-07", "a search of another model goes back as one", "providers/openai_responses_search.py",
        "if reply.kept is not None and reply.kept.model == sender else ()", "if reply.kept is not None else ()",
        (f"{RESPONSES}::test_what_was_no_search_of_this_model_is_a_plain_call",),
    ),
    Mutant(
        "DEFR-07", "what a search loads stands among the tools as well", "providers/openai_responses_request.py",
        "        if tool.name not in loading.loaded\n", "",
        (f"{WIRE}::test_three_steps_there_and_back",),
    ),
    Mutant(
        "DEFR-07", "why nothing was found is not said", "providers/openai_responses_items.py",
        '        items += [_message("user", beside(one.call.tool, one.content)) for one in turn.calls '
        "if one.id in searched]\n",
        "",
        (f"{WIRE}::test_what_a_search_says_in_words_is_told_too",),
    ),
    Mutant(
        "DEFR-07", "a search nobody offered is kept, and fails every later request", "providers/openai_responses_reply.py",
        'elif item["type"] not in _ASKS_US and not is_ours(item):', 'elif item["type"] not in _ASKS_US:',
        (f"{RESPONSES}::test_a_search_that_was_not_offered_is_not_called_and_not_kept",),
    ),
    Mutant(
        "WIRE-04", "a search that did not come to its end is called", "providers/openai_responses_parts.py",
        'return {**self.item, "status": "in_progress"}', 'return {**self.item, "status": "completed"}',
        (f"{RESPONSES}::test_a_search_that_did_not_come_to_its_end_is_none",),
    ),
    Mutant(
        "WIRE-05", "a search goes back without its id", "providers/openai_responses_search.py",
        "if value is not None}\n", 'if value is not None and name != "id"}\n',
        (f"{RESPONSES}::test_a_search_goes_back_as_it_came_and_its_output_loads_what_was_found",
         f"{WIRE}::test_a_search_comes_with_what_was_thought"),
    ),
    Mutant(
        "DEFR-07", "the strict server takes a search without its output",
        "testing/contract/rules_openai_responses_order.py",
        '_CALLS = {"function_call": "function call", "tool_search_call": "tool search"}',
        '_CALLS = {"function_call": "function call"}',
        (RULES,),
    ),
    Mutant(
        "DEFR-07", "the strict server takes a reference to nothing", "testing/contract/rules_anthropic_search.py",
        "elif name not in names:", "elif False:",
        ("tests/unit/testing/contract/test_rules_anthropic.py",),
    ),
)  # fmt: skip
