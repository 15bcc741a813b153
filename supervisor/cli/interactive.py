"""What `pycodex` says to words that would start a conversation on the terminal.

Owns the refusals: where no conversation can be had, in the words that scripts know; where it could be, that there is
none yet, and what to use instead.
"""

import os

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import bad_usage, similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STDIN, STDERR = 0, 2
GOING_ON = ("resume", "fork")
NOT_HERE = (
    *(
        "mcp",
        "mcp-server",
        "app-server",
        "completion",
        "apply",
        "a",
        "cloud",
    ),
    *("cloud-tasks", "responses-api-proxy", "stdio-to-uds", "app"),
)
"""Subcommands that Codex has and we do not have yet: no word of a task."""


def refusal(word: str, *, known: "Sequence[str]", usage: str, env: "Mapping[str, str]") -> Exception:
    """For a first word that is no subcommand; it would be the task, or the beginning of one."""
    if word in NOT_HERE:
        return bad_usage(f"there is no subcommand '{word}' here yet", usage=usage)
    if env.get("TERM") == "dumb" and not (os.isatty(STDIN) and os.isatty(STDERR)):
        return UserFacing(
            'TERM is set to "dumb". Refusing to start the interactive TUI because no terminal is available for a '
            "confirmation prompt (stdin/stderr is not a TTY). Run in a supported terminal or unset TERM.",
            prefix="ERROR: ",
        )
    if not os.isatty(STDIN):
        return UserFacing("stdin is not a terminal")
    if word in GOING_ON:
        return UserFacing(f"there is no interactive `{word}` yet; use: pycodex exec resume [--last | ID] PROMPT")
    meant = similar(word, known)
    tips = [f"a similar subcommand exists: '{meant}'"] if meant else []
    tips.append("to give the agent a task, use 'pycodex exec'")
    return bad_usage(f"unrecognized subcommand '{word}'", tips=tips, usage=usage)
