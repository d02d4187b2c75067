import pytest

for suite in ("ledger", "blobs", "owners", "trust"):
    pytest.register_assert_rewrite(f"callslip.testing.suites.{suite}")
