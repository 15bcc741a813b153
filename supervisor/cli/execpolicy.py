"""`pycodex execpolicy check`: what rule files say about a command, without running it.

Owns the subcommand's arguments and its output. Only the named files count; neither the configuration nor what is known
of commands without rules has a say, and a shell's script is not looked into.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import (
    GLOBAL_FLAGS,
    HELP,
    Flag,
    Scanned,
    bad_usage,
    is_text,
    not_text,
    overrides_of,
    scan,
    similar,
)
from pycodex.supervisor.cli.terminal import complain, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pycodex.supervisor.policy.rule_language import Source
    from pycodex.supervisor.policy.rules import RuleMatch, Rules

_USAGE = "pycodex execpolicy [OPTIONS] <COMMAND>"
_PROGRAM = "pycodex execpolicy check"
_CHECK_USAGE = f"{_PROGRAM} [OPTIONS] --rules <PATH> <COMMAND>..."

# The names that begin with a `p` are those of older versions.
_RULES = Flag("-p", "--policy", "-r", "--rules", value="PATH", many=True)
_PRETTY = Flag("--pretty")
_RESOLVE = Flag("--resolve-host-executables")
_FLAGS = (*GLOBAL_FLAGS, _RULES, _PRETTY, _RESOLVE)

HELP_TEXT = """\
Try out rule files

Usage: pycodex execpolicy [OPTIONS] <COMMAND>

Commands:
  check  Show what rule files say about a command, without running it
  help   Show this text, or that of check

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text"""

CHECK_HELP = f"""\
Show what rule files say about a command, without running it

Usage: {_CHECK_USAGE}

Prints JSON: every rule that matches, in the order of the files, and the strictest of their decisions, if there is any.
The exit code is 0 whatever they decide, and 1 if a file cannot be used.

Arguments:
  <COMMAND>...  The program and its arguments; everything from the first word on belongs to it

Options:
  -r, --rules <PATH>              A file of rules; may be given more than once [aliases: -p, --policy]
      --resolve-host-executables  Let rules about a name speak of an absolute path that ends in it, too
      --pretty                    Print the JSON on several lines
  -c, --config <key=value>        Set one configuration value, on top of config.toml
      --enable <FEATURE>          The same as -c features.FEATURE=true
      --disable <FEATURE>         The same as -c features.FEATURE=false
  -h, --help                      Show this text"""


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code; the configuration has no say."""
    del overrides
    before = scan(argv, GLOBAL_FLAGS, usage=_USAGE, takes_words=False)
    words = before.rest
    wants_help = before.wants_help
    if words[:1] == ["help"] and not wants_help:
        wants_help, words = len(words) == 1, [*words[1:2], "--help"]
    if wants_help:
        say(HELP_TEXT)
        return 0
    if not words:
        complain(HELP_TEXT)
        return 2
    if words[0] != "check":
        meant = similar(words[0], ("check", "help"))
        tips = [f"a similar subcommand exists: '{meant}'"] if meant else []
        raise bad_usage(f"unrecognized subcommand '{words[0]}'", tips=tips, usage=_USAGE)
    overrides_of(before)
    return _check(words[1:])


def _check(argv: "list[str]") -> int:
    start = _start_of_command(argv)
    flags, command = scan(argv[:start], _FLAGS, usage=_CHECK_USAGE), argv[start:]
    if flags.wants_help:
        say(CHECK_HELP)
        return 0
    if command[:1] == ["--"]:
        command = command[1:]
    if not all(map(is_text, command)):
        raise not_text(_CHECK_USAGE)
    _require(flags, command)
    overrides_of(flags)
    rules = evaluated_sources([source_at(path) for path in flags.all(_RULES.key)])
    matches = rules.matches(command, resolve_hosts=flags.has(_RESOLVE.key))
    say(_as_json(matches, pretty=flags.has(_PRETTY.key)))
    return 0


def _start_of_command(argv: "Sequence[str]") -> int:
    """Where the command begins: with the first word that is neither a flag that we know nor the value of one."""
    known = {name: flag for flag in (*_FLAGS, HELP) for name in flag.names}
    at = 0
    while at < len(argv):
        word = argv[at]
        if word in ("", "-", "--") or word[0] != "-":
            return at
        long, equals, _ = word.partition("=")
        names = [long] if word[1] == "-" else [f"-{letter}" for letter in word[1:]]
        if any(name not in known for name in names):
            return at
        # The first flag with a value takes the rest of its word, or else the next one.
        takers = [name for name in names if known[name].value]
        at += 2 if takers[:1] == names[-1:] and not (equals and names == [long]) else 1
    return len(argv)


def _require(flags: Scanned, command: "Sequence[str]") -> None:
    missing = [] if flags.has(_RULES.key) else [f"  {_RULES.shown}"]
    if not command:
        missing.append("  <COMMAND>...")
    if not missing:
        return
    shown = {flag.key: flag.shown for flag in _FLAGS}
    given = dict.fromkeys(shown[key] for key in (_RULES.key, *(key for key, _ in flags.found)))
    message = "the following required arguments were not provided:\n" + "\n".join(missing)
    raise bad_usage(message, usage=" ".join([_PROGRAM, *given, "<COMMAND>..."]))


def source_at(path: str) -> "Source":
    """The text of a file that was named. Raises UserFacing."""
    from pycodex.supervisor.policy.rule_files import read_rules, reading_problem
    from pycodex.supervisor.policy.rule_language import Source

    try:
        return Source(path=path, text=read_rules(path, regular_only=False))
    except (OSError, UnicodeDecodeError) as error:
        raise _failure(f"failed to read policy at {path}", reading_problem(error)) from None


def evaluated_sources(sources: "Sequence[Source]") -> "Rules":
    """Raises UserFacing."""
    from pycodex.supervisor.policy.rule_language import RuleError
    from pycodex.supervisor.policy.rule_process import evaluated

    try:
        return evaluated(sources)
    except RuleError as error:
        raise _failure(f"failed to parse policy at {error.path}", str(error)) from None


def _failure(problem: str, cause: str) -> UserFacing:
    indented = "\n".join(f"    {line}" for line in cause.split("\n"))
    return UserFacing(f"{problem}\n\nCaused by:\n{indented}")


def _as_json(matches: "Sequence[RuleMatch]", *, pretty: bool) -> str:
    import json

    from pycodex.supervisor.policy.rules import strictest

    answer: dict[str, Any] = {"matchedRules": [{"prefixRuleMatch": _plain(match)} for match in matches]}
    if matches:
        answer["decision"] = strictest(match.decision for match in matches)
    if pretty:
        return json.dumps(answer, indent=2, ensure_ascii=False)
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)


def _plain(match: "RuleMatch") -> "dict[str, Any]":
    plain: dict[str, Any] = {"matchedPrefix": list(match.matched_prefix), "decision": match.decision}
    if match.resolved_program is not None:
        plain["resolvedProgram"] = match.resolved_program
    if match.justification is not None:
        plain["justification"] = match.justification
    return plain
