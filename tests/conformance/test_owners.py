import pytest

from callslip.ledgers.owner_lock import OwnerLocks, SoleOwner
from callslip.testing.suites.owners import OwnersSuite

pytestmark = pytest.mark.requirement("LEDG-03")


class TestOwnerLocks(OwnersSuite):
    def opened(self, place):
        return OwnerLocks(place)


class TestSoleOwner(OwnersSuite):
    shared = False

    def opened(self, place):
        return SoleOwner()
