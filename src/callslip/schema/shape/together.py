"""All schemas of one request, where a provider limits what its strict tools may use together.

Anthropic compiles the strict tools of a request into one grammar, and limits their number, their optional parameters
and their unions as a sum (Anthropic docs, "Structured outputs" > "Schema complexity limits"). Tools take from what is
left in their order, so adding one at the end never changes what was sent for the others, and prompt caches hold.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.schema.shape.dialect import Dialect
from callslip.schema.shape.limits import size_of
from callslip.schema.shape.shaped import Shaped, shape

__all__ = ["shape_together"]


def shape_together(
    schemas: Sequence[dict[str, Any]], dialect: Dialect, *, strict: bool | None = None
) -> tuple[Shaped, ...]:
    """Shape the schemas of all tools of a request, in their order; see `shape`.

    Raises:
        SchemaError: one of them is not JSON.
    """
    limits = dialect.limits
    tools = optional = unions = 0
    together: list[Shaped] = []
    for schema in schemas:
        shaped = shape(schema, dialect, strict=strict)
        if shaped.strict:
            size = size_of(shaped.schema)
            over = (
                _over("strict tools", tools + 1, limits.tools)
                or _over("optional properties", optional + size.optional, limits.optional)
                or _over("properties with several types", unions + size.unions, limits.unions)
            )
            if over:
                loose = shape(schema, dialect, strict=False)
                shaped = msgspec.structs.replace(loose, warnings=(over, *loose.warnings))
            else:
                tools, optional, unions = tools + 1, optional + size.optional, unions + size.unions
        together.append(shaped)
    return tuple(together)


def _over(what: str, used: int, most: int | None) -> str:
    if most is None or used <= most:
        return ""
    return (
        f"strict is off: with this tool the request would have {used} {what} in strict tools, and the limit is {most}"
    )
