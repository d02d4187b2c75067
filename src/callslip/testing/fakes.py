"""A tool that keeps what it was called with, for tests of an application's own loop, policy or prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk, ToolSpec
from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer

Answer = Callable[[Mapping[str, Any]], Any]


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """One execution."""

    arguments: dict[str, Any]
    session: str
    call_id: str
    attempt: int
    idempotency_key: str


class FakeTool:
    """Implements ``Executor``: gives its answers in order, the last one for ever, and keeps every execution. ::

        pay = FakeTool("pay", answers=[TimeoutError(), {"paid": True}], recovery="idempotent")
        …
        assert [call.attempt for call in pay.calls] == [1, 2]

    An answer that is an exception is raised; a function is given the arguments. A probe answers by what was called in
    this process.

    Args:
        name: the tool's name.
        answers: what it returns, in order; nothing at all by default.
        input_schema: any object by default.
        declared: fields of :class:`ToolSpec`; risk ``write`` unless declared.
    """

    def __init__(
        self,
        name: str,
        *,
        answers: Sequence[Any | BaseException | Answer] = (None,),
        input_schema: Mapping[str, Any] | None = None,
        risk: Risk | str = Risk.WRITE,
        recovery: Recovery | str = Recovery.NEVER,
        **declared: Any,
    ) -> None:
        self.calls: list[Called] = []
        self._answers = tuple(answers)
        self.spec = ToolSpec(
            name=name,
            description=declared.pop("description", f"A fake of {name}."),
            input_schema=dict(input_schema or {"type": "object"}),
            risk=Risk(risk),
            recovery=Recovery(recovery),
            **declared,
        )
        self.version = self.spec.version
        self.identity = "fake:" + self.spec.name

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        return None

    async def prepare(self, arguments: Mapping[str, Any]) -> Evidence | None:
        return None

    async def run(self, arguments: Mapping[str, Any], context: Context) -> Any:
        answer = self._answers[min(len(self.calls), len(self._answers) - 1)]
        self.calls.append(
            Called(
                arguments=dict(arguments),
                session=context.session,
                call_id=context.call_id,
                attempt=context.attempt,
                idempotency_key=context.idempotency_key,
            )
        )
        if isinstance(answer, BaseException):
            raise answer
        return answer(arguments) if callable(answer) else answer

    async def probe(self, arguments: Mapping[str, Any], context: Context) -> ProbeAnswer:
        return ProbeAnswer(happened=any(call.idempotency_key == context.idempotency_key for call in self.calls))

    async def digest(self, target: str) -> str:
        return str(len(self.calls))
