"""Callslip: the durable runtime between a model's tool calls and the real world."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callslip.application import Run as Run, Runtime as Runtime
    from callslip.core.fault import Fault as Fault, one_request as one_request
    from callslip.core.result import Outcome as Outcome, ToolResult as ToolResult
    from callslip.core.state import SessionState as Session
    from callslip.core.wait import Wait as Wait
    from callslip.errors import CallslipError as CallslipError, Conflict as Conflict, ToolFailed as ToolFailed
    from callslip.ports.context import Context as Context
    from callslip.sources.functions import Tool as Tool, tool as tool

_PLACES = {
    "CallslipError": ("callslip.errors", "CallslipError"),
    "Conflict": ("callslip.errors", "Conflict"),
    "Context": ("callslip.ports.context", "Context"),
    "Fault": ("callslip.core.fault", "Fault"),
    "Outcome": ("callslip.core.result", "Outcome"),
    "Run": ("callslip.application", "Run"),
    "Runtime": ("callslip.application", "Runtime"),
    "Session": ("callslip.core.state", "SessionState"),
    "Tool": ("callslip.sources.functions", "Tool"),
    "ToolFailed": ("callslip.errors", "ToolFailed"),
    "ToolResult": ("callslip.core.result", "ToolResult"),
    "Wait": ("callslip.core.wait", "Wait"),
    "one_request": ("callslip.core.fault", "one_request"),
    "tool": ("callslip.sources.functions", "tool"),
}
__all__ = [
    "CallslipError", "Conflict", "Context", "Fault", "Outcome", "Run", "Runtime", "Session", "Tool", "ToolFailed",
    "ToolResult", "Wait", "one_request", "tool",
]  # fmt: skip
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line must answer Ctrl-C before anything heavy is imported."""
    if name not in _PLACES:
        raise AttributeError(f"module 'callslip' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
