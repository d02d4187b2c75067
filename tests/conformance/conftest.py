import pytest

for suite in ("authority", "breakers", "ledger", "blobs", "owners", "trust"):
    pytest.register_assert_rewrite(f"callslip.testing.suites.{suite}")
