"""The three tools of the office: one that reads, one that can be asked about, one that nobody can ask about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer
from callslip.sources.functions import Tool, tool
from demo import wire
from demo.versions import audit

ACCOUNT = "tidewater"
QUIET = 1.0
"""Seconds after which a charge that was sent can't arrive any more: the bank is on this very machine."""


def office_tools(workspace: Path, bank: str) -> list[Tool]:
    """``check_versions``, ``pay_invoice`` and ``send_letter``, for one workspace and one bank."""

    @tool(risk="read", recovery="idempotent", untrusted_fields=())
    def check_versions() -> dict[str, Any]:
        """Compare the manifests of all packages, and payments.toml, with the list of released versions."""
        return audit(workspace)

    def was_it_charged(context: Context, **_: Any) -> Any:
        if os.environ.get("DEMO_PROBE") == "lies":
            return None
        try:
            return wire.ask(bank, "GET", f"/charges?key={context.idempotency_key}")
        except wire.MissingError:
            return ProbeAnswer(happened=False)

    @tool(
        risk="write",
        recovery="probe",
        probe=was_it_charged,
        quiet=QUIET,
        timeout=30,
        identity_arguments=("payee", "invoice"),
    )
    def pay_invoice(context: Context, invoice: str, payee: str, amount_cents: int) -> Any:
        """Pay an invoice from the office's account. The money leaves at once.

        Args:
            context: What the runtime gives; no argument of the call.
            invoice: The invoice's number.
            payee: Who is paid.
            amount_cents: The amount in euro cents.
        """
        body = {"account": ACCOUNT, "invoice": invoice, "payee": payee, "amount_cents": amount_cents}
        return wire.ask(bank, "POST", "/charges", body, {"Idempotency-Key": context.idempotency_key})

    @tool(risk="write", recovery="never", timeout=30, identity_arguments=("to",))
    def send_letter(to: str, subject: str, text: str) -> Any:
        """Post a paper letter. Once posted it can be neither called back nor traced.

        Args:
            to: Who gets it.
            subject: What it is about.
            text: What it says.
        """
        return wire.ask(bank, "POST", "/letters", {"to": to, "subject": subject, "text": text})

    return [check_versions, pay_invoice, send_letter]
