"""`pycodex features`: which features there are, which are on, and switching one in config.toml.

Owns the subcommand's arguments and texts. Which are on is decided in `config.features`, how the file is changed in
`config.edit`.
"""

import os

from pycodex.supervisor.cli.grammar import Grammar, parse
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, bad_usage, overrides_of, scan
from pycodex.supervisor.cli.terminal import complain, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_USAGE = "pycodex features [OPTIONS] <COMMAND>"
_WORDS = {"list": (), "enable": ("FEATURE",), "disable": ("FEATURE",)}

HELP = """\
List the feature flags, or switch one on or off for good

Usage: pycodex features [OPTIONS] <COMMAND>

Commands:
  list               Show every feature, its stage, and whether it is on
  enable <FEATURE>   Switch a feature on in config.toml
  disable <FEATURE>  Switch a feature off in config.toml
  help               Show this text

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text

With `pycodex -p PROFILE features ...` a profile of config.toml is shown or changed."""


def run(argv: "list[str]", overrides: "list[str]", profile: "str | None" = None) -> int:
    """The subcommand after its own word. Returns the exit code."""
    before = scan(argv, GLOBAL_FLAGS, usage=_USAGE, takes_words=False)
    word = before.rest[0] if before.rest else ""
    if before.wants_help or word == "help":
        say(HELP)
        return 0
    if not word:
        complain(HELP)
        return 2
    if word not in _WORDS:
        raise bad_usage(f"unrecognized subcommand '{word}'", usage=_USAGE)
    given = parse(before.rest[1:], Grammar(f"pycodex features {word}", GLOBAL_FLAGS, _WORDS[word]))
    if given.flags.wants_help:
        say(HELP)
        return 0
    if word == "list":
        say("\n".join(_listed([*overrides, *overrides_of(before), *overrides_of(given.flags)], profile)))
        return 0
    if not given.words:
        usage = f"pycodex features {word} <FEATURE>"
        raise bad_usage("the following required arguments were not provided:\n  <FEATURE>", usage=usage)
    return _switch(given.words[0], profile, on=word == "enable")


def _listed(overrides: "list[str]", profile: "str | None") -> "Iterator[str]":
    from pycodex.supervisor.config.config import Flags
    from pycodex.supervisor.config.features import STAGES
    from pycodex.supervisor.config.load import load_config

    cwd = os.path.realpath(os.getcwd())
    config = load_config(env=os.environ, overrides=overrides, cwd=cwd, flags=Flags(profile=profile))
    widest_name, widest_stage = max(map(len, STAGES)), max(map(len, STAGES.values()))
    for name, stage in sorted(STAGES.items()):
        is_on = "true" if name in config.features else "false"
        yield f"{name.ljust(widest_name)}  {stage.ljust(widest_stage)}  {is_on}"


def _switch(name: str, profile: "str | None", *, on: bool) -> int:
    from pycodex.supervisor.config import features
    from pycodex.supervisor.config.early import codex_home
    from pycodex.supervisor.config.edit import Put, Remove, edit_config

    keys = (*(("profiles", profile) if profile is not None else ()), "features", features.checked_name(name))
    home = codex_home(os.environ)
    # What is off by itself needs no line that says so; a profile may have to say it against the rest of the file.
    is_off_anyway = name in features.NAMES and name not in features.ON_BY_DEFAULT
    edit = Remove(keys) if not on and is_off_anyway and profile is None else Put(keys, on)
    edit_config(home, [edit])
    say(f"{'Enabled' if on else 'Disabled'} feature `{name}` in config.toml.")
    if on and profile is None:
        path = os.path.join(home, "config.toml")
        warning = features.under_development_warning({name: True}, frozenset((name,)), config_path=path)
        if warning is not None:
            complain(warning)
    return 0
