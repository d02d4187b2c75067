"""The names that telemetry goes by, in one place, since those of generative AI are not stable yet.

``gen_ai.*``: the semantic conventions for generative AI of OpenTelemetry, in development. They moved to
github.com/open-telemetry/semantic-conventions-genai; names as in its docs/gen-ai at commit 004902b (metrics) and in
opentelemetry-semantic-conventions 0.66b2, schema 1.44.0 (attributes). ``error.type`` is stable. ``callslip.*`` are our
own (docs/howto/telemetry.md).
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "callslip"
SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"

# Operations: values of OPERATION, and what spans' names begin with

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

# Attributes

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - no secret
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"

LAYER: Final = "callslip.layer"
"""Of an error: one of the seven (docs/reference/codes.md)."""
ATTEMPT: Final = "callslip.attempt"
EFFECT: Final = "callslip.effect"
INSTEAD_OF: Final = "callslip.instead_of"
"""The tool that was called, where another one stands in."""
HEDGED: Final = "callslip.hedged"
"""Of an attempt that was executed twice: which execution answered, ``first``, ``second`` or ``neither``."""
WAITED_MS: Final = "callslip.waited_ms"
"""How long the attempt waited for what it claims."""
STEP: Final = "callslip.step"
RUN_STATUS: Final = "callslip.run.status"
OUTCOME: Final = "callslip.outcome"
"""Of a call: ``success``, ``failed``, ``refused``, or ``fallback``."""
WAIT: Final = "callslip.wait"
"""What is waited for: ``claims``, or a kind of wait (docs/reference/waits.md)."""

# Metrics

CLIENT_DURATION: Final = "gen_ai.client.operation.duration"
CLIENT_TOKENS: Final = "gen_ai.client.token.usage"
AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
TOOL_CALLS: Final = "callslip.tool.calls"
TOOL_RETRIES: Final = "callslip.tool.retries"
TOOL_FAILURES: Final = "callslip.tool.attempt.failures"
TOOL_WAITS: Final = "callslip.tool.wait.duration"
TOOL_LATE: Final = "callslip.tool.late"
BREAKER_OPENED: Final = "callslip.breaker.opened"
BREAKER_STATE: Final = "callslip.breaker.state"

# Bounds of histograms, as the conventions have them

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
AGENT_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)

PROVIDERS: Final = {"gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Where the conventions name a provider otherwise than we do."""


def provider(model: str) -> str:
    """The provider of a model that is named ``openai:gpt-5``."""
    name, colon, _ = model.partition(":")
    return PROVIDERS.get(name, name) if colon else "callslip"


def bare(model: str) -> str:
    """The model's name at its provider."""
    _, colon, name = model.partition(":")
    return name if colon else model
