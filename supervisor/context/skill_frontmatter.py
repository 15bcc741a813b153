"""Reads the head of a SKILL.md: name and description.

Owns the format, its limits and the texts of its errors. Plain `key: value` lines, which most files have, are read
without loading YAML; whatever could mean more goes to the real parser.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaml import Node

DELIMITER = "---"
MAX_NAME = 64
MAX_DESCRIPTION = 1024
# The parser takes its time, some seconds for a megabyte, and every start of a session waits for it.
MAX_YAML = 16 << 10

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_KEY_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_FIELDS = ("name", "description", "metadata")
_SHORT = "metadata.short-description"


class BadSkill(Exception):
    """Why a file is no skill, for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    name: str
    description: str
    short_description: str | None


def parse(text: str, default_name: str) -> Frontmatter:
    """The head of a file; BadSkill if it has none or a wrong one."""
    head = _head(text)
    fields = _plain_fields(head)
    if fields is None:
        if sum(map(len, head)) > MAX_YAML:
            raise BadSkill(f"invalid YAML: more than {MAX_YAML} characters of it")
        fields = _yaml_fields(head)
    name = _one_line(fields.get("name")) or default_name
    description = _one_line(fields.get("description"))
    short = _one_line(fields.get(_SHORT)) or None
    if not description:
        raise BadSkill("missing field `description`")
    for field, value, limit in (
        ("name", name, MAX_NAME),
        ("description", description, MAX_DESCRIPTION),
        (_SHORT, short or "", MAX_DESCRIPTION),
    ):
        if len(value) > limit:
            raise BadSkill(f"invalid {field}: exceeds maximum length of {limit} characters")
    return Frontmatter(name, description, short)


def _head(text: str) -> list[str]:
    """The lines between the first two delimiters."""
    lines = text.split("\n")
    if lines[0].strip() == DELIMITER:
        for number, line in enumerate(lines[1:], 1):
            if line.strip() == DELIMITER and number > 1:
                return [line.rstrip("\r") for line in lines[1:number]]
    raise BadSkill("missing YAML frontmatter delimited by ---")


def _one_line(value: str | None) -> str:
    return " ".join(value.split()) if value is not None else ""


def _plain_fields(lines: list[str]) -> dict[str, str] | None:
    """The fields if every line is a key and a scalar that can mean only itself; None if the parser must decide.

    Of blocks only `metadata` is known here; its keys carry its name.
    """
    fields: dict[str, str] = {}
    block, depth = "", 0
    for raw in lines:
        # Tabs separate as well as spaces do, but our parser knows that only of spaces.
        line = raw.replace("\t", " ").rstrip(" ")
        entry = line.lstrip(" ")
        indent = len(line) - len(entry)
        if indent == 0:
            block, depth = "", 0
        elif not block or "\t" in raw[:indent] or depth not in (0, indent):
            return None
        else:
            depth = indent
        key, colon, value = entry.partition(": ")
        text: str | None = ""
        if entry == "metadata:" and not block:
            key, block = "metadata", "metadata."
        else:
            key, text = block + key, _plain_scalar(value) if colon and _KEY_CHARACTERS.issuperset(key) else None
        if text is None or key in fields or (key == "metadata" and not block):
            return None
        fields[key] = text
    return fields


def _plain_scalar(value: str) -> str | None:
    """The text of a scalar without escapes, comments or other second meanings; None if it may have one."""
    value = value.strip(" ")
    quote = value[:1]
    if quote in ("'", '"') and len(value) > 1:
        inner = value[1:-1]
        return inner if value.endswith(quote) and inner.isprintable() and not {quote, "\\"} & set(inner) else None
    is_plain = (
        value[:1].isalnum()
        and value.isprintable()
        and ": " not in value
        and " #" not in value
        and not value.endswith(":")
        and value not in _NULLS
    )
    return value if is_plain else None


def _yaml_fields(lines: list[str]) -> dict[str, str]:
    import yaml

    try:
        node = yaml.compose("\n".join(lines), Loader=yaml.SafeLoader)
        return dict(_checked_fields(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
        raise BadSkill(f"invalid YAML: {error.problem or error.context}{where}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise BadSkill(f"invalid YAML: {str(error).splitlines()[0]}") from None


def _checked_fields(node: "Node | None") -> Iterator[tuple[str, str]]:
    seen = set()
    for key, value in _entries(node, ""):
        if key not in _FIELDS:
            continue
        if key in seen:
            raise BadSkill(f"invalid YAML: duplicate field `{key}`")
        seen.add(key)
        if key == "metadata":
            for inner, text in _entries(value, "metadata: ") if not _is_null(value) else ():
                if f"metadata.{inner}" == _SHORT and not _is_null(text):
                    yield _SHORT, _scalar(text, _SHORT)
        elif not _is_null(value):
            yield key, _scalar(value, key)


def _entries(node: "Node | None", field: str) -> "Iterator[tuple[str, Node]]":
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise BadSkill(f"invalid YAML: {field}expected a mapping{_where(node)}")
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            yield key.value, value


def _scalar(node: "Node", field: str) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        raise BadSkill(f"invalid YAML: {field}: expected a string{_where(node)}")
    text: str = node.value
    return text


def _is_null(node: "Any") -> bool:
    import yaml

    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NULLS


def _where(node: "Node | None") -> str:
    mark = getattr(node, "start_mark", None)
    return f" at line {mark.line + 1} column {mark.column + 1}" if mark is not None else ""
