"""Callslip: the durable runtime between a model's tool calls and the real world."""

from callslip.application import Run, Runtime
from callslip.core.result import Outcome, ToolResult
from callslip.core.state import SessionState as Session
from callslip.core.wait import Wait
from callslip.errors import CallslipError, ToolFailed
from callslip.ports.context import Context
from callslip.sources.functions import Tool, tool

__all__ = [
    "CallslipError",
    "Context",
    "Outcome",
    "Run",
    "Runtime",
    "Session",
    "Tool",
    "ToolFailed",
    "ToolResult",
    "Wait",
    "tool",
]
__version__ = "0.1.0.dev0"
