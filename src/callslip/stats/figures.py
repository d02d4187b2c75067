"""What the statistics say. Durations are in milliseconds, moments in milliseconds since 1970, UTC."""

from __future__ import annotations

import msgspec

from callslip.errors import Layer

NO_SUCH_TOOL = "(no such tool)"
"""Whatever models called that was not there: the names are theirs, and without end."""
NO_MODEL = "(none named)"
"""Of failures before any request of the session was answered."""


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Exact of up to 1,000, within 1 % of more (``stats/quantiles``)."""

    count: int
    total_ms: int
    p50_ms: int
    p95_ms: int
    p99_ms: int
    longest_ms: int


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why so many failed."""

    layer: Layer
    code: str
    count: int


class Waited(msgspec.Struct, frozen=True, kw_only=True):
    """What calls waited for: ``claims`` of other calls, ``retry`` (the pause before another attempt), or a kind of wait
    (docs/reference/waits.md).
    """

    kind: str
    durations: Durations


class ToolStats(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. Every call that was proposed for it is in one of ``succeeded``, ``failed``, ``refused``, ``open``; what
    it did as another tool's fallback is in the first two besides.
    """

    tool: str
    calls: int
    """Proposed for it."""
    succeeded: int
    failed: int
    """Dispatched, or left alone and answered by something else, and no success of its own."""
    refused: int
    """Never dispatched."""
    open: int
    """Without an answer yet."""
    success_rate: float | None
    """Of ``succeeded + failed``; ``None``: there is none. What was refused says nothing of how well a tool does."""
    attempts: int
    retries: int
    """Attempts of a call beyond this tool's first."""
    durations: Durations | None
    """Of its attempts, whether they succeeded or failed, where their own process saw both ends."""
    failures: tuple[Reason, ...]
    """Of failed and refused calls, the most frequent first."""
    attempt_failures: tuple[Reason, ...]
    """Of attempts that ended without an answer: another one followed, or a person, or a fallback."""
    waits: tuple[Waited, ...]
    hedged: int
    """Of its attempts, those that were executed twice since the first execution was slow."""
    won_by_second: int
    """Of those, in how many the second one answered."""
    late: int
    """Outcomes that came after the call had been given up."""
    fallbacks: int
    """Of its calls, those that something else has answered."""
    stood_in: int
    """Calls of other tools that were dispatched to it in their place."""
    parked: int
    """Calls of which nobody knew whether they took effect."""
    opened: int
    """How often a breaker of it has opened."""


class ModelStats(msgspec.Struct, frozen=True, kw_only=True):
    """One model."""

    model: str
    replies: int
    failed: int
    """Requests without a reply."""
    failures: tuple[Reason, ...]
    unusable: int
    """Of the replies, those that were empty, cut off or filtered."""
    finishes: dict[str, int]
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost_micros: int
    """Millionths of a US dollar, of the replies whose price is known."""
    priced: int
    """How many replies those are."""
    durations: Durations | None
    """Of its replies, from the request to the end of the reply."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """What the log says of how tools and models do. A call is counted by when it was proposed."""

    since: int | None
    sessions: int
    """Sessions that were read: those in which something has happened since."""
    records: int
    tools: tuple[ToolStats, ...]
    """The most called first."""
    models: tuple[ModelStats, ...]
    layers: dict[Layer, int]
    """Failures and refusals of calls, and failed requests and unusable replies of models, by where they come from."""
    unread: tuple[str, ...] = ()
    """Sessions whose log is broken; nothing of them is counted from the break on."""
