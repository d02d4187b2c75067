"""What a file of breakers that can't be used means for whoever wanted it: no more than that they go by themselves."""

import pytest

from callslip.breakers.table import Table
from callslip.errors import LedgerUnavailable

pytestmark = pytest.mark.requirement("RESI-04")


def test_a_damaged_file_says_what_follows(tmp_path):
    path = tmp_path / "breakers.db"
    path.write_bytes(b"damaged" * 1000)
    with pytest.raises(
        LedgerUnavailable, match=r"which tools fail, can't be used .* Each process goes by what it sees"
    ):
        Table(path, patience=0)


def test_so_does_one_that_was_deleted(tmp_path):
    path = tmp_path / "breakers.db"
    table = Table(path, patience=0)
    for one in tmp_path.iterdir():
        one.unlink()
    with pytest.raises(LedgerUnavailable, match="shared again by processes that begin from now on") as gone:
        table.rows()
    assert "held" not in str(gone.value)
    table.close()
