import pytest

from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.shared import SharedAuthority
from callslip.testing.suites.authority import AuthoritySuite

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-02", "PARA-03", "PARA-04")]


class TestMemoryAuthority(AuthoritySuite):
    shared = False

    def opened(self, place, capacities):
        return MemoryAuthority(capacities)


class TestSharedAuthority(AuthoritySuite):
    @pytest.fixture(autouse=True)
    def _owners(self, owner_locks):
        self.owner = owner_locks

    def opened(self, place, capacities):
        return SharedAuthority(place / "resources.db", self.owner(place), capacities)
