"""`pycodex policy`: what becomes of a command, and what a file of rules would change.

Owns the choice between its subcommands and the help about them; each is loaded only when it is called.
"""

from pycodex.supervisor.cli.options import GLOBAL_FLAGS, bad_usage, overrides_of, scan, similar
from pycodex.supervisor.cli.terminal import complain, say

_USAGE = "pycodex policy [OPTIONS] <COMMAND>"
_COMMANDS = ("explain", "test", "help")

HELP = f"""\
Show what becomes of a command, and what a file of rules would change

Usage: {_USAGE}

Commands:
  explain  Show whether a command would run, be asked about or be refused here, and why
  test     Try new rules on the commands of past sessions
  help     Show this text, or that of a command

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text

Nothing is run, and nobody is asked."""


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code."""
    before = scan(argv, GLOBAL_FLAGS, usage=_USAGE, takes_words=False)
    words = before.rest
    wants_help = before.wants_help
    if words[:1] == ["help"] and not wants_help:
        wants_help, words = len(words) == 1, [*words[1:2], "--help"]
    if wants_help:
        say(HELP)
        return 0
    if not words:
        complain(HELP)
        return 2
    overrides = [*overrides, *overrides_of(before)]
    if words[0] == "explain":
        from pycodex.supervisor.cli import policy_explain

        return policy_explain.run(words[1:], overrides)
    if words[0] == "test":
        from pycodex.supervisor.cli import policy_test

        return policy_test.run(words[1:], overrides)
    meant = similar(words[0], _COMMANDS)
    tips = [f"a similar subcommand exists: '{meant}'"] if meant else []
    raise bad_usage(f"unrecognized subcommand '{words[0]}'", tips=tips, usage=_USAGE)
