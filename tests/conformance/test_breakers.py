import pytest

from callslip.breakers.memory import MemoryBreakers
from callslip.breakers.shared import SharedBreakers
from callslip.testing.suites.breakers import BreakersSuite

pytestmark = pytest.mark.requirement("RESI-04")


class TestMemoryBreakers(BreakersSuite):
    shared = False

    def opened(self, place, rules, time):
        return MemoryBreakers(rules, time)


class TestSharedBreakers(BreakersSuite):
    @pytest.fixture(autouse=True)
    def _owners(self, owner_locks):
        self.owner = owner_locks

    def opened(self, place, rules, time):
        return SharedBreakers(place / "breakers.db", self.owner(place), rules, time, seen_within=0)
