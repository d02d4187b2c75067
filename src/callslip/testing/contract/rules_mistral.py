"""What Mistral's chat endpoint refuses, as of 2026-11: by the fields of its reference and the checks of its library.

Mistral refuses fields it does not know (422) before it looks at the conversation (400). The order of messages is that
of ``mistral-common``'s validators, which the API and servers that run its models share: after a tool message only
another one or the assistant may speak, so a user who interrupts needs an assistant message in between.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract import rules_mistral_messages, wire_text
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.rules_mistral_messages import NAME
from callslip.testing.contract.violation import Violation

_REFERENCE = "Mistral docs, API > Chat completion"
SOURCES = {
    **wire_text.SOURCES,
    **rules_mistral_messages.SOURCES,
    "extra_forbidden": "github.com/Gage-Technologies/mistral-go/pull/2",
    "missing_field": _REFERENCE,
    "wrong_type": _REFERENCE,
    "out_of_range": f"{_REFERENCE} > temperature",
    "tool_shape": f"{_REFERENCE} > tools",
    "tool_name": "github.com/mistralai/mistral-common, protocol/instruct/validator.py",
    "tool_schema": "github.com/mistralai/mistral-common, protocol/instruct/validator.py",
    "duplicate_tool": "github.com/diegosouzapw/OmniRoute/pull/8322",
    "tool_choice_shape": f"{_REFERENCE} > tool_choice",
    "tool_choice_unknown_tool": f"{_REFERENCE} > tool_choice",
    "tool_choice_without_tools": f"{_REFERENCE} > tool_choice",
}
_FIELDS = frozenset(
    {"model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata"}
    | {"response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction"}
    | {"parallel_tool_calls", "prompt_mode", "reasoning_effort", "guardrails", "prompt_cache_key", "safe_prompt"}
)
_RANGES = {"temperature": (0, 1.5), "top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
_CHOICES = ("auto", "none", "any", "required")
SCHEMA_RULES = frozenset(
    {"extra_forbidden", "missing_field", "wrong_type", "out_of_range", "tool_shape", "tool_choice_shape"}
    | rules_mistral_messages.SCHEMA_RULES
)
"""Those that are answered with 422: the shape of the request, not its sense."""


def check(body: dict[str, Any]) -> list[Violation]:
    found = Findings(SOURCES)
    wire_text.check_text(body, found)
    for name in body:
        if name not in _FIELDS:
            found.add("extra_forbidden", name, "Extra inputs are not permitted")
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.add("missing_field", "model", "Field required")
    for name in ("stream", "parallel_tool_calls", "safe_prompt"):
        if name in body and not isinstance(body[name], bool):
            found.add("wrong_type", name, "Input should be a valid boolean")
    for name, (least, most) in _RANGES.items():
        value = body.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            found.add("out_of_range", name, f"Input should be between {least} and {most}")
    rules_mistral_messages.check_messages(body.get("messages"), found)
    names = _check_tools(body.get("tools"), found)
    _check_choice(body.get("tool_choice"), names, found)
    return found.violations


def _check_tools(tools: Any, found: Findings) -> set[str]:
    names: set[str] = set()
    if not isinstance(tools, list | None):
        found.add("wrong_type", "tools", "Input should be a valid list")
        return names
    for place, tool in enumerate(tools or []):
        path = f"tools[{place}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type", "function") != "function":
            found.add("tool_shape", f"{path}.function", "Field required")
            continue
        for name in function:
            if name not in ("name", "description", "parameters", "strict"):
                found.add("extra_forbidden", f"{path}.function.{name}", "Extra inputs are not permitted")
        name = function.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            found.add("tool_name", f"{path}.function.name", _name_message(name))
        elif name in names:
            found.add("duplicate_tool", f"{path}.function.name", f"Tool names must be unique: {name}")
        names.add(str(name))
        parameters = function.get("parameters")
        if not isinstance(parameters, dict):
            found.add("tool_shape", f"{path}.function.parameters", "Field required")
        elif parameters.get("type", "object") != "object":
            found.add("tool_schema", f"{path}.function.parameters", "Invalid tool schema: type must be object")
    return names


def _check_choice(choice: Any, names: set[str], found: Findings) -> None:
    if choice is None:
        return
    if isinstance(choice, str):
        if choice not in _CHOICES:
            found.add("tool_choice_shape", "tool_choice", "Input should be 'auto', 'none', 'any' or 'required'")
        elif choice in ("any", "required") and not names:
            found.add("tool_choice_without_tools", "tool_choice", f"Tool choice '{choice}' needs tools")
        return
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        found.add("tool_choice_shape", "tool_choice", "Field required: function.name")
    elif name not in names:
        found.add("tool_choice_unknown_tool", "tool_choice", f"Tool choice '{name}' is not among the tools")


def _name_message(name: Any) -> str:
    return (
        f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum "
        "length of 64."
    )
