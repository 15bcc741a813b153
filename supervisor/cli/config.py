"""`pycodex config explain`: every setting, and where it comes from.

Owns the subcommand's arguments and the layout. What counts is decided in `supervisor/config`; nothing is changed here.
"""

import os

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, Flag, Scanned, bad_usage, overrides_of, scan
from pycodex.supervisor.cli.terminal import Palette, complain, prefers_colour, printable, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pycodex.supervisor.config.explain import Row

_PROFILE = Flag("-p", "--profile", value="PROFILE")
_DIRECTORY = Flag("-C", "--cd", value="DIR")
_FLAGS = (*GLOBAL_FLAGS, _PROFILE, _DIRECTORY)
_USAGE = "pycodex config explain [OPTIONS] [KEY]"
_WIDEST_VALUE = 40

HELP = """\
Show the configuration

Usage: pycodex config explain [OPTIONS] [KEY]

Prints every setting that holds, with the file and line, the flag or the default that it comes from, and below it who
said something else in vain. Values that look like secrets are masked.

Arguments:
  [KEY]  Only this setting, or all in this table: model, features, mcp_servers.docs

Options:
  -p, --profile <PROFILE>   As if this profile were asked for
  -C, --cd <DIR>            As if started in DIR
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text"""


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code."""
    before = scan(argv, _FLAGS, usage=_USAGE, takes_words=False)
    if before.wants_help or before.rest[:1] == ["help"]:
        say(HELP)
        return 0
    if not before.rest:
        complain(HELP)
        return 2
    if before.rest[0] != "explain":
        raise bad_usage(f"unrecognized subcommand '{before.rest[0]}'", usage=_USAGE)
    scans, words = [before], []
    rest = before.rest[1:]
    while rest:
        scanned = scan(rest, _FLAGS, usage=_USAGE)
        if scanned.wants_help:
            say(HELP)
            return 0
        scans.append(scanned)
        words += scanned.rest[:1]
        rest = scanned.rest[1:]
    if len(words) > 1:
        raise bad_usage(f"unexpected argument '{words[1]}' found", usage=_USAGE)
    return _explain(words[0] if words else None, scans, overrides)


def _last(scans: "Sequence[Scanned]", flag: Flag) -> "str | None":
    values = [value for each in scans if (value := each.last(flag.key)) is not None]
    return values[-1] if values else None


def _explain(key: "str | None", scans: "Sequence[Scanned]", inherited: "list[str]") -> int:
    from pycodex.supervisor.config.explain import explained
    from pycodex.supervisor.config.layers import load_layers
    from pycodex.supervisor.config.unknown_keys import unknown_key_warnings

    overrides = [*inherited, *(text for each in scans for text in overrides_of(each))]
    profile = _last(scans, _PROFILE)
    layered = load_layers(env=os.environ, overrides=overrides, cwd=_directory(_last(scans, _DIRECTORY)))
    name = profile if profile is not None else layered.settings.values.get("profile")
    if name is not None and name not in layered.settings.values.get("profiles", {}):
        raise UserFacing(f"config profile `{name}` not found")
    rows = explained(layered, profile=profile, env=os.environ, key=key)
    say("\n".join(_lines(rows, Palette(colour=prefers_colour(os.environ)))))
    if key is None:
        for path in layered.ignored:
            complain(f"note: {path} is not read, as this project is not trusted")
        for warning in unknown_key_warnings(layered.settings.layers):
            complain(f"warning: {warning}")
    return 0


def _directory(given: "str | None") -> str:
    path = os.path.realpath(given or ".")
    if not os.path.isdir(path):
        raise UserFacing(f"cannot use directory '{given}': it does not exist or is no directory")
    return path


def _lines(rows: "Sequence[Row]", palette: Palette) -> "Iterator[str]":
    key_width = max(len(printable(row.key)) for row in rows)
    values = [printable(row.effective.value) for row in rows if row.effective is not None]
    value_width = max((len(value) for value in values if len(value) <= _WIDEST_VALUE), default=0)
    for row in rows:
        key = palette.strong(printable(row.key).ljust(key_width))
        if row.effective is None:
            yield f"{key}  {palette.faint('not set')}"
            continue
        value = printable(row.effective.value).ljust(value_width)
        origin = printable(row.effective.origin)
        yield f"{key}  {value}  {palette.faint(origin) if origin.startswith('default') else origin}"
        for lower in row.shadowed:
            if not lower.origin.startswith("default"):
                text = f"not {printable(lower.value)} of {printable(lower.origin)}"
                yield f"{' ' * key_width}  {palette.faint(text)}"
