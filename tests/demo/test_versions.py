"""The audit finds what was planted, and nothing else."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from demo.versions import admits, audit


@pytest.mark.parametrize(
    ("requirement", "version", "taken"),
    [
        ("^1.9.4", "2.1.0", False),
        ("^1.3.0", "1.4.2", True),
        ("^1.4.2", "1.4.1", False),
        ("^0.6.2", "0.7.0", False),
        (">=0.12,<0.13", "0.12.0", True),
        (">=0.11,<0.12", "0.12.0", False),
        ("v0.8.1", "0.9.0", False),
        ("2.1.0", "2.1.0", True),
    ],
)
def test_requirements(requirement, version, taken):
    assert admits(requirement, version) is taken


def test_the_template():
    found = audit(Path(__file__).parents[2] / "demo" / "workspace")
    assert found["packages"] == 20
    assert found["manifests"] == {"package.json": 7, "pyproject.toml": 6, "Cargo.toml": 4, "go.mod": 3}
    assert [(one["file"], one["package"]) for one in found["findings"]] == [
        ("packages/receipts/package.json", "money"),
        ("packages/settler/go.mod", "relay"),
        ("payments.toml", "money"),
    ]
