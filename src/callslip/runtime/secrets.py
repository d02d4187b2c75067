"""``secret://name`` in an argument stands for a secret the runtime holds, and is replaced only as the tool is run.

Model, log, digests and approvers see the reference. Only arguments that a tool declares (``secret_arguments``) are
looked at: elsewhere the text is a text, or a model could have any secret sent anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callslip.core.result import Status
from callslip.core.tool import ToolSpec
from callslip.gate.refusal import Refusal

PREFIX = "secret://"


def missing(spec: ToolSpec, arguments: Mapping[str, Any], held: Mapping[str, str]) -> Refusal | None:
    """A refusal when the call names a secret that is not held."""
    for argument in spec.secret_arguments:
        name = _name(arguments.get(argument))
        if name is not None and name not in held:
            return Refusal(
                status=Status.INVALID_ARGUMENTS,
                code="unknown_secret",
                message=f"No secret named {name[:80]!r} is held. Nothing was executed. Use a name you were given.",
            )
    return None


def revealed(spec: ToolSpec, arguments: Mapping[str, Any], held: Mapping[str, str]) -> Mapping[str, Any]:
    """The arguments with their secrets in place of the references, for the executor alone."""
    if not spec.secret_arguments:
        return arguments
    names = {argument: _name(arguments.get(argument)) for argument in spec.secret_arguments}
    found = {argument: held[name] for argument, name in names.items() if name is not None and name in held}
    return {**arguments, **found}


def _name(value: Any) -> str | None:
    return value.removeprefix(PREFIX) if isinstance(value, str) and value.startswith(PREFIX) else None
