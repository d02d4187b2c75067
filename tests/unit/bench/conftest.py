"""The measuring scripts are no package: they are found beside each other."""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"


@pytest.fixture(autouse=True, scope="module")
def bench_on_path():
    folders = [str(BENCH), str(BENCH / "peers")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)
