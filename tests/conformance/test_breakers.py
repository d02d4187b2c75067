import pytest

from callslip.breakers.memory import MemoryBreakers
from callslip.breakers.shared import SharedBreakers
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.testing.suites.breakers import BreakersSuite

pytestmark = pytest.mark.requirement("RESI-04")


class TestMemoryBreakers(BreakersSuite):
    shared = False

    def opened(self, place, rules, time):
        return MemoryBreakers(rules, time)


class TestSharedBreakers(BreakersSuite):
    def opened(self, place, rules, time):
        return SharedBreakers(place / "breakers.db", OwnerLocks(place), rules, time, seen_within=0)
