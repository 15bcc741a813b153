"""Which items begin a turn: the person's own words, or the note with which a thread goes on towards its goal.

Owns the markers of texts that are sent in the person's name but were written by the program: settings, skills, notes.
Others' session files are judged by the same markers, so they are part of the format.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pycodex.protocol.items import Item, Part

# How such a text begins and ends, in lower case.
_MARKERS = (
    ("# agents.md instructions for ", "</instructions>"),
    *(
        (f"<{tag}>", f"</{tag}>")
        for tag in ("environment_context", "skill", "user_shell_command", "turn_aborted", "subagent_notification")
    ),
    ("<codex_internal_context source=", "</codex_internal_context>"),
)
_GOAL = '<codex_internal_context source="goal">'
_LONGEST = max(len(marker) for pair in _MARKERS for marker in pair)


def is_contextual(parts: "Iterable[Part]") -> bool:
    """Whether a message of role user holds a text that the program wrote."""
    return any(
        part.get("type") == "input_text" and type(part.get("text")) is str and _is_marked(part["text"])
        for part in parts
    )


def _is_marked(text: str) -> bool:
    text = text.strip()
    start, end = text[:_LONGEST].lower(), text[-_LONGEST:].lower()
    return any(start.startswith(beginning) and end.endswith(ending) for beginning, ending in _MARKERS)


def is_user_turn(item: "Item") -> bool:
    """Whether the person said this."""
    return item["type"] == "message" and item["role"] == "user" and not is_contextual(item["content"])


def is_goal_note(item: "Item") -> bool:
    """Whether a turn begins with this that nobody asked for; if a message of the person's follows, it belongs to it."""
    if item["type"] != "message" or item["role"] != "user":
        return False
    first = item["content"][0] if item["content"] else {}
    return type(first.get("text")) is str and first["text"].startswith(_GOAL)


def before_last_user_turns(items: "Sequence[Item]", count: int) -> int:
    """How many items stay when the last `count` turns go; what precedes the first turn always stays."""
    starts = [
        index
        for index, item in enumerate(items)
        if is_goal_note(item) or (is_user_turn(item) and not (index and is_goal_note(items[index - 1])))
    ]
    if count <= 0 or not starts:
        return len(items)
    return starts[-min(count, len(starts))]
