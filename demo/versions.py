"""What the audit knows of version requirements: as much as the twenty manifests need, of four languages."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

Version = tuple[int, ...]

OWN = "tidewater"
"""Whose packages they are: requirements on anything else are not judged."""


def parse(text: str) -> Version:
    """``v1.2.3`` or ``1.2`` as three numbers."""
    numbers = [int(part) for part in re.findall(r"\d+", text)[:3]]
    return tuple(numbers + [0] * (3 - len(numbers)))


def admits(requirement: str, version: str) -> bool:
    """Whether the requirement takes that version: ``^1.2``, ``>=1,<2``, ``v1.2.3`` or an exact one."""
    found = parse(version)
    if requirement.startswith("^"):
        least = parse(requirement)
        leading = next((place for place, number in enumerate(least) if number), 2)
        return found >= least and found[: leading + 1] == least[: leading + 1]
    if requirement.startswith(">="):
        lowest, _, below = requirement.partition(",")
        return parse(lowest) <= found < parse(below)
    return found == parse(requirement)


def requirements(manifest: Path) -> Iterator[tuple[str, str]]:
    """The manifest's own version, and what it asks of its sisters, as (package, requirement)."""
    text = manifest.read_text(encoding="utf-8")
    name = manifest.parent.name
    match manifest.name:
        case "package.json":
            data = json.loads(text)
            yield name, data["version"]
            for other, wanted in data.get("dependencies", {}).items():
                if other.startswith(f"@{OWN}/"):
                    yield other.removeprefix(f"@{OWN}/"), wanted
        case "pyproject.toml":
            data = tomllib.loads(text)["project"]
            yield name, data["version"]
            for line in data["dependencies"]:
                if line.startswith(f"{OWN}-"):
                    other, wanted = re.fullmatch(rf"{OWN}-([a-z-]+)(.*)", line).groups()  # type: ignore[union-attr]
                    yield other, wanted
        case "Cargo.toml":
            data = tomllib.loads(text)
            yield name, data["package"]["version"]
            for other, wanted in data["dependencies"].items():
                if isinstance(wanted, dict):
                    yield other, f"^{wanted['version']}"
        case "go.mod":
            yield from re.findall(rf"^\t{OWN}\.example/(\S+) (v\S+)$", text, re.MULTILINE)


KINDS = ("package.json", "pyproject.toml", "Cargo.toml", "go.mod")


def audit(root: Path) -> dict[str, object]:
    """Compare every manifest, and payments.toml, with the list of what is released."""
    released: dict[str, str] = tomllib.loads((root / "release.toml").read_text(encoding="utf-8"))["packages"]
    manifests = [path for path in sorted(root.glob("packages/*/*")) if path.name in KINDS]
    asked = [(path, *pair) for path in manifests for pair in requirements(path)]
    config = root / "payments.toml"
    client: dict[str, str] = tomllib.loads(config.read_text(encoding="utf-8"))["client"]
    asked += [(config, *pair) for pair in client.items()]
    findings = [
        {"file": str(path.relative_to(root)), "package": name, "asks": wanted, "released": released[name]}
        for path, name, wanted in asked
        if not admits(wanted, released[name])
    ]
    kinds = {kind: sum(path.name == kind for path in manifests) for kind in KINDS}
    return {"packages": len(manifests), "manifests": kinds, "compared": len(asked), "findings": findings}
