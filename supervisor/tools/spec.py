"""The form in which a tool is described to the model.

Owns the envelope of a function and the pieces of its schema; what they say is the tool's.
"""

from typing import Any

Schema = dict[str, Any]


def function(name: str, description: str, properties: dict[str, Schema], *, required: tuple[str, ...]) -> Schema:
    return {
        "type": "function",
        "name": name,
        "description": description,
        "strict": False,
        "parameters": record(properties, required=required),
    }


def record(properties: dict[str, Schema], *, required: tuple[str, ...]) -> Schema:
    return {
        "type": "object",
        "properties": dict(sorted(properties.items())),
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def text(description: str) -> Schema:
    return {"type": "string", "description": description}


def flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def number(description: str) -> Schema:
    return {"type": "number", "description": description}


def list_of(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}
