"""What a session has used, and what its model keeps repeating: the log counted, as budgets and the loop guard need it.

Part of the folded state, so that neither a crash nor a resume forgets any of it. ``core/counting`` changes it, one
event at a time.
"""

from __future__ import annotations

import msgspec

from callslip.core.repeat import Repeat


class Spent(msgspec.Struct, kw_only=True):
    """How much of everything was used: in a turn, a session, or a day."""

    calls: int = 0
    """Calls that the model proposed, whatever became of them."""
    searches: int = 0
    """Those of them that searched for tools."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    """Millionths of a US dollar."""
    unpriced: int = 0
    """Replies whose cost is not known."""
    log_bytes: int = 0
    """Records, as they are stored."""
    blob_bytes: int = 0
    """Payloads of proposals and results that stand beside the log, uncompressed; one that comes again counts again."""
    wakeups: int = 0
    """Runs that went on with a turn which an earlier one had begun."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Counts(msgspec.Struct, kw_only=True):
    """What is counted of one session."""

    session: Spent = msgspec.field(default_factory=Spent)
    turn: Spent = msgspec.field(default_factory=Spent)
    """Since the latest turn began, or since what had ended its run was granted anew."""
    of_turn: int = 0
    told: int = 0
    """In how many steps of the turn the model was told that its calls are used up."""
    told_step: str = ""
    today: Spent = msgspec.field(default_factory=Spent)
    """On the day of the latest reply: calls, tokens and cost alone."""
    day: int = 0
    """Which day that is, from 1970 on, UTC."""
    ran_ms: int = 0
    """How long runs took that have ended."""
    run_from: int = 0
    """When the latest run began; 0: none is under way."""
    at: int = 0
    """When the latest record was written."""
    limit: str = ""
    """What the latest run was ended by, as its run_ended names it."""
    failures: dict[str, Repeat] = {}
    """By call (its tool and arguments): how it failed last, and in how many steps. The latest ones."""
    results: dict[str, Repeat] = {}
    """By call of a tool that reads: what it gave last, and in how many steps. The latest ones."""

    def seconds(self, now: int) -> float:
        """How long the session's runs have taken, the one under way included."""
        return (self.ran_ms + (max(now - self.run_from, 0) if self.run_from else 0)) / 1000
