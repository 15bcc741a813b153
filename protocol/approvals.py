"""What a person may answer when asked whether something may be done.

Owns the answers and their form on the wire, and that anything that is none of them is a refusal. Pure.
"""

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

APPROVED = "approved"
APPROVED_FOR_SESSION = "approved_for_session"
DENIED = "denied"
ABORT = "abort"
_PLAIN = (APPROVED, APPROVED_FOR_SESSION, DENIED, ABORT)

_AMENDED = "approved_execpolicy_amendment"
_AMENDMENT = "proposed_execpolicy_amendment"


class Decision(Record):
    """`amendment`: besides approving, the person allows every command that starts with these words, for good."""

    answer: "str"
    amendment: "tuple[str, ...] | None" = None

    @property
    def approves(self) -> bool:
        return self.answer in (APPROVED, APPROVED_FOR_SESSION)

    @classmethod
    def of_wire(cls, value: object) -> "Decision":
        """What a front-end passed on."""
        match value:
            case str() if value in _PLAIN:
                return cls(answer=value)
            case {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": list() | tuple() as words}}:
                if all(isinstance(word, str) for word in words):
                    return cls(answer=APPROVED, amendment=tuple(words))
        return cls(answer=DENIED)

    def to_wire(self) -> "str | dict[str, Any]":
        if self.amendment is None:
            return self.answer
        return {_AMENDED: {_AMENDMENT: list(self.amendment)}}
