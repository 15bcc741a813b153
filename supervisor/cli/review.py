"""`pycodex review`: the short way to `pycodex exec review`.

Owns which of its flags are known here. Everything else is done there.
"""

from pycodex.supervisor.cli import exec as exec_command
from pycodex.supervisor.cli import exec_flags as flags
from pycodex.supervisor.cli.grammar import Grammar, parse
from pycodex.supervisor.cli.options import GLOBAL_FLAGS
from pycodex.supervisor.cli.root_flags import RootFlags
from pycodex.supervisor.cli.terminal import say

GRAMMAR = Grammar(
    "pycodex review", (flags.UNCOMMITTED, flags.BASE, flags.COMMIT, flags.TITLE, *GLOBAL_FLAGS), ("PROMPT",)
)
GRAMMAR.exclusive = (flags.REVIEW_TARGETS,)
GRAMMAR.needs = flags.REVIEW.needs

HELP = f"""\
Review changes of the repository; `pycodex exec review` does the same and knows more options

Usage: {GRAMMAR.usage}

Arguments:
{flags.REVIEW_ARGUMENTS}

Options:
{flags.REVIEW_OPTIONS}
{flags.GLOBAL_OPTIONS}
  -h, --help                       Show this text"""


def run(argv: list[str], overrides: list[str], root: RootFlags | None = None) -> int:
    """The subcommand after its own word. Returns the exit code."""
    if parse(argv, GRAMMAR).flags.wants_help:
        say(HELP)
        return 0
    return exec_command.run(["review", *argv], overrides, root)
