"""The application: five hundred tools, and all that it says about them stands in callslip.toml."""

from library import TOOLS

from callslip import Runtime

rt = Runtime(tools=TOOLS)
