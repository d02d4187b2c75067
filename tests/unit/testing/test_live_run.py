"""The live run, tried without keys and against the contract server: that it is off, says why, and would work."""

import os
import subprocess
import sys
from pathlib import Path

from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

ROOT = Path(__file__).parents[3]
FORMATS = ["openai_chat", "openai_responses", "anthropic", "gemini", "mistral"]
PROVIDERS = {"OPENAI": "openai_chat", "ANTHROPIC": "anthropic", "GEMINI": "gemini", "MISTRAL": "mistral"}
"""The two of OpenAI's have one address, and the path says which is meant."""


def live(*options, **variables):
    """What `make live` prints, in an environment that has no key but those given."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    command = [sys.executable, "-m", "pytest", "tests/live", "--confcutdir=tests/live", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, *options], cwd=ROOT, env=kept | variables, capture_output=True, text=True, timeout=100, check=False
    )
    return run.returncode, run.stdout


def test_it_is_off_by_itself():
    code, said = live(OPENAI_API_KEY="sk-never-sent")
    assert code == 0
    assert "10 skipped" in said
    assert "live runs are off: `make live`" in said


def test_without_keys_it_says_which_are_missing():
    code, said = live(CALLSLIP_LIVE="1")
    assert code == 0
    assert "10 skipped" in said
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY or GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        assert f"no key: set {variable}" in said


def test_with_keys_it_makes_the_round_trips():
    asked = []

    def shop(body):
        """Every second request is the one with the result."""
        asked.append(body)
        return Says(calls=(Call(_name(body), {"item": "tea"}),)) if len(asked) % 2 else Says("4711")

    with ContractServer(shop, key="sk-live") as server:
        urls = {f"{name}_BASE_URL": server.url(form) for name, form in PROVIDERS.items()}
        urls["OPENAI_BASE_URL"] = server.url("openai_chat").replace("/openai_chat", "")
        keys = {f"{name}_API_KEY": "sk-live" for name in PROVIDERS}
        code, said = live(CALLSLIP_LIVE="1", **urls, **keys)
        assert server.violations == []
        formats = [seen.format for seen in server.seen]
    assert code == 0, said
    assert "10 passed" in said
    assert formats == [name for name in FORMATS for _ in range(4)]


def test_a_model_that_does_not_call_the_tool_is_a_failure():
    with ContractServer(lambda _: Says("4711")) as server:
        variables = {"MISTRAL_API_KEY": "sk-live", "MISTRAL_BASE_URL": server.url("mistral")}
        code, said = live("-k", "mistral", CALLSLIP_LIVE="1", **variables)
    assert code == 1
    assert "the model did not call the tool" in said
    assert "sk-live" not in said


def _name(body):
    tool = body["tools"][0]
    tool = tool.get("functionDeclarations", [tool])[0]
    return tool.get("function", tool)["name"]
