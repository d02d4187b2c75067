"""Python types to JSON Schema, by pydantic: without title noise, closed, and with the words of the docstring.

Stands between `signature` and `derive`. Invariant: a schema made here accepts what the type does and names no
property that would silently be dropped on the way to Python.
"""

import json
import typing
from typing import Annotated, Any, Final

from pydantic import TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError

from callslip.schema.modern import modern
from callslip.schema.signature import EMPTY, Parameter, UnsupportedSignature

MAPS_OF_SCHEMAS: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
PLAIN_VALUES: Final = frozenset({"default", "const", "enum", "examples", "example"})
NO_FORM: Final = (PydanticUserError, PydanticUndefinedAnnotation)


class _Quiet(GenerateJsonSchema):
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's own name


def adapter_for(parameter: Parameter, tool: str) -> TypeAdapter[Any]:
    annotation = parameter.annotation
    if isinstance(parameter.default, FieldInfo):
        annotation = Annotated[annotation, parameter.default]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(modern(annotation))
        adapter.json_schema(schema_generator=_Quiet)
    except NO_FORM as error:
        kind = getattr(annotation, "__name__", None) or str(annotation)
        raise UnsupportedSignature(
            f"{tool}'s parameter {parameter.name} is of type {kind}, which has no JSON form: use a pydantic model, "
            "dataclass, TypedDict or a plain type, or mark it as the context parameter"
        ) from error
    return adapter


def input_schema_of(
    parameters: tuple[Parameter, ...], adapters: dict[str, TypeAdapter[Any]], described: dict[str, str]
) -> dict[str, Any]:
    mode: JsonSchemaMode = "validation"
    inputs = [(name, mode, adapter) for name, adapter in adapters.items()]
    schemas, shared = TypeAdapter.json_schemas(inputs, schema_generator=_Quiet)
    properties: dict[str, Any] = {}
    for parameter in parameters:
        schema = _tidy(schemas[parameter.name, mode], closed=True)
        if text := _annotated_text(parameter.annotation) or schema.get("description") or described.get(parameter.name):
            schema["description"] = text
        properties[parameter.name] = schema | _default(parameter, adapters[parameter.name])
    whole: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [parameter.name for parameter in parameters if parameter.required]:
        whole["required"] = required
    whole["additionalProperties"] = False
    if "$defs" in shared:
        whole["$defs"] = {name: _tidy(schema, closed=True) for name, schema in shared["$defs"].items()}
    return whole


def output_schema_of(returns: Any) -> dict[str, Any] | None:
    if returns in {EMPTY, Any, None, type(None)}:
        return None
    try:
        schema = TypeAdapter(modern(returns)).json_schema(mode="serialization", schema_generator=_Quiet)
    except NO_FORM:  # such as a result class of the runtime's own
        return None
    return _tidy(schema, closed=False) or None


def _annotated_text(annotation: Any) -> str:
    """The text in Annotated[int, "text"] or Annotated[int, Doc("text")]; pydantic reads its own Field itself."""
    if typing.get_origin(annotation) is not Annotated:
        return ""
    for extra in typing.get_args(annotation)[1:]:
        text = extra if isinstance(extra, str) else getattr(extra, "documentation", None)
        if isinstance(text, str) and text:
            return text
    return ""


def _default(parameter: Parameter, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The default as a note for the model, when it has a JSON form that the schema itself would accept."""
    if parameter.default is EMPTY or isinstance(parameter.default, FieldInfo):
        return {}
    try:
        default = adapter.dump_python(parameter.default, mode="json", warnings=False)
        text = json.dumps(default, allow_nan=False)
        adapter.validate_json(text, strict=True)
    except (PydanticSerializationError, TypeError, ValueError):
        return {}
    return {"default": default}


def _tidy(schema: Any, *, closed: bool) -> Any:
    """Drop the titles that only repeat names; close objects whose unknown properties would silently be ignored."""
    if isinstance(schema, list):
        return [_tidy(item, closed=closed) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidied: dict[str, Any] = {}
    for key, value in schema.items():
        if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
            tidied[key] = {name: _tidy(inner, closed=closed) for name, inner in value.items()}
        elif key in PLAIN_VALUES:
            tidied[key] = value
        elif key != "title":
            tidied[key] = _tidy(value, closed=closed)
    if closed and "properties" in tidied:
        tidied.setdefault("additionalProperties", False)
    return tidied
