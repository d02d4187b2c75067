"""Which reads may be executed twice, how often, and what is recorded of it. Pure.

A service that is slow for many must not get twice the load for it. So a tool has an allowance, as gRPC throttles its
hedged requests (proposal A6, "client retries"): each call adds to it, each second execution takes from it, and it
holds no more than a little, so that what quick calls have saved can't be spent all at once when they grow slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from callslip.core.claim import Kind, wanted
from callslip.core.tool import Risk, ToolSpec

CALLS: Final = 10
"""So many calls pay for one that is hedged."""
MOST: Final = 5
"""For so many may be saved: of any number of calls in a row, one in ten is hedged, and at most five more."""


Answered = Literal["first", "second", "neither"]


class Hedged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt was executed a second time while the first execution went on."""

    after_ms: int
    """After how long the second one began."""
    answered: Answered
    """Whose answer it is."""
    failed: str = ""
    """What the other one failed with, if it did: its code, or the name of its exception."""


class Allowance(msgspec.Struct, frozen=True):
    """What a tool may still spend, in calls. At first that is enough for one: the first call may be the slow one."""

    calls: int = CALLS


NEW: Final = Allowance()


def called(allowance: Allowance) -> Allowance:
    """With one call more."""
    return allowance if allowance.calls >= CALLS * MOST else Allowance(allowance.calls + 1)


def hedged(allowance: Allowance) -> Allowance | None:
    """After one call was hedged; ``None``: it may not be."""
    return Allowance(allowance.calls - CALLS) if allowance.calls >= CALLS else None


def alone(claims: Iterable[str]) -> str | None:
    """Of these claims, one that two executions of a call can't share: a thing that only one caller may have, or one
    slot of a limited service.
    """
    return next((one for one in claims if not wanted(one).shared or wanted(one).kind is Kind.SLOT), None)


def complaint(spec: ToolSpec) -> str | None:
    """Why a tool can't be hedged that declares it, as half a sentence."""
    after = spec.hedge_after_ms
    if after is None:
        return None
    if spec.risk is not Risk.READ or spec.client_owned or spec.background:
        return "hedge_after executes a call twice, so it is for tools that only read (risk='read'), and answer here"
    if after <= 0:
        return "hedge_after must be positive: how many seconds the first execution has before a second one begins"
    if after >= spec.timeout_ms:
        return "hedge_after must be less than timeout, or the second execution would never begin"
    one = alone(spec.claims)
    if one is not None:
        return f"hedge_after executes a call twice at once, and its claim {one!r} is for one alone: make it 'read …'"
    return None
