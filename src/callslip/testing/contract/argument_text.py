"""A call's arguments as the text a vendor sends: an object as JSON, a text to the letter."""

from __future__ import annotations

import json
from typing import Any


def argument_text(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
