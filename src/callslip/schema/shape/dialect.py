"""What one provider's schemas may hold, as of 2026-11, each rule with its source.

A dialect is data: the walk in `node` asks it, and nothing else in this package knows a provider's name. A keyword that
a dialect doesn't keep goes into the description, so the model still reads it, and the canonical schema still enforces
it afterwards. Where a vendor documents less than its server was seen to demand, the public issue stands as the source.

Two rules hold for every dialect. The root is an object without a union beside it: OpenAI, "schema must have type
'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level" (github.com/nspady/google-calendar-mcp/
issues/39); Anthropic, "input_schema does not support oneOf, allOf, or anyOf at the top level" (github.com/anthropics/
claude-code/issues/5973). And `$schema`, `$id` and patterns are never sent: Mistral refuses the first two
(github.com/BerriAI/litellm/pull/13389), and a pattern is compiled by another engine in every place, some of which fail
the whole request (github.com/ggml-org/llama.cpp/issues/26930).
"""

from typing import Final, Literal

import msgspec

__all__ = ["ANTHROPIC", "COMPATIBLE", "CONSTRAINED", "GEMINI", "MISTRAL", "OPENAI", "Dialect", "KeyRule", "Limits"]

BOUNDS: Final = frozenset(
    {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
        "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
    }
)  # fmt: skip


class KeyRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which property keys are accepted; others get an alias."""

    characters: str
    """The inside of a regular expression's character class."""
    first: str
    """The same for the first character."""
    longest: int


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a strict schema may be; None where the vendor states no limit."""

    properties: int | None = None
    """All properties of all objects together."""
    nesting: int | None = None
    """Objects and arrays inside each other. OpenAI doesn't say what counts as a level: each one is counted here."""
    enum_values: int | None = None
    """All values of all enums together."""
    long_enum: tuple[int, int] | None = None
    """An enum of more strings than the first number may hold no more characters than the second."""
    names: int | None = None
    """Characters of all property names, definition names and enum values together."""
    optional: int | None = None
    """Properties that may be left out. Counted over all strict tools of a request."""
    unions: int | None = None
    """Parameters with anyOf or a list of types. Counted over all strict tools of a request."""
    tools: int | None = None
    """Strict tools in one request."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What one provider's schemas may hold."""

    name: str
    strict: bool
    """Whether the provider knows the word, and so whether `strict` may ever be true."""
    optional_as_null: bool = False
    """In strict form every property is required, and one that could be left out may be null instead."""
    keeps: frozenset[str] = frozenset()
    """Constraint keywords that are sent as such in the form that isn't strict."""
    strict_keeps: frozenset[str] = frozenset()
    """The same in strict form."""
    formats: frozenset[str] = frozenset()
    """Values of `format` that are sent as such, in both forms."""
    references: Literal["kept", "inlined"]
    """Whether shared parts stand under $defs, or at each place where they are used."""
    recursion: bool
    """Whether a schema that isn't strict may refer to itself. If not, the second round is cut short."""
    strict_recursion: bool = False
    enum_of_strings: bool = False
    """An enum may hold strings only, and stands beside `type: string`."""
    union_described: bool = True
    """Whether a description may stand beside anyOf; if not, it goes into the first form."""
    empty_properties: bool = True
    """Whether an object without properties says `properties: {}`."""
    keys: KeyRule | None = None
    limits: Limits = Limits()


STRUCTURED_OUTPUTS: Final = Limits(
    properties=5000, nesting=10, enum_values=1000, long_enum=(250, 15_000), names=120_000
)
"""OpenAI docs, "Structured model outputs" > "Supported schemas"."""

OPENAI: Final = Dialect(
    name="openai",
    strict=True,
    optional_as_null=True,
    keeps=BOUNDS | {"default", "format"},
    references="kept",
    recursion=True,
    strict_recursion=True,
    limits=STRUCTURED_OUTPUTS,
)
"""Chat Completions and Responses.

Strict (OpenAI docs, "Structured model outputs" > "Supported schemas"): every object is closed and requires all its
properties, "optional" is a union with null, unions are anyOf, parts stand under $defs and may recurse; no allOf, not,
if or dependent*. Seen besides: a $ref takes no siblings, every schema has a type (github.com/can1357/oh-my-pi/issues/
211). The bounds and formats that newer models take in strict form are refused for fine-tuned ones (same page), so they
are described instead. Without strict, the list is looser, but an array still needs `items` (github.com/sigoden/aichat/
pull/1049). Strict is sent either way, as the Responses API takes it to be on when it is left out (OpenAI docs,
"Function calling" > "Strict mode").
"""

