"""The vendors' stated rules, checked on what is sent; written without a look at how shaping works.

``faults(dialect, schema, strict)`` names every rule that a schema breaks. The sources are the ones named in
``callslip.schema.shape.dialect``.
"""

import re

STRUCTURE = {
    "type", "description", "enum", "properties", "required", "additionalProperties", "items", "anyOf",
}  # fmt: skip
NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
SIZES = {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems"}
ANTHROPIC_FORMATS = {
    "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
}  # fmt: skip
REFERENCES = {"$ref", "$defs"}
WORDS = {
    ("openai", True): STRUCTURE | REFERENCES,
    ("openai", False): STRUCTURE | REFERENCES | NUMBERS | SIZES | {"default", "format"},
    ("anthropic", True): STRUCTURE | REFERENCES | {"format"},
    ("anthropic", False): STRUCTURE | REFERENCES | NUMBERS | SIZES | {"default", "format"},
    ("gemini", False): STRUCTURE | {"minimum", "maximum", "minItems", "maxItems"},
    ("mistral", True): STRUCTURE | REFERENCES,
    ("mistral", False): STRUCTURE | REFERENCES,
    ("compatible", False): STRUCTURE | REFERENCES,
    ("constrained", True): STRUCTURE,
    ("constrained", False): STRUCTURE,
}
KEYS = {"anthropic": r"[a-zA-Z0-9_.-]{1,64}", "gemini": r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"}
NULLED = {"openai", "mistral", "constrained"}
RECURSIVE = {("openai", True), ("openai", False), ("anthropic", False), ("mistral", False), ("compatible", False)}
EXACT = 2**53


def faults(dialect, schema, strict):
    if (dialect, strict) not in WORDS:
        return [f"{dialect} has no strict form"]
    found = [f"root: {word}" for word in ("anyOf", "oneOf", "allOf", "enum", "not", "const", "$ref") if word in schema]
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        found.append("root: not an object with properties")
    for place, part in parts(schema):
        if not isinstance(part, dict):
            found.append(f"{place}: {part!r} is no object")
        else:
            found += [f"{place}: {fault}" for fault in of_part(dialect, part, strict, place == "")]
    known = {f"#/$defs/{name}" for name in schema.get("$defs", {})}
    used = {part["$ref"] for _, part in parts(schema) if isinstance(part, dict) and "$ref" in part}
    if known != used:
        found.append(f"definitions {sorted(known)} and references {sorted(used)} are not the same")
    elif (dialect, strict) not in RECURSIVE and circles(schema):
        found.append("it refers to itself")
    return found + (sizes(dialect, schema) if strict else [])


def of_part(dialect, part, strict, is_root):
    allowed = WORDS[dialect, strict]
    yield from (f"{word} is not allowed" for word in part.keys() - (allowed if is_root else allowed - {"$defs"}))
    yield from texts(part)
    if "$ref" in part and len(part) > 1:
        yield "a reference with siblings"
    if "anyOf" in part:
        beside = set() if dialect == "gemini" else {"description"}
        if not part["anyOf"] or part.keys() - {"anyOf"} - beside:
            yield f"a union beside {sorted(part.keys() - {'anyOf'})}"
    types = part.get("type", [])
    types = [types] if isinstance(types, str) else types
    if isinstance(part.get("type"), list) and (len(set(types)) != 2 or "null" not in types):
        yield f"a list of types other than one and null: {types}"
    if "array" in types and "items" not in part:
        yield "an array without items"
    properties = part.get("properties", {})
    if not set(part.get("required", ())) <= set(properties):
        yield "requires what it doesn't describe"
    if dialect in KEYS:
        yield from (f"the key {key!r}" for key in properties if not re.fullmatch(KEYS[dialect], key))
    yield from values(dialect, part, types)
    if strict:
        yield from closed(dialect, part, types, properties)


def texts(part):
    if "description" in part and not (isinstance(part["description"], str) and 0 < len(part["description"]) <= 3000):
        yield "a description that is none, or is endless"


def values(dialect, part, types):
    for word in NUMBERS | SIZES:
        bound = part.get(word, 0)
        if not isinstance(bound, int | float) or abs(bound) >= EXACT:
            yield f"{word} is {bound}"
    if "format" in part and dialect == "anthropic" and part["format"] not in ANTHROPIC_FORMATS:
        yield f"the format {part['format']}"
    if "enum" not in part:
        return
    if not part["enum"] or len(part["enum"]) > 1001:
        yield "an enum of no values, or of too many"
    if not types:
        yield "an enum without a type"
    for value in part["enum"]:
        if isinstance(value, dict | list):
            yield f"an enum of {value!r}"
        elif isinstance(value, int | float) and abs(value) >= EXACT:
            yield f"an enum of {value}, which a float can't hold"
        elif dialect == "gemini" and (not isinstance(value, str) or types != ["string"]):
            yield f"an enum of {value!r} beside {types}"


def closed(dialect, part, types, properties):
    if not part.keys() & {"type", "anyOf", "$ref"}:
        yield "no type"
    if "object" in types:
        if part.get("additionalProperties") is not False or "properties" not in part:
            yield "an open object"
        if dialect in NULLED and part.get("required", []) != list(properties):
            yield "a property that isn't required"


def sizes(dialect, schema):
    every = [part for _, part in parts(schema)]
    enums = [part["enum"] for part in every if "enum" in part]
    if dialect == "anthropic":
        optional = sum(
            len(part["properties"]) - len(part.get("required", ())) for part in every if "properties" in part
        )
        unions = sum(1 for part in every if "anyOf" in part or isinstance(part.get("type"), list))
        return [f"{optional} optional, {unions} unions"] if optional > 24 or unions > 16 else []
    found = []
    if sum(len(part.get("properties", ())) for part in every) > 5000:
        found.append("too many properties")
    if sum(map(len, enums)) > 1000:
        found.append("too many enum values")
    if any(len(enum) > 250 and sum(len(v) for v in enum if isinstance(v, str)) > 15_000 for enum in enums):
        found.append("an enum of too many characters")
    names = [name for part in every for name in part.get("properties", ())] + list(schema.get("$defs", ()))
    if sum(map(len, names)) + sum(len(v) for enum in enums for v in enum if isinstance(v, str)) > 120_000:
        found.append("too many characters")
    if deepest(schema, schema, ()) > 10:
        found.append("nested too deeply")
    return found


def parts(schema, place=""):
    """Every schema in a schema, with its place."""
    stack = [(place, schema)]
    while stack:
        place, part = stack.pop()
        yield place, part
        if not isinstance(part, dict):
            continue
        for word in ("properties", "$defs"):
            stack.extend((f"{place}/{word}/{name}", inner) for name, inner in part.get(word, {}).items())
        stack.extend((f"{place}/anyOf/{index}", inner) for index, inner in enumerate(part.get("anyOf", ())))
        if "items" in part:
            stack.append((f"{place}/items", part["items"]))
        if not isinstance(part.get("additionalProperties", True), bool):
            stack.append((f"{place}/additionalProperties", part["additionalProperties"]))


def circles(schema):
    """The references that lead back to themselves."""
    leads = {
        f"#/$defs/{name}": {part["$ref"] for _, part in parts(inner) if isinstance(part, dict) and "$ref" in part}
        for name, inner in schema.get("$defs", {}).items()
    }
    found = set()
    for start in leads:
        seen, stack = set(), [start]
        while stack:
            for following in leads.get(stack.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        if start in seen:
            found.add(start)
    return found


def deepest(schema, part, inside):
    if "$ref" in part:
        name = part["$ref"].removeprefix("#/$defs/")
        return 0 if name in inside else deepest(schema, schema["$defs"][name], (*inside, name))
    below = [
        *part.get("properties", {}).values(),
        *part.get("anyOf", ()),
        *([part["items"]] if "items" in part else []),
    ]
    types = part.get("type", [])
    own = bool({"object", "array"} & set([types] if isinstance(types, str) else types))
    return own + max((deepest(schema, inner, inside) for inner in below), default=0)


def filled(schema, value, valid):
    """The arguments as a model gives them under a strict form: null for what is left out.

    ``valid(schema, value)`` says which form of a union is meant.
    """
    return _filled(schema, schema, value, valid)


def _filled(root, part, value, valid):
    if "$ref" in part:
        return _filled(root, root["$defs"][part["$ref"].removeprefix("#/$defs/")], value, valid)
    if "anyOf" in part:
        for form in part["anyOf"]:
            candidate = _filled(root, form, value, valid)
            if valid({**form, "$defs": root.get("$defs", {})}, candidate):
                return candidate
        return value
    if isinstance(value, list) and isinstance(part.get("items"), dict):
        return [_filled(root, part["items"], item, valid) for item in value]
    if isinstance(value, dict):
        declared = part.get("properties", {})
        inside = {k: _filled(root, declared[k], v, valid) if k in declared else v for k, v in value.items()}
        return inside | {key: None for key in part.get("required", ()) if key not in value}
    return value
