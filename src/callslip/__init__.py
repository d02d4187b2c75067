"""Callslip: the durable runtime between a model's tool calls and the real world."""

__version__ = "0.1.0.dev0"
