import pytest

for suite in ("ledger", "blobs", "owners"):
    pytest.register_assert_rewrite(f"callslip.testing.suites.{suite}")
