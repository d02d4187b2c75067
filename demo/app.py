"""The application of the demo: ``rt``, a Runtime wired as a project of one's own would wire it.

Where its parts are comes from the environment: ``DEMO_WORKSPACE``, ``DEMO_BANK`` and ``CALLSLIP_STATE``.
"""

from __future__ import annotations

import os
from pathlib import Path

from callslip.application import Runtime
from callslip.workspace.tools import workspace_tools
from demo.tools import office_tools

SYSTEM = (
    "You work in the office of Tidewater Books. Use the tools, one call at a time, in the order you are asked. "
    "Never pay or post anything twice. End with a short summary."
)

_state = Path(os.environ["CALLSLIP_STATE"])
_workspace = Path(os.environ["DEMO_WORKSPACE"])

rt = Runtime(
    tools=[*workspace_tools(_workspace, state=_state), *office_tools(_workspace, os.environ["DEMO_BANK"])],
    state=_state,
    workspace=_workspace,
    policy={"write": "allow", "tool.pay_invoice": "ask"},
    system=SYSTEM,
)
