"""One readable text that tells a model how to mend its call."""

from callslip.schema.explain import TEXT_LENGTH, explain
from callslip.schema.field_error import FieldError, path_text, short_json
from callslip.schema.validate import compile_schema


def error(path, rule="type", got="1", allowed=("string",), message="must be of type string"):
    return FieldError(path=path, rule=rule, got=got, allowed=allowed, message=message)


def test_no_errors_need_no_words():
    assert explain("find_order", ()) == ""


def test_one_error_is_one_sentence():
    text = explain("find_order", (error("customer.id"),))
    assert text == (
        "find_order was not run: customer.id must be of type string, got 1. Correct this and call find_order again."
    )


def test_a_missing_field_names_its_type():
    text = explain("t", (error("city", "required", "", ("string",), "is required but missing"),))
    assert "city (of type string) is required but missing" in text


def test_the_nearest_known_name_is_offered():
    known = ("city", "detailed")
    assert "did you mean detailed?" in explain("t", (error("Detail", "additionalProperties", "1", known, ""),))
    text = explain("t", (error("zzz", "additionalProperties", "1", known, ""),))
    assert "did you mean" not in text
    assert "known: city, detailed" in text
    assert "leave it out" in explain("t", (error("zzz", "additionalProperties", "1", (), ""),))


def test_alternatives_are_listed():
    schema = {"properties": {"when": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}}
    assert "allowed: integer, boolean" in explain("t", compile_schema(schema).errors({"when": "x"}))


def test_a_thousand_errors_stay_short_and_counted():
    errors = tuple(error(f"rows[{number}].name") for number in range(1000))
    text = explain("t", errors)
    assert "rows[5].name" in text
    assert "and 994 more" in text
    assert len(text) <= TEXT_LENGTH


def test_long_parts_stay_short():
    long = error("p" * 5000, "enum", "g" * 5000, tuple("a" * 5000 for _ in range(50)), "m" * 5000)
    assert len(explain("n" * 5000, (long,) * 10)) <= TEXT_LENGTH


def test_paths_read_like_code():
    assert path_text(["a", 0, "b"]) == "a[0].b"
    assert path_text([]) == ""
    assert path_text(["x.y", "", 'q"']) == '["x.y"][""]["q\\""]'
    assert len(path_text(["k" * 30] * 50)) <= 200


def test_short_json_is_short_for_anything():
    for value in ("x" * 9999, list(range(9999)), {"k" * 99: "v" * 999}, 10**4000, {"a": [{"b": "c" * 99}] * 99}):
        assert len(short_json(value, 80)) <= 80, value
    assert short_json({"a": [1, "b", None, True, 1.5]}) == '{"a": [1, "b", null, true, 1.5]}'
    assert short_json("x" * 200).endswith('…"')
