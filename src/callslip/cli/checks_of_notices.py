"""Who is told of what needs them: whether each ``[[notify]]`` of the project could work. Nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence

from callslip.cli.checks import Finding, bad, ok
from callslip.errors import CallslipError
from callslip.notify.endpoint import Endpoint, WebhookEndpoint, check, label
from callslip.notify.secret import keys_of


def check_notices(endpoints: Sequence[Endpoint]) -> list[Finding]:
    """What a worker would refuse to start with."""
    if not endpoints:
        return [ok("notices", "nobody is told: no [[notify]] in callslip.toml")]
    wrong: list[Finding] = []
    for endpoint in endpoints:
        try:
            check([endpoint])
            if isinstance(endpoint, WebhookEndpoint):
                keys_of(endpoint)
        except CallslipError as error:
            wrong.append(bad("notices", str(error)))
    if wrong:
        return wrong
    try:
        check(endpoints)
    except CallslipError as error:
        return [bad("notices", str(error))]
    return [ok("notices", f"a worker tells {', '.join(map(label, endpoints))}; nothing was sent now")]
