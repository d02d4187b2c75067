"""Where a reference inside a schema leads, and which lead nowhere."""

import pytest

from callslip.schema.shape.refs import MISSING, References

pytestmark = pytest.mark.requirement("WIRE-03")


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/prefixItems/1", True),
        ("#/prefixItems/2", False),
        ("#/prefixItems/01", False),
        ("#/prefixItems/-1", False),
        ("#/$defs/a~1b", True),
        ("#/$defs/a%2Fb", False),
        ("#/$defs/%61~1b", True),
        ("#named", True),
        ("#old", True),
        ("#nobody", False),
        ("#/$defs/own/properties/x", False),
        ("https://elsewhere.example/s#/$defs/P", False),
    ],
)
def test_where_a_reference_leads(reference, found):
    document = {
        "prefixItems": [{}, {"type": "string"}],
        "$defs": {
            "a/b": {"type": "string"},
            "c": {"$anchor": "named", "type": "string"},
            "d": {"$id": "#old", "type": "string"},
            "own": {"$id": "https://own.example/s", "properties": {"x": {"type": "string"}}},
        },
    }
    target = References(document).target(reference)
    assert target.get("type") == "string" if found else target is MISSING
