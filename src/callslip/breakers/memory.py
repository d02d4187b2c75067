"""The breakers of one process."""

from __future__ import annotations

from collections.abc import Callable

from callslip.breakers import showing
from callslip.breakers.good import Good
from callslip.core import breaker
from callslip.core.breaker import NEW, Breaker, BreakerRules, Closed, Heard, Open
from callslip.ports.breakers import Barred, Opened, Pass, Seen

_MANY = 1000
"""Keys after which those that say nothing any more are looked for."""


class MemoryBreakers:
    """Implements ``Breakers`` within one process. ``time`` gives seconds that never step back."""

    def __init__(self, rules: BreakerRules, time: Callable[[], float]) -> None:
        self._rules = rules
        self._time = time
        self._states: dict[str, Breaker] = {}
        self._good = Good()
        self._many = _MANY

    def enter(self, key: str, seconds: float) -> Pass | Barred:
        state = self._states.get(key)
        if state is None or state.opened is None:
            return Pass(key)
        now = self._time()
        found = breaker.may(state, now)
        if isinstance(found, Open):
            return showing.barred(key, found, now)
        assert not isinstance(found, Closed)
        state = self._states[key] = breaker.trying(state, now, seconds)
        return Pass(key, state.trial)

    def leave(self, way: Pass, heard: Heard) -> Opened | None:
        if heard is Heard.NOTHING and not way.trial:
            return None
        state = self._states.get(way.key, NEW)
        now = self._time()
        if heard is Heard.SUCCESS and state.opened is None and not state.timeouts:
            self._good.add(way.key, now)
            if len(self._good) > self._many:
                self._forget(now)
            return None
        before = breaker.counted(state, self._rules, self._good.take(way.key), now)
        state = self._states[way.key] = breaker.after(before, self._rules, heard, now, trial=way.trial)
        if len(self._states) > self._many:
            self._forget(now)
        return showing.opened(way.key, before, state, now)

    def barred(self, key: str) -> Barred | None:
        state = self._states.get(key)
        if state is None or state.opened is None:
            return None
        now = self._time()
        found = breaker.may(state, now)
        return showing.barred(key, found, now) if isinstance(found, Open) else None

    def seen(self) -> list[Seen]:
        now = self._time()
        self._forget(now)
        return [showing.seen(key, self._states[key], self._rules, now) for key in sorted(self._states)]

    def reset(self, key: str | None) -> list[str]:
        self._forget(self._time())
        keys = sorted(self._states) if key is None else [key] if key in self._states else []
        for one in keys:
            # The number of trials stays: whoever still tries the old one must not be taken for who tries the next.
            self._states[one] = Breaker(trials=self._states[one].trials)
        return keys

    def close(self) -> None:
        pass

    def _forget(self, now: float) -> None:
        """Take all successes in, and drop what says nothing that nobody knows."""
        for key in self._good.keys():  # noqa: SIM118 - a list of them: they go while we look
            self._states[key] = breaker.counted(self._states.get(key, NEW), self._rules, self._good.take(key), now)
        for key, state in list(self._states.items()):
            if breaker.is_idle(state, self._rules, now):
                del self._states[key]
        self._many = max(_MANY, 2 * len(self._states))  # a look at all of them is worth so many calls
