"""As much of JSON Schema (draft 7) as the app-server's schemas use: whether a value fits one."""

from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def misfit(value: Any, schema: Any, root: dict[str, Any], path: str = "$") -> str | None:
    """Where and why the value does not fit; None if it does."""
    if schema is True:
        return None
    if "$ref" in schema:
        return misfit(value, resolved(schema["$ref"], root), root, path)
    if "enum" in schema and value not in schema["enum"]:
        return f"{path}: {value!r} is none of {schema['enum']}"
    if "type" in schema and not _is_of_type(value, schema["type"]):
        return f"{path}: {value!r} is no {schema['type']}"
    for part in schema.get("allOf", ()):
        if found := misfit(value, part, root, path):
            return found
    fitting = [part for part in schema.get("anyOf", ()) if misfit(value, part, root, path) is None]
    if "anyOf" in schema and not fitting:
        return f"{path}: {value!r} is nothing of what it may be"
    fitting = [part for part in schema.get("oneOf", ()) if misfit(value, part, root, path) is None]
    if "oneOf" in schema and len(fitting) != 1:
        return f"{path}: {value!r} is {len(fitting)} of what it may be"
    return _misfit_inside(value, schema, root, path)


def _misfit_inside(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str) -> str | None:
    if isinstance(value, list) and "items" in schema:
        pairs = [(item, schema["items"], f"{path}[{index}]") for index, item in enumerate(value)]
    elif isinstance(value, dict):
        missing = set(schema.get("required", ())) - set(value)
        if missing:
            return f"{path}: {sorted(missing)} are missing"
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        if rest is False and set(value) - set(properties):
            return f"{path}: {sorted(set(value) - set(properties))} are too much"
        pairs = [(item, properties.get(key, rest), f"{path}.{key}") for key, item in value.items()]
    else:
        return None
    return next((found for item, inner, at in pairs if (found := misfit(item, inner, root, at))), None)


def _is_of_type(value: Any, allowed: str | list[str]) -> bool:
    names = [allowed] if isinstance(allowed, str) else allowed
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, TYPES[name]) for name in names)


def resolved(reference: str, root: dict[str, Any]) -> Any:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def references(schema: Any) -> set[str]:
    """All that a schema refers to."""
    if isinstance(schema, list):
        return {each for part in schema for each in references(part)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"]} if isinstance(schema.get("$ref"), str) else set()
    return own | {each for part in schema.values() for each in references(part)}
