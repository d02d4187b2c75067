"""What Responses refuses in the order of input items: calls without outputs, reasoning torn from what followed it.

A reasoning item belongs to the next item that the model made. What came out of the server with an id is held to that
id: a call given back as ``fc_…`` needs the reasoning that came with it, and opaque content must be unaltered and of
the same model. Without ids, the server remembers which calls it made after reasoning, and wants that reasoning back as
long as their turn goes on.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.issued import Issued
from callslip.testing.contract.loose import text_at
from callslip.testing.contract.opaque import unseal

_REASONING = "OpenAI docs, Reasoning models > Keeping reasoning items in context"
SOURCES = {
    "orphan_output": "github.com/microsoft/vscode/issues/320060",
    "output_twice": "github.com/NousResearch/hermes-agent/issues/102629",
    "unanswered_call": "github.com/bytedance/trae-agent/issues/245",
    "call_id_repeated": "github.com/earendil-works/pi/issues/9057",
    "reasoning_without_item": "github.com/vercel/ai/issues/7099",
    "call_without_reasoning": "github.com/mastra-ai/mastra/issues/8738",
    "reasoning_not_returned": _REASONING,
    "encrypted_content": "github.com/openai/codex/issues/8138",
    "not_persisted": "github.com/can1357/oh-my-pi/issues/41",
}
_MADE_BY_MODEL = frozenset(
    {"function_call", "custom_tool_call", "web_search_call", "file_search_call", "computer_call", "mcp_call"}
    | {"image_generation_call", "code_interpreter_call", "local_shell_call", "shell_call", "apply_patch_call"}
    | {"tool_search_call", "mcp_approval_request", "mcp_list_tools", "program", "item_reference", "compaction"}
)
_CALLS = {"function_call": "function call", "tool_search_call": "tool search"}
_OUTPUTS = {"function_call_output": "function call", "tool_search_output": "tool search"}
"""Of items that want an answer, what the vendor calls them in its refusals."""
Items = list[tuple[str, dict[str, Any]]]


def check_order(
    items: Items, body: dict[str, Any], before: list[dict[str, Any]], issued: Issued, found: Findings
) -> None:
    """Check the items as a conversation. ``before``: the items of the response that this one goes on from."""
    known = [
        (path, issued.items.get(text_at(item, "id"), item) if item["type"] == "item_reference" else item)
        for path, item in items
    ]
    _check_pairs(known, before, found)
    _check_followers(known, found)
    _check_reasoning(items, body, issued, found)
    _check_returned(items, body, before, issued, found)


def _check_pairs(items: Items, before: list[dict[str, Any]], found: Findings) -> None:
    answered: dict[tuple[str, str], bool] = {}
    """By what each call is called and its id: a function's output answers no search, nor the other way round."""
    for item in before:
        call, output = _CALLS.get(text_at(item, "type"), ""), _OUTPUTS.get(text_at(item, "type"), "")
        if call or output:
            answered[call or output, text_at(item, "call_id")] = bool(output)
    for path, item in items:
        call_id = item.get("call_id")
        if not isinstance(call_id, str):
            continue
        call, output = _CALLS.get(item["type"], ""), _OUTPUTS.get(item["type"], "")
        if call:
            if any((kind, call_id) in answered for kind in _CALLS.values()):
                found.add("call_id_repeated", f"{path}.call_id", f"Duplicate 'call_id': {call_id}.")
            answered[call, call_id] = False
        elif output:
            if (output, call_id) not in answered:
                found.add(
                    "orphan_output",
                    f"{path}.call_id",
                    f"No tool call found for {output} output with call_id {call_id}.",
                )
            elif answered[output, call_id]:
                one = output.replace(" ", "_")
                found.add(
                    "output_twice",
                    f"{path}.call_id",
                    f"Duplicate {item['type']} for call_id '{call_id}'. Each {one} must have exactly one matching "
                    f"{item['type']}",
                )
            answered[output, call_id] = True
    for (kind, call_id), done in answered.items():
        if not done:
            said = "function call" if kind == "function call" else "tool search call"
            found.add("unanswered_call", "input", f"No tool output found for {said} {call_id}.")


def _check_followers(items: Items, found: Findings) -> None:
    for place, (path, item) in enumerate(items):
        if item["type"] != "reasoning":
            continue
        after = next((other for _, other in items[place + 1 :] if other["type"] != "reasoning"), None)
        by_model = after is not None and (
            after["type"] in _MADE_BY_MODEL or (after["type"] == "message" and after.get("role") == "assistant")
        )
        if not by_model:
            found.add(
                "reasoning_without_item",
                path,
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
            )


def _check_reasoning(items: Items, body: dict[str, Any], issued: Issued, found: Findings) -> None:
    for path, item in items:
        item_id = text_at(item, "id")
        if item["type"] == "item_reference" and item_id not in issued.items:
            found.add("not_persisted", path, f"Item with id '{item_id}' not found.")
        if item["type"] != "reasoning":
            continue
        content = item.get("encrypted_content")
        if content is None:
            if item_id not in issued.items:
                found.add(
                    "not_persisted",
                    path,
                    f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
                    "Try again with `store` set to true, or remove this item from your input.",
                )
            continue
        inside = unseal(content) if isinstance(content, str) else None
        if inside is None or inside.item != item_id or inside.model != body.get("model"):
            why = "decrypted or parsed" if inside is None else "verified for this item and model"
            found.add(
                "encrypted_content",
                f"{path}.encrypted_content",
                f"The encrypted content for item {item_id} could not be verified. "
                f"Reason: Encrypted content could not be {why}.",
            )


def _check_returned(
    items: Items, body: dict[str, Any], before: list[dict[str, Any]], issued: Issued, found: Findings
) -> None:
    given = {text_at(item, "id") for _, item in items} | {text_at(item, "id") for item in before}
    last_user = max((place for place, (_, item) in enumerate(items) if item.get("role") == "user"), default=-1)
    for place, (path, item) in enumerate(items):
        call = issued.calls.get(text_at(item, "call_id")) if item["type"] in _CALLS else None
        if call is None or not call.reasoning or call.reasoning in given:
            continue
        if item.get("id") == call.item:
            found.add(
                "call_without_reasoning",
                path,
                f"Item '{call.item}' of type '{item['type']}' was provided without its required 'reasoning' item: "
                f"'{call.reasoning}'.",
            )
        elif place > last_user and call.model == body.get("model"):
            found.add(
                "reasoning_not_returned",
                path,
                f"The reasoning item '{call.reasoning}' that came with the call {item.get('call_id')} is missing.",
            )
