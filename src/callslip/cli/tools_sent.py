"""``callslip tools --model``: the tools as a provider is told of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from callslip.cli import look
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line, visible_json
from callslip.core.shown import visible
from callslip.errors import UsageError
from callslip.gate.catalogue import Catalogue
from callslip.models import build_model

if TYPE_CHECKING:  # an HTTP client costs a start 40 ms
    from callslip.ports.model import ToolView
    from callslip.providers.offered import OfferedTool


def tools_sent(given: Given, catalogue: Catalogue, model: str, name: str | None) -> None:
    """Each tool's name on the wire, and whether its schema is strict; with ``name`` all that is sent of one."""
    views = [entry.view for entry in catalogue.values() if name in {None, entry.view.name}]
    made = build_model(model)
    tell: Callable[[Sequence[ToolView]], Sequence[OfferedTool]] | None = getattr(made, "offered", None)
    if tell is None:
        raise UsageError(f"{model} is sent no tools. Nothing was asked. Name a provider's model.")
    sent = list(zip((view.name for view in views), tell(views), strict=True))
    if given.as_json:
        print_document({"model": model, "tools": [_document(tool, one) for tool, one in sent]})
    elif name is not None:
        _show(*sent[0])
    else:
        _list(sent)


def _document(tool: str, one: OfferedTool) -> dict[str, object]:
    return {
        "name": tool,
        "sent_as": one.wire,
        "description": one.description,
        "schema": one.shaped.schema,
        "strict": one.shaped.strict,
        "warnings": list(one.shaped.warnings),
    }


def _list(sent: Sequence[tuple[str, OfferedTool]]) -> None:
    rows = [
        (
            tool,
            one.wire if one.wire != tool else "",
            look.Cell("yes", "green") if one.shaped.strict else look.Cell("no", None),
            one_line("; ".join(one.shaped.warnings)),
        )
        for tool, one in sent
    ]
    headings = ("tool", "sent as", "strict", "what its schema can't say there")
    most = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    look.table(headings[:most], [row[:most] for row in rows])


def _show(tool: str, one: OfferedTool) -> None:
    look.say(visible(tool), bold=True)
    facts = {"sent as": one.wire, "strict": "yes" if one.shaped.strict else "no"}
    for label, text in facts.items():
        look.say(f"  {look.paint(look.pad(label, 14), dim=True)}{one_line(text)}")
    for warning in one.shaped.warnings:
        look.say(f"  {look.mark('warn')} {one_line(warning)}")
    look.say("\nThe model fills in:", dim=True)
    text = visible_json(json.dumps(one.shaped.schema, ensure_ascii=False, indent=2))
    look.say("\n".join("  " + line for line in text.splitlines()))
