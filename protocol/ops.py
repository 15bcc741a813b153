"""What a front-end may wish of a thread. The engine answers with events.

Owns the wishes and nothing else. One that concerns a single turn carries what that turn should differ in; None leaves a
setting as it is.
"""

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pycodex.protocol.permissions import Permissions
    from pycodex.protocol.review import ReviewTarget
    from pycodex.protocol.user_input import UserInput


class UserTurn(Record):
    """Start a turn with this input; while one is running, the input joins it."""

    items: "tuple[UserInput, ...]"
    cwd: "str | None" = None
    approval_policy: "str | dict[str, Any] | None" = None
    permissions: "Permissions | None" = None
    model: "str | None" = None
    effort: "str | None" = None
    summary: "str | None" = None
    personality: "str | None" = None
    output_schema: "Any" = None
    service_tier: "str | None" = None
    """An empty one: that of the provider."""
    mode: "str | None" = None
    """The collaboration mode: `default` or `plan`."""
    mode_instructions: "str | None" = None
    """What the model is told of the mode; it goes with `mode`."""
    client_id: "str | None" = None
    """What the client calls this input."""


class Review(Record):
    """Have the target looked at by a reviewer. A turn that is running ends for it."""

    target: "ReviewTarget"


class ChangeSettings(Record):
    """Set the thread to what a turn like this would set it to, from the next turn on; its input does not count."""

    like: "UserTurn"


class InjectItems(Record):
    """Add items to what the model sees, without a turn. While one is running, they come with the next request."""

    items: "tuple[dict[str, Any], ...]"


class RunTyped(Record):
    """Run a command that the person typed, outside of the sandbox: beside the running turn, or as a turn of its own.

    For front-ends only: nothing that a model says becomes one.
    """

    command: "str"


class SetGoal(Record):
    """What is None stays as it is; a new objective makes a new goal. Answered by an event with the same id."""

    request_id: "str"
    objective: "str | None" = None
    status: "str | None" = None
    token_budget: "int | None" = None
    lifts_budget: "bool" = False
    """Whether there shall be no budget any more."""


class PursueGoal(Record):
    """Go on with the goal of a thread that was resumed, if it has an active one: the front-end is ready for that."""


class ClearGoal(Record):
    """Forget the goal. Answered by an event with the same id."""

    request_id: "str"


class Interrupt(Record):
    """End the running turn, if any. One that was asked for is spared if another one is named."""

    turn_id: "str | None" = None


class Answer(Record):
    """The answer to a question that the engine asked."""

    request_id: "str"
    value: "Any"


class CleanBackgroundTerminals(Record):
    """End every command that goes on after its call, with its whole tree."""


class RollBack(Record):
    """Take back the last turns, so many of them; not while one is running."""

    turns: "int"


class Compact(Record):
    """Put a summary in the place of what was said so far. It is a turn of its own; one that is running ends for it."""


class Shutdown(Record):
    """End the thread in good order."""


Op = (
    UserTurn
    | Review
    | Interrupt
    | Answer
    | CleanBackgroundTerminals
    | RollBack
    | ChangeSettings
    | InjectItems
    | RunTyped
    | SetGoal
    | PursueGoal
    | ClearGoal
    | Compact
    | Shutdown
)
