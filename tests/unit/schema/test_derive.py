"""From real functions to schemas, and from JSON back to real types."""

import datetime
import enum
import functools
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from callslip.schema.derive import BindError, UnsupportedSignature, bind, derive
from callslip.schema.validate import compile_schema


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Place(TypedDict, total=False):
    city: str
    zones: "list[int]"


@dataclass
class Night:
    day: datetime.date
    beds: int = 1


class Guest(pydantic.BaseModel):
    title: str
    nights: list[Night] = []

    @pydantic.field_validator("title")
    @classmethod
    def _known(cls, value):
        if value == "Sir":
            raise ValueError("no knights")
        return value


class Context:
    pass


class Special(Context):
    pass


def forecast(
    city: str, unit: Unit = Unit.CELSIUS, days: Annotated[int, pydantic.Field(ge=1, le=14)] = 3
) -> dict[str, int]:
    """Tell the weather of the next days.

    Do not use for past weather.

    Args:
        city: the city's name,
            in English
        unit (Unit): of the temperatures
        days: how many.

    Returns:
        Temperatures.
    """


def properties(function, **options):
    return derive(function, **options).input_schema["properties"]


@pytest.mark.requirement("SPEC-02")
def test_a_plain_function():
    derived = derive(forecast)
    assert derived.name == "forecast"
    assert derived.description == "Tell the weather of the next days.\n\nDo not use for past weather."
    assert derived.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "the city's name, in English"},
            "unit": {"$ref": "#/$defs/Unit", "description": "of the temperatures", "default": "celsius"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "description": "how many.", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"Unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    }
    assert derived.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert (derived.is_async, derived.is_stream, derived.context_parameter) == (False, False, None)
    assert list(derived.signature.parameters) == ["city", "unit", "days"]


def test_no_parameters():
    def ping():
        pass

    assert derive(ping).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert derive(ping).description == ""
    assert bind(derive(ping), {}) == {}


def numpy_style(city, days):
    """Weather.

    Parameters
    ----------
    city : str
        The city.
        In English.
    days : int, optional
        How many.

    Returns
    -------
    str
        Words.
    """


def sphinx_style(city, days):
    """Weather.

    :param city: The city.
        In English.
    :param int days: How many.
    :returns: Words.
    """


def google_style(city, days):
    """Weather.

    Args:
        city (str): The city.
            In English.
        days: How many.
    """


@pytest.mark.parametrize("function", [numpy_style, sphinx_style, google_style])
def test_docstring_styles(function):
    derived = derive(function)
    assert derived.description == "Weather."
    assert derived.input_schema["properties"] == {
        "city": {"description": "The city. In English."},
        "days": {"description": "How many."},
    }
    assert derived.input_schema["required"] == ["city", "days"]


def test_descriptions_in_annotations_win():
    def tool(
        a: Annotated[int, "first"],
        b: Annotated[int, pydantic.Field(description="second")],
        c: Annotated[int, None, "third"] = 1,
    ):
        """Do.

        Args:
            a: not this
            b: not this
        """

    assert {name: schema["description"] for name, schema in properties(tool).items()} == {
        "a": "first",
        "b": "second",
        "c": "third",
    }


def test_text_after_a_section_and_unknown_sections_stay():
    def tool(a):
        """Do.

        Note:
            Slow.

        Args:
            a: x

        Not for drafts.
        """

    assert derive(tool).description == "Do.\n\nNote:\n    Slow.\n\nNot for drafts."


def test_types_become_schemas():
    def tool(
        a: int | None,
        b: Literal["x", "y"],
        c: list[Night],
        d: Place,
        e: int | str,
        f: Guest,
        g: Any,
        h: dict[str, float],
        i: datetime.datetime,
    ): ...

    schema = derive(tool).input_schema
    made = schema["properties"]
    assert made["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert made["b"] == {"type": "string", "enum": ["x", "y"]}
    assert made["c"] == {"type": "array", "items": {"$ref": "#/$defs/Night"}}
    assert made["e"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert made["g"] == {}
    assert made["h"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert made["i"] == {"type": "string", "format": "date-time"}
    assert schema["$defs"]["Place"]["properties"] == {
        "city": {"type": "string"},
        "zones": {"type": "array", "items": {"type": "integer"}},
    }
    assert "required" not in schema["$defs"]["Place"]
    # A field named "title" is no title noise, and nested objects are closed as well.
    assert schema["$defs"]["Guest"]["properties"]["title"] == {"type": "string"}
    assert all(one["additionalProperties"] is False for one in schema["$defs"].values())
    compile_schema(schema)


def test_bind_makes_the_types():
    def tool(
        unit: Unit,
        nights: list[Night],
        guest: Guest,
        place: Place,
        when: datetime.date | None,
        many: tuple[int, str],
        n: int,
    ): ...

    arguments = {
        "unit": "celsius",
        "nights": [{"day": "2026-02-28", "beds": 2}],
        "guest": {"title": "Dr", "nights": [{"day": "2026-03-01"}]},
        "place": {"city": "Oslo"},
        "when": "2026-01-01",
        "many": [1, "a"],
        "n": 12345678901234567890123,
    }
    derived = derive(tool)
    assert compile_schema(derived.input_schema).errors(arguments) == ()
    assert bind(derived, arguments) == {
        "unit": Unit.CELSIUS,
        "nights": [Night(datetime.date(2026, 2, 28), 2)],
        "guest": Guest(title="Dr", nights=[Night(datetime.date(2026, 3, 1))]),
        "place": {"city": "Oslo"},
        "when": datetime.date(2026, 1, 1),
        "many": (1, "a"),
        "n": 12345678901234567890123,
    }


def test_bind_keeps_numbers_exact_and_reads_whole_floats_as_integers():
    def tool(n: int, f: float, g: Any, u: int | str, deep: list[dict[str, int]]): ...

    bound = bind(derive(tool), {"n": 3.0, "f": 3.0, "g": 3.0, "u": 1e22, "deep": [{"x": 2.0}]})
    assert bound == {"n": 3, "f": 3.0, "g": 3.0, "u": 10**22, "deep": [{"x": 2}]}
    # As its digits say: the float itself is 99999999999999991611392.
    assert bind(derive(tool), {"n": 1e23, "f": 1.0, "g": 1.0, "u": 1, "deep": []})["n"] == 10**23
    assert [type(bound[name]) for name in "nfgu"] == [int, float, float, int]
    assert type(bound["deep"][0]["x"]) is int


@pytest.mark.requirement("ARGS-02")
def test_bind_lets_no_integer_become_an_infinity():
    @dataclass
    class Point:
        x: float

    def tool(f: float, many: list[Point], named: dict[str, float], n: int, s: str): ...

    large = {"f": 10**308, "many": [{"x": 1}], "named": {}, "n": 10**400, "s": "9" * 400}
    assert bind(derive(tool), large)["n"] == 10**400
    for fault in ({"f": 10**309}, {"f": -(10**400)}, {"many": [{"x": 10**309}]}, {"named": {"a": 10**309}}):
        with pytest.raises(BindError, match="too large for a 64-bit float") as caught:
            bind(derive(tool), large | fault)
        assert [error.path for error in caught.value.errors] == list(fault)


@pytest.mark.parametrize("value", ["5", True, 3.5, None, [3.0]])
def test_bind_coerces_nothing(value):
    def tool(n: int): ...

    with pytest.raises(BindError) as caught:
        bind(derive(tool), {"n": value})
    assert caught.value.errors[0].path.startswith("n")


def test_bind_refuses_what_only_the_type_can_judge_with_field_errors():
    def tool(guest: Guest, ctx: Context): ...

    derived = derive(tool, context_type=Context)
    with pytest.raises(BindError, match="no knights") as caught:
        bind(derived, {"guest": {"title": "Sir"}})
    assert [(error.path, error.got) for error in caught.value.errors] == [("guest.title", '"Sir"')]
    with pytest.raises(BindError, match="not a known property"):
        bind(derived, {"ctx": {}})


NOTHING, FORMLESS, EMPTY_LIST = None, object(), []


def test_defaults_are_noted_and_never_inserted():
    def tool(
        a: int = 1,
        b: str | None = None,
        c: int = NOTHING,
        d: Any = FORMLESS,
        e: list[int] = EMPTY_LIST,
        f: float = float("nan"),
    ): ...

    made = properties(tool)
    assert {name: schema.get("default", "none") for name, schema in made.items()} == {
        "a": 1,
        "b": None,
        "c": "none",
        "d": "none",
        "e": [],
        "f": "none",
    }
    assert "required" not in derive(tool).input_schema
    assert bind(derive(tool), {}) == {}


def test_a_field_as_default_gives_its_own_default_to_the_call():
    def tool(a: int = pydantic.Field(description="needed"), b: int = pydantic.Field(default=2, le=9)): ...

    derived = derive(tool)
    assert derived.input_schema["required"] == ["a"]
    assert derived.input_schema["properties"]["a"]["description"] == "needed"
    assert derived.input_schema["properties"]["b"] == {"type": "integer", "maximum": 9, "default": 2}
    assert bind(derived, {"a": 1}) == {"a": 1, "b": 2}


@pytest.mark.parametrize("wanted", [Context, "Context"])
@pytest.mark.parametrize("annotation", [Context, "Context", Context | None, Annotated[Context, "x"]])
def test_the_context_parameter_is_not_the_models(wanted, annotation):
    def tool(a: int, ctx): ...

    tool.__annotations__["ctx"] = annotation
    derived = derive(tool, context_type=wanted)
    assert derived.context_parameter == "ctx"
    assert list(derived.input_schema["properties"]) == ["a"]
    assert "ctx" in derived.signature.parameters


def test_context_by_subclass_and_by_a_name_known_to_type_checkers_only():
    def special(ctx: Special): ...

    def hidden(ctx: "lib.Elsewhere[int]"): ...  # noqa: F821

    assert derive(special, context_type=Context).context_parameter == "ctx"
    assert derive(hidden, context_type="Elsewhere").context_parameter == "ctx"


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Desk:
    """A desk."""

    def book(self, room: int) -> str:
        """Book a room."""
        return f"{room}"

    @logged
    async def cancel(self, room: int): ...

    @classmethod
    def of(cls, name: str): ...

    @staticmethod
    def plain(name: str): ...


class LookUp:
    """Look something up."""

    async def __call__(self, word: str) -> int: ...


class Guarded:
    """Guarded."""

    @logged
    async def __call__(self, key: str): ...


@functools.lru_cache
def cached(key: str) -> int: ...


async def fetch(url: str, token: str) -> bytes:
    """Fetch."""


def later(n: int) -> Awaitable[int]: ...


@pytest.mark.requirement("SPEC-02")
@pytest.mark.parametrize(
    ("function", "name", "names", "is_async"),
    [
        (Desk().book, "book", ["room"], False),
        (Desk().cancel, "cancel", ["room"], True),
        (Desk.of, "of", ["name"], False),
        (Desk.plain, "plain", ["name"], False),
        (LookUp(), "look_up", ["word"], True),
        (logged(fetch), "fetch", ["url", "token"], True),
        (logged(logged(forecast)), "forecast", ["city", "unit", "days"], False),
        (functools.partial(fetch, token="secret"), "fetch", ["url"], True),
        (functools.partial(fetch, "http://example.test"), "fetch", ["token"], True),
        (functools.partial(LookUp()), "look_up", ["word"], True),
        (logged(functools.partial(fetch, token="secret")), "fetch", ["url"], True),
        (Guarded(), "guarded", ["key"], True),
        (cached, "cached", ["key"], False),
        (later, "later", ["n"], True),
    ],
)
def test_wrapped_and_bound_callables_keep_their_true_signature(function, name, names, is_async):
    derived = derive(function)
    assert (derived.name, list(derived.input_schema["properties"]), derived.is_async) == (name, names, is_async)
    assert "secret" not in repr(derived.input_schema)


def test_documentation_of_callable_objects_and_partials():
    assert derive(LookUp()).description == "Look something up."
    assert derive(functools.partial(fetch, token="x")).description == "Fetch."
    assert derive(Desk().book).description == "Book a room."
    assert derive(lambda: None, name="wait").name == "wait"


async def stream(n: int) -> AsyncIterator[str]:
    yield "a"


def stream_by_hand(n: int) -> AsyncIterator[str]: ...


@pytest.mark.parametrize("function", [stream, logged(stream), stream_by_hand])
def test_streams(function):
    derived = derive(function)
    assert (derived.is_stream, derived.is_async, derived.output_schema) == (True, True, None)
    assert derive(function, output_schema={"type": "string"}).output_schema == {"type": "string"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (None, None),
        (Any, None),
        (Context, None),
        ("Nowhere", None),
        (int, {"type": "integer"}),
        (Awaitable[int], {"type": "integer"}),
        (
            list[Unit],
            {
                "type": "array",
                "items": {"$ref": "#/$defs/Unit"},
                "$defs": {"Unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            },
        ),
    ],
)
def test_output_schemas(annotation, schema):
    def tool(): ...

    assert derive(tool).output_schema is None
    tool.__annotations__["return"] = annotation
    assert derive(tool).output_schema == schema


def test_text_annotations_find_local_and_module_names():
    class Local(pydantic.BaseModel):
        x: int

    def tool(a: "Local", b: "list[Unit]", c: "Local | None" = None) -> "Local": ...

    derived = derive(tool)
    assert derived.input_schema["properties"]["a"] == {"$ref": "#/$defs/Local"}
    assert derived.output_schema["properties"] == {"x": {"type": "integer"}}
    assert bind(derived, {"a": {"x": 1}})["a"] == Local(x=1)


def test_names_are_found_in_a_closure_after_its_function_returned():
    def make():
        class Local(pydantic.BaseModel):
            x: int

        def tool(a: "Local"):
            return Local

        return tool

    assert derive(make()).input_schema["properties"]["a"] == {"$ref": "#/$defs/Local"}


def positional(a, /): ...
def star(*names): ...
def options(**extra): ...
def unknown(a: "Nowhere"): ...  # noqa: F821
def formless(a: Context): ...
def callback(a: type(lambda: 0)): ...
def generator():
    yield 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (positional, ["a", "remove the `/`"]),
        (star, ["*names", "list"]),
        (options, ["**extra", "dict"]),
        (unknown, ["a", "Nowhere", "module level"]),
        (formless, ["a", "Context", "no JSON form"]),
        (callback, ["a", "no JSON form"]),
        (generator, ["generator", "async def"]),
        (Desk.book, ["bound method"]),
        (Desk, ["not a function"]),
        (5, ["not a function"]),
        (lambda: 0, ["def"]),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_advice(function, told):
    with pytest.raises(UnsupportedSignature) as caught:
        derive(function)
    for part in told:
        assert part in str(caught.value)


def test_two_contexts_are_one_too_many():
    def tool(a: Context, b: Context): ...

    with pytest.raises(UnsupportedSignature, match="two context"):
        derive(tool, context_type=Context)


class Node(TypedDict):
    name: str
    inner: "list[Place]"
    maybe: "Place | None"


def test_typed_dicts_inside_types():
    def tool(nodes: dict[str, list[Node]] | None, pair: Annotated[tuple[Node, int], "x"]): ...

    derived = derive(tool)
    assert derived.input_schema["$defs"]["Node"]["required"] == ["name", "inner", "maybe"]
    node = {"name": "n", "inner": [{"city": "Oslo"}], "maybe": None}
    assert bind(derived, {"nodes": {"k": [node]}, "pair": [node, 1]}) == {"nodes": {"k": [node]}, "pair": (node, 1)}
