"""How much a turn, a session and a requester may use, and what is used up (RESI-06). Pure.

Looked at where something is about to be begun: before a request to the model, and before a call. What is in the world
by then ends in its own way, so the last reply or call may go beyond a budget; nothing new follows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from callslip.core.counting import DAY_MS, SEARCH, SESSION_CALLS, TURN_CALLS
from callslip.core.events.function_call import FunctionCall
from callslip.core.spent import Counts, Spent

_DOLLAR = 1_000_000
_TOLD_ENOUGH = 2
_NEEDED = ("tokens", "money", "log_bytes", "blob_bytes")
"""What is used up by nothing where there is none of it: then a turn ends before it has begun, each time."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one turn may use; ``None``: as much as it likes."""

    calls: int | None = None
    """Calls that the model proposes, whatever becomes of them. Those beyond are refused."""
    searches: int | None = None
    """Those of them that search for tools."""
    tokens: int | None = None
    """Read and made, as the provider counts them."""
    money: float | None = None
    """US dollars."""
    log_bytes: int | None = None
    blob_bytes: int | None = None
    wakeups: int | None = None
    """Runs that go on with a turn which an earlier one began."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is a number from 0 on")
        if type(self) is Budget:  # of a turn: a session without any is one that was stopped on purpose
            for name in _NEEDED:
                if getattr(self, name) == 0:
                    raise ValueError(f"{name} of a turn is more than 0: with none, it could not even begin")


class SessionBudget(Budget, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a session may use in all its turns."""

    seconds: float | None = None
    """In which runs were under way."""
    approvals: int | None = None
    """Calls that may wait for a person at once. Those beyond are refused."""


class DailyBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sessions of one requester may use in a day (UTC)."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is a number from 0 on")

    @property
    def any(self) -> bool:
        return self.calls is not None or self.tokens is not None or self.money is not None


class Budgets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project may set in ``[budgets.turn]``, ``[budgets.session]`` and ``[budgets.requester_day]``."""

    turn: Budget = Budget()
    session: SessionBudget = SessionBudget()
    requester_day: DailyBudget = DailyBudget()


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one budget is used. Money in dollars."""

    name: str
    """As ``turn.tokens``."""
    used: float
    of: float | None
    """The budget; ``None``: there is none."""
    unknown: int = 0
    """Of money: replies whose cost nobody knows."""

    @property
    def spent(self) -> bool:
        """Nothing is left, or, of money, nobody knows what is."""
        return self.of is not None and (self.used >= self.of or self.unknown > 0)

    @property
    def amount(self) -> str:
        """In words: ``1,200 of 1,000 tokens``."""
        what = self.name.partition(".")[2]
        told = _dollars(self.used) if what == "money" else f"{self.used:,.{1 if what == 'seconds' else 0}f}"
        of = "" if self.of is None else f" of {_dollars(self.of) if what == 'money' else f'{self.of:,g}'}"
        return f"{told}{of}" if what == "money" else f"{told}{of} {counted(what, max(self.used, self.of or 0))}"

    @property
    def reason(self) -> str:
        """Why a run ends by it, and what can be done."""
        scope, _, what = self.name.partition(".")
        whose = _WHOSE[scope]
        if self.unknown and self.of is not None and self.used < self.of:
            replies = f"{self.unknown} replies" if self.unknown > 1 else "a reply"
            return (
                f"{whose} has a budget of {_dollars(self.of)}, and what {replies} cost is not known; give the model's "
                f"price in [model_options], or take the budget away, then resume"
            )
        if scope == "turn":
            return f"{whose} used {self.amount}; resume to allow as many again"
        return f"{whose} used {self.amount}; raise {what} in [budgets.{scope}], then resume"


_WHOSE = {"turn": "the turn", "session": "the session", "requester_day": "its requester today"}
_WORDS = {"log_bytes": "bytes of log", "blob_bytes": "bytes of payloads", "wakeups": "wake-ups"}


def counted(what: str, many: float) -> str:
    """What so many of them are called: ``call``, ``calls``."""
    words = _WORDS.get(what, what)
    first, space, rest = words.partition(" ")
    single = first.removesuffix("es") if first == "searches" else first.removesuffix("s")
    return f"{single}{space}{rest}" if many == 1 else words


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def uses(counts: Counts, budgets: Budgets, now: int, *, waiting: int = 0) -> list[Use]:
    """All that is counted, with the budget for it where there is one. ``waiting``: calls that wait for people."""
    session = budgets.session
    return [
        *_of("turn", counts.turn, budgets.turn),
        *_of("session", counts.session, session),
        Use(name="session.seconds", used=counts.seconds(now), of=session.seconds),
        Use(name="session.approvals", used=waiting, of=session.approvals),
    ]


def _of(scope: str, spent: Spent, budget: Budget) -> Iterator[Use]:
    for name in budget.__struct_fields__:
        if name == "money":
            yield Use(name=f"{scope}.money", used=spent.cost_micros / _DOLLAR, of=budget.money, unknown=spent.unpriced)
        elif name not in {"seconds", "approvals"}:
            yield Use(name=f"{scope}.{name}", used=getattr(spent, name), of=getattr(budget, name))


def before_asking(counts: Counts, budgets: Budgets, now: int, *, new_turn: bool) -> Use | None:
    """What forbids to ask the model now. ``new_turn``: the request begins one, which has used nothing yet.

    Calls that are used up forbid it only once the model has been told so and goes on making calls.
    """
    for use in uses(counts, budgets, now):
        scope, _, what = use.name.partition(".")
        if use.of is None or what in {"searches", "approvals"} or (new_turn and scope == "turn"):
            continue
        if what == "calls":
            over = use.used > use.of and counts.told >= _TOLD_ENOUGH and not new_turn
        elif what == "wakeups":
            over = use.used > use.of
        else:
            over = use.spent
        if over:
            return use
    return None


def before_call(counts: Counts, budgets: Budgets, proposed: Sequence[FunctionCall], position: int) -> Use | None:
    """What forbids to make the call at this position of the latest step, of which these are the calls.

    They were all counted when they were proposed, so which of them are too many depends on their order alone. A
    session without turns of its own, a dispatcher's, has only the session's budget: give it no other.
    """
    later = len(proposed) - position - 1
    found = [
        (TURN_CALLS, counts.turn.calls - later, budgets.turn.calls),
        (SESSION_CALLS, counts.session.calls - later, budgets.session.calls),
    ]
    if proposed[position].tool == SEARCH:
        after = sum(one.tool == SEARCH for one in proposed[position + 1 :])
        found += [
            ("turn.searches", counts.turn.searches - after, budgets.turn.searches),
            ("session.searches", counts.session.searches - after, budgets.session.searches),
        ]
    for name, number, most in found:
        if most is not None and number > most:
            return Use(name=name, used=number, of=most)
    return None


def of_requester(spent: Sequence[Spent], budget: DailyBudget) -> Use | None:
    """What forbids a requester to have the model asked, having used this in each of their sessions today."""
    money = sum(one.cost_micros for one in spent) / _DOLLAR
    unknown = sum(one.unpriced for one in spent)
    found = (
        Use(name="requester_day.calls", used=sum(one.calls for one in spent), of=budget.calls),
        Use(name="requester_day.tokens", used=sum(one.tokens for one in spent), of=budget.tokens),
        Use(name="requester_day.money", used=money, of=budget.money, unknown=unknown),
    )
    return next((use for use in found if use.spent), None)


def on_day(counts: Counts, now: int) -> Spent:
    """What a session has used on the day of that moment."""
    return counts.today if counts.day == now // DAY_MS else Spent()