ANTHROPIC: Final = Dialect(
    name="anthropic",
    strict=True,
    keeps=BOUNDS | {"default"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}),
    references="kept",
    recursion=True,
    keys=KeyRule(characters="a-zA-Z0-9_.-", first="a-zA-Z0-9_.-", longest=64),
    limits=Limits(optional=24, unions=16, tools=20),
)
"""The Messages API.

Strict (Anthropic docs, "Structured outputs" > "JSON Schema limitations" and "Schema complexity limits"): closed
objects, no recursion, no bounds on numbers, strings or arrays, enums of plain values; at most 20 strict tools, 24
optional parameters and 16 with a union in one request, which `together` counts. Optional stays optional here: a union
with null would cost the scarcer of the two. Property keys: "Property keys should match pattern
'^[a-zA-Z0-9_.-]{1,64}$'" (github.com/beautyfree/appstore-connect-mcp/issues/2). Only the outermost object was seen to
be checked; all are renamed.
"""

GEMINI: Final = Dialect(
    name="gemini",
    strict=False,
    keeps=frozenset({"minimum", "maximum", "minItems", "maxItems"}),
    references="inlined",
    recursion=False,
    enum_of_strings=True,
    union_described=False,
    empty_properties=False,
    keys=KeyRule(characters="a-zA-Z0-9_", first="a-zA-Z_", longest=64),
)
"""generateContent; to be sent as `parametersJsonSchema`.

`parameters` is a protocol buffer in which an unknown keyword or a list of types fails the whole request ("Cannot find
field", github.com/decolua/9router/pull/3018; github.com/taylorwilsdon/google_workspace_mcp/issues/1099), so a union
with null has no form there that both the Gemini API and Vertex AI take. `parametersJsonSchema` (Gemini API reference,
"FunctionDeclaration") takes JSON Schema, of which the reference of `responseJsonSchema` names what is understood:
type, format, description, enum, items, minItems, maxItems, minimum, maximum, anyOf, properties, additionalProperties,
required. What stands here is inside both lists but for lists of types: enums are of strings ("only allowed for STRING
type", github.com/musistudio/llms/pull/20), nothing stands beside anyOf, and there is no $ref at all
(github.com/google-gemini/gemini-cli/issues/13326). Names of parameters: Gemini API reference,
"FunctionDeclaration.parameters". There is no word for strict.
"""

MISTRAL: Final = Dialect(
    name="mistral",
    strict=True,
    optional_as_null=True,
    references="kept",
    recursion=True,
    limits=STRUCTURED_OUTPUTS,
)
"""Chat completions.

The API reference has `tools[].function.strict` and says nothing of what it demands, and its schemas were seen to go
through a grammar compiler (github.com/BerriAI/litellm/pull/13389). So strict takes OpenAI's published subset, without
recursion, which is known to compile, and no constraint keyword is sent in either form.
"""

COMPATIBLE: Final = Dialect(name="compatible", strict=False, references="inlined", recursion=True)
"""Any OpenAI-compatible server: vLLM, llama.cpp, Ollama, LM Studio, gateways.

The common ground. Strict is never sent: many servers refuse fields they don't know. Constraint keywords are described:
llama.cpp turns tools into a grammar that fails on some of them (github.com/ggml-org/llama.cpp/issues/25746, 26930).
Parts are inlined, as chat templates print a parameter's schema where it stands; only recursion keeps its $ref.
"""

CONSTRAINED: Final = Dialect(
    name="constrained",
    strict=True,
    optional_as_null=True,
    references="inlined",
    recursion=False,
    limits=STRUCTURED_OUTPUTS,
)
"""`response_format: json_schema`, and grammars made of a schema.

OpenAI's strict subset without $ref: what comes out refers to nothing, so it can be put inside a larger schema.
"""
