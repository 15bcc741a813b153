"""Settings that a client sends along, as the texts that `-c` takes. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def override_texts(overrides: Mapping[str, Any]) -> Iterator[str]:
    """Null says nothing."""
    for key, value in overrides.items():
        if value is not None:
            yield f"{key}={toml(value)}"


def toml(value: Any) -> str:
    """A JSON value as TOML writes it."""
    match value:
        case dict():
            entries = (f"{toml(str(key))} = {toml(each)}" for key, each in value.items() if each is not None)
            return f"{{{', '.join(entries)}}}"
        case list() | tuple():
            return f"[{', '.join(toml(each) for each in value if each is not None)}]"
        case _:
            # JSON's texts, numbers and words are TOML's, too, but for one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
