"""Secrets that come out of a tool: gone before the log, the model, or anyone's eyes."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
import zstandard

from callslip import Runtime, ToolFailed, ToolResult, tool
from callslip.runtime.redact import Redactor

pytestmark = pytest.mark.requirement("RSLT-05")

HELD = 'correct"horse\\battery/ä'
SHAPES = [
    "sk-" + "a" * 24,
    "sk-proj-" + "A1_-" * 6,
    "ghp_" + "a" * 36,
    "github_pat_" + "a" * 22,
    "xoxb-1234567890-abc",
    "AKIA" + "A" * 16,
    "AIza" + "a" * 35,
    "sk_live_" + "a" * 16,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXBhcnQ",
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----",
]


class TestRedactor:
    @pytest.mark.parametrize("secret", SHAPES)
    def test_known_shapes(self, secret):
        assert Redactor().clean(f"before {secret} after") == "before [redacted] after"

    @pytest.mark.parametrize("harmless", ["sk-short", "a risk-free ask", "eyJ.eyJ.x", "ghp_", "AKIA1", "tick-tock"])
    def test_what_only_looks_a_little_like_one_stays(self, harmless):
        assert Redactor().clean(harmless) == harmless

    @pytest.mark.parametrize(
        "spelling",
        [
            HELD, json.dumps(HELD)[1:-1], json.dumps(HELD, ensure_ascii=False)[1:-1], quote(HELD, safe=""),
            base64.b64encode(HELD.encode()).decode(),
        ],
        ids=["as it is", "JSON", "JSON in UTF-8", "URL", "base64"],
    )  # fmt: skip
    def test_a_held_secret_in_every_spelling(self, spelling):
        assert Redactor([HELD]).clean(f"<{spelling}>") == "<[redacted]>"

    def test_a_secret_inside_another_leaves_nothing_of_it(self):
        assert Redactor(["password", "password-and-more"]).clean("password-and-more") == "[redacted]"

    def test_json_stays_json(self):
        text = json.dumps({"a": HELD, "b": [*SHAPES[:-1], "fine"]})
        assert json.loads(Redactor([HELD]).clean(text)) == {"a": "[redacted]", "b": ["[redacted]"] * 9 + ["fine"]}


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["returned", "summary", "raised", "failed", "refused", "prepared", "partly"])
async def test_it_reaches_neither_file_nor_model(tmp_path, how):
    secret = "the-password-of-the-house"

    def rule(arguments):
        return f"not with {secret}" if how == "refused" else None

    def prepare():
        if how == "prepared":
            raise ToolFailed(f"no {secret}")

    @tool(risk="read", rules=[rule], prepare=prepare)
    async def look() -> object:
        """Look."""
        if how == "raised":
            raise RuntimeError(secret)
        if how == "failed":
            raise ToolFailed(f"denied to {secret}")
        if how == "summary":
            return ToolResult(summary=f"It is {secret}.", structured=1)
        return {"x" * 5000: secret} if how == "partly" else {"inner": [secret]}

    async with Runtime(tools=[look], secrets=[secret], state=tmp_path / "s") as runtime:
        batch = await runtime.dispatch([{"name": "look", "input": {}}], session="s", step="1")
    assert secret not in batch.messages("openai_chat")[0]["content"]
    files = {path: path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file()}
    blobs = [zstandard.ZstdDecompressor().decompress(data) for path, data in files.items() if "blobs" in path.parts]
    assert len(blobs) == (how == "partly")
    assert not any(secret.encode() in one for one in [*files.values(), *blobs])


@pytest.mark.anyio
async def test_the_runtimes_own_keys_are_held(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_API_KEY", "value-of-the-service-key")

    @tool(risk="read")
    async def environment() -> str:
        """Show."""
        return "SOME_SERVICE_API_KEY=value-of-the-service-key"

    async with Runtime(tools=[environment]) as runtime:
        batch = await runtime.dispatch([{"name": "environment", "input": {}}], session="s", step="1")
    assert batch.results[0].result.structured == "SOME_SERVICE_API_KEY=[redacted]"
