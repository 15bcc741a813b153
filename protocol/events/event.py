"""The base of all events: what the engine tells its front-ends, and in part its session file.

Owns the rule by which an event becomes JSON: its tag, then its fields in order; those named in `_optional` are left out
when they are None. Each topic has a module of its own beside this one; `union` joins them.
"""

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Event(Record):
    _tag: "ClassVar[str]" = ""
    _optional: "ClassVar[tuple[str, ...]]" = ()
    _persisted: "ClassVar[bool]" = False
    """Whether every session file keeps it."""
    _persisted_at_length: "ClassVar[bool]" = False
    """Whether those files keep it that tell of the work, too."""

    def to_wire(self) -> "dict[str, Any]":
        plain = {"type": self._tag, **self.to_plain()}
        for name in self._optional:
            if plain[name] is None:
                del plain[name]
        return plain

    def to_stored(self) -> "dict[str, Any]":
        """As session files keep it."""
        return self.to_wire()
