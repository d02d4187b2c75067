import pytest

from callslip.testing.suites.trust import TrustSuite
from callslip.trust.file import FileTrust
from callslip.trust.memory import MemoryTrust

pytestmark = pytest.mark.requirement("APPR-08")


class TestFileTrust(TrustSuite):
    def opened(self, place, clock):
        return FileTrust(place, clock=clock)


class TestMemoryTrust(TrustSuite):
    shared = False

    def opened(self, place, clock):
        return MemoryTrust(clock=clock)
