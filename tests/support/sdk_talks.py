"""What is said in the talks with every SDK: things to show, to make and to ask for.

Knows no SDK.
"""

import base64
import os
from collections.abc import Callable
from typing import Any

from pycodex.supervisor.model.scripted import Reply, Request, custom, reason, say
from support.engine import Place, plan, run, said

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch\n"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
LEFT, RIGHT = "left", "right"


def working() -> Reply:
    """Of every kind of work something; one command fails."""
    commands = [*run("echo out; echo made > made.txt"), *run("exit 3")]
    return Reply(parts=[*reason("thinking"), *plan("do it"), *commands, *custom("apply_patch", PATCH)])


def check_work(place: Place) -> None:
    assert (place.workspace / "made.txt").read_text() == "made\n"
    assert (place.workspace / "patched.txt").read_text() == "hello\n"


def escalated(cmd: str) -> Reply:
    return Reply(parts=run(cmd, "escalated", sandbox_permissions="require_escalated", justification="I need it"))


def rendezvous(place: Place) -> Callable[[Request], Reply]:
    """A model for two threads: each runs a command that waits for the other one's."""
    os.mkfifo(place.workspace / "meeting")
    commands = {LEFT: "echo we met > meeting", RIGHT: "cat meeting"}

    def reply_to(request: Request) -> Reply:
        items = request.body["input"]
        (side,) = commands.keys() & said(items, "user")
        is_answered = items[-1]["type"] == "function_call_output"
        return Reply(parts=say(f"{side} done") if is_answered else run(commands[side], side))

    return reply_to
