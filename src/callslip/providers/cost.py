"""What a reply cost, where its provider does not say so."""

from __future__ import annotations

import msgspec

from callslip.core.events.model_replied import Usage
from callslip.providers.options import Price


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost: as the provider said, else by the price."""
    if price is None or usage.cost_micros is not None:
        return usage
    plain = max(usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens, 0)
    cached = price.input if price.cached is None else price.cached
    write = price.input if price.cache_write is None else price.cache_write
    # A dollar for a million tokens is a millionth of a dollar for each.
    cost = (
        plain * price.input
        + usage.cached_tokens * cached
        + usage.cache_write_tokens * write
        + usage.output_tokens * price.output
    )
    return msgspec.structs.replace(usage, cost_micros=round(cost))
