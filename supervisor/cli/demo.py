"""`pycodex demo`: one whole turn of the agent, with a model that is played by a script.

Owns the subcommand's arguments. The show itself is `frontends.demo`, loaded only when there is one.
"""

import os

from pycodex.supervisor.cli.options import GLOBAL_FLAGS, overrides_of, scan_flags_only
from pycodex.supervisor.cli.terminal import say

HELP = """\
Watch the agent mend a test in a scratch repository, and the sandbox stop it where it goes too far

Usage: pycodex demo [OPTIONS]

The model is played by a script in this very process; engine, workers and sandbox are the real ones. It needs no key and
no network, takes a few seconds, leaves your own configuration alone and removes whatever it made.

Options:
  -c, --config <key=value>  Set one configuration value for the demonstration
  -h, --help                Show this text

Exit code: 0 if everything went as announced, 1 if something did not."""


def run(argv: list[str], overrides: list[str]) -> int:
    """The subcommand after its own word. Returns the exit code."""
    scanned = scan_flags_only(argv, GLOBAL_FLAGS, usage="pycodex demo [OPTIONS]")
    if scanned.wants_help:
        say(HELP)
        return 0
    from pycodex.supervisor.frontends.demo.run import run_demo

    return run_demo([*overrides, *overrides_of(scanned)], os.environ)
