import pytest

from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.shared import SharedAuthority
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.testing.suites.authority import AuthoritySuite

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-02", "PARA-03", "PARA-04")]


class TestMemoryAuthority(AuthoritySuite):
    shared = False

    def opened(self, place, capacities):
        return MemoryAuthority(capacities)


class TestSharedAuthority(AuthoritySuite):
    def opened(self, place, capacities):
        return SharedAuthority(place / "resources.db", OwnerLocks(place), capacities)
