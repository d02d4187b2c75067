"""The ``version`` function of a tool: which arguments it takes, and whose version it gives (PARA-02)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from callslip.core import canon
from callslip.core.claim import fill
from callslip.core.tool import Risk, ToolSpec
from callslip.core.version import Version, own_claims

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Asks:
    """Which version there is, asked of the function that a tool declares; it is given the arguments that it names."""

    def __init__(self, function: Callable[..., Any], spec: ToolSpec) -> None:
        self.function = function
        self._names = [one.name for one in _parameters(function) if one.kind in _BY_NAME]
        self._claims = own_claims(spec.claims)
        claimed = "".join(self._claims)
        self._unclaimed = [name for name in self._names if f"{{{name}}}" not in claimed]
        self._tool = spec.name

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with."""
        return {name: arguments[name] for name in self._names if name in arguments}

    def version(self, arguments: Mapping[str, Any], value: Any) -> Version:
        """What it gave, with the name of what has it: another one whenever the function was asked about another."""
        of = ", ".join(fill(self._claims, arguments)) or self._tool
        rest = {name: arguments[name] for name in self._unclaimed if name in arguments}
        return Version(of=f"{of} {canon.canonical(rest).decode()}" if rest else of, value=value)


def complaint(function: Callable[..., Any] | None, spec: ToolSpec) -> str | None:
    """What is wrong with the declaration, as half a sentence."""
    properties = spec.input_schema.get("properties", {})
    if function is None:
        return "expects needs a version function, which says what it is compared with" if spec.expects else None
    if spec.client_owned:
        return "version is for what runs here: a client compares for itself"
    if spec.risk is not Risk.READ and not own_claims(spec.claims):
        return (
            "version needs a claim that keeps others out, such as claims=['ticket:{id}']: without one, two calls see "
            "the same version and both go on"
        )
    if spec.expects and spec.expects not in properties:
        return f"expects names {spec.expects!r}, which is no argument of it"
    return _signature_complaint(function, spec)


def _signature_complaint(function: Callable[..., Any], spec: ToolSpec) -> str | None:
    try:
        parameters = _parameters(function)
    except (TypeError, ValueError):
        return "version has no signature that could be read: wrap it in a function that names its arguments"
    properties = spec.input_schema.get("properties", {})
    named = [one for one in parameters if one.kind in _BY_NAME]
    if not named and parameters:
        return "version has to name the arguments it takes, as in `def current(id)`"
    for one in parameters:
        needed = one.default is Parameter.empty
        if one.kind is Parameter.POSITIONAL_ONLY or (one in named and one.name not in properties and needed):
            return f"version takes {one.name!r}, which is no argument of it"
        if one in named and needed and one.name not in spec.input_schema.get("required", ()):
            return f"version takes {one.name!r}, which a call may leave out: give it a default"
    return None


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    return list(inspect.signature(function).parameters.values())
