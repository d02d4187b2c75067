import pytest

from callslip.ledgers.owner_lock import OwnerLocks

pytest.register_assert_rewrite("callslip.testing.suites")


@pytest.fixture
def owner_locks():
    """``owner_locks(folder)`` is one more owner; all of them end with the test."""
    made = []

    def one_more(folder):
        made.append(OwnerLocks(folder))
        return made[-1]

    yield one_more
    for owners in made:
        owners.close()
