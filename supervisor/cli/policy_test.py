"""`pycodex policy test`: what new rules would have made of the commands of past sessions.

Owns the subcommand's arguments, the period, and how a recorded call becomes a command to be decided on. Sessions are
read by `rollout`, calls by `tools`, decisions and figures come from `policy`, the words from `policy_test_text`. Runs
nothing and writes no file.
"""

import os
import time

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.grammar import Grammar, parse
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, BadUsage, Flag, bad_usage, overrides_of
from pycodex.supervisor.cli.policy_explain import APPROVALS
from pycodex.supervisor.cli.terminal import STDERR, Palette, complain, prefers_colour, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pycodex.supervisor.config.config import Config
    from pycodex.supervisor.policy.back_test import BackTest
    from pycodex.supervisor.policy.rule_pairs import RulePairs
    from pycodex.supervisor.rollout.past_calls import PastCall
    from pycodex.supervisor.tools.recorded_calls import Reader

_SINCE = Flag("--since", value="TIME")
_REPLACE = Flag("--replace")
_APPROVAL = Flag("-a", "--ask-for-approval", value="POLICY", choices=APPROVALS)
_PROFILE = Flag("-p", "--profile", value="PROFILE")
_JSON = Flag("--json")
_GRAMMAR = Grammar("pycodex policy test", (*GLOBAL_FLAGS, _SINCE, _REPLACE, _APPROVAL, _PROFILE, _JSON), ("NEW_RULES",))
_DEFAULT_SINCE = "30d"
_UNIT_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_MODES = ("read-only", "workspace-write", "danger-full-access", "external-sandbox")
_QUIET_SECONDS = 1.0
_BETWEEN_SECONDS = 0.1

HELP = f"""\
Try new rules on the commands of past sessions

Usage: pycodex policy test [OPTIONS] <NEW_RULES>

Decides on every command that the sessions in CODEX_HOME have recorded, once with the rules of today and once with the
new ones, and prints what would change. Each command counts under the approval policy and the sandbox of its own turn;
those of `exec` are `never`, so nobody was asked about them. Approvals that were given for a session do not count.

Arguments:
  <NEW_RULES>  A file of rules, which joins those that you have

Options:
      --since <TIME>               How far back: 12h, 30d, 2w, or a date such as 2026-01-31 [default: {_DEFAULT_SINCE}]
      --replace                    Let the new file stand in for your own rule files instead of joining them
  -a, --ask-for-approval <POLICY>  As if all had run under untrusted, on-failure, on-request or never
  -p, --profile <PROFILE>          Use a profile of config.toml
      --json                       Print JSON: since, sessions, commands, distinct, leftOut, before and after (how many
                                   commands for each outcome: in-sandbox, outside, no-sandbox, asks, refused),
                                   promptsSaved, promptsAdded, changes (count, command, before, after, file, line,
                                   removed), changesNotKept
  -c, --config <key=value>         Set one configuration value, on top of config.toml
      --enable <FEATURE>           The same as -c features.FEATURE=true
      --disable <FEATURE>          The same as -c features.FEATURE=false
  -h, --help                       Show this text

Exit code: 0 whatever would change, 1 if rules or configuration cannot be used, 2 for wrong arguments."""


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code."""
    given = parse(argv, _GRAMMAR)
    flags = given.flags
    if flags.wants_help:
        say(HELP)
        return 0
    if not given.words:
        usage = "pycodex policy test [OPTIONS] <NEW_RULES>"
        raise bad_usage("the following required arguments were not provided:\n  <NEW_RULES>", usage=usage)
    since = _start_of(flags.last(_SINCE.key) or _DEFAULT_SINCE, now=time.time())
    test = _Test(
        path=given.words[0],
        since=since,
        policy=flags.last(_APPROVAL.key),
        profile=flags.last(_PROFILE.key),
        overrides=(*overrides, *overrides_of(flags)),
    )
    test.run(replaces_own=flags.has(_REPLACE.key))
    say(test.as_json() if flags.has(_JSON.key) else test.as_text())
    return 0


def _start_of(text: str, *, now: float) -> float:
    """In seconds of the epoch. A date begins at midnight, here."""
    number, unit = text[:-1], _UNIT_SECONDS.get(text[-1:])
    if unit is not None and number.isascii() and number.isdecimal() and len(number) < 6:
        return max(0.0, now - int(number) * unit)
    from datetime import datetime

    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise _bad_time(text) from None


def _bad_time(text: str) -> BadUsage:
    tip = "use a number of hours, days or weeks (12h, 30d, 2w), or a date such as 2026-01-31"
    return bad_usage(f"invalid value '{text}' for '{_SINCE.shown}'", tips=[tip])


class _Test:
    """One pass over the past."""

    def __init__(
        self, *, path: str, since: float, policy: "str | None", profile: "str | None", overrides: "Sequence[str]"
    ) -> None:
        self._path = path
        self._since = since
        self._policy = policy
        self._profile = profile
        self._overrides = overrides
        self._env: Mapping[str, str] = {}
        self._codex_home = ""
        self._sessions = 0
        self._left_out = 0
        self._tally: BackTest | None = None

    def run(self, *, replaces_own: bool) -> None:
        from pycodex.supervisor.cli.execpolicy import evaluated_sources, source_at
        from pycodex.supervisor.config.dotenv import with_dotenv
        from pycodex.supervisor.config.early import codex_home
        from pycodex.supervisor.frontends.exec.run import working_directory
        from pycodex.supervisor.policy.rule_files import BadRules
        from pycodex.supervisor.policy.rule_pairs import RulePairs

        tried = source_at(self._path)
        evaluated_sources([tried])
        self._env = with_dotenv(os.environ, codex_home(os.environ))
        config = self._config(working_directory(None))
        self._codex_home = config.codex_home
        pairs = RulePairs(tried, self._config, replaces_own=replaces_own)
        try:
            pairs.of(config)
        except BadRules as error:
            raise UserFacing(f"Error loading rules:\n{error}", prefix="") from error
        self._go_through(pairs, config)
        for directory, problem in pairs.problems.items():
            complain(f"warning: the commands of {directory} are left out: {problem}")

    def as_json(self) -> str:
        import json

        from pycodex.protocol.rollout import timestamp_of

        head = {"since": timestamp_of(self._since), "sessions": self._sessions, "leftOut": self._left_out}
        return json.dumps({**head, **self._done().report().to_plain()}, indent=2, ensure_ascii=False)

    def as_text(self) -> str:
        from pycodex.supervisor.cli.policy_test_text import Tested, tested_lines

        tested = Tested(
            report=self._done().report(),
            sessions=self._sessions,
            left_out=self._left_out,
            since=self._since_text(),
            codex_home=self._codex_home,
        )
        return "\n".join(tested_lines(tested, Palette(colour=prefers_colour(os.environ))))

    def _done(self) -> "BackTest":
        from pycodex.supervisor.policy.back_test import BackTest

        return self._tally or BackTest()

    def _since_text(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self._since))

    def _config(self, directory: str) -> "Config":
        from pycodex.supervisor.config.config import Flags
        from pycodex.supervisor.config.load import load_config

        flags = Flags(profile=self._profile)
        return load_config(env=self._env, overrides=self._overrides, cwd=os.path.realpath(directory), flags=flags)

    def _go_through(self, pairs: "RulePairs", config: "Config") -> None:
        from pycodex.supervisor.context.environment import user_shell
        from pycodex.supervisor.policy.back_test import BackTest
        from pycodex.supervisor.rollout.past_calls import PastCalls
        from pycodex.supervisor.tools.recorded_calls import Reader

        tally = self._tally = BackTest()
        reader = Reader(user_shell(), self._env, config.allow_login_shell)
        past = PastCalls(since=self._since)
        files = past.files(config.codex_home)
        with Progress(len(files)) as progress:
            for file in files:
                known = tally.commands
                for call in past.of(file.path):
                    self._take(call, reader, pairs, tally)
                self._sessions += tally.commands > known
                progress.one_more()

    def _take(self, call: "PastCall", reader: "Reader", pairs: "RulePairs", tally: "BackTest") -> None:
        command = reader.command_of(call.item)
        if command is None:
            return
        from pycodex.supervisor.policy.back_test import PastCommand
        from pycodex.supervisor.policy.questions import Terms

        policy = self._policy or _policy_of(call.terms)
        mode, cwd = _mode_of(call.terms), call.terms.get("cwd")
        pair = pairs.at(_what_is_left_of(cwd)) if isinstance(cwd, str) and os.path.isabs(cwd) else None
        if policy is None or mode is None or pair is None:
            self._left_out += 1
            return
        terms = Terms(policy, mode, reader.users.path)
        tally.take(PastCommand(command.argv, terms, command.asked, command.prefix_rule, command.verb), pair)


def _what_is_left_of(directory: str) -> str:
    """The directory, or the nearest above it that is still there: nothing below that can hold rules."""
    while not os.path.isdir(directory) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    return directory


def _policy_of(terms: "Mapping[str, Any]") -> "str | dict[str, Any] | None":
    """None for one that we do not know."""
    policy = terms.get("approval_policy")
    if isinstance(policy, dict):
        return policy if isinstance(policy.get("granular"), dict) else None
    return policy if policy in APPROVALS else None


def _mode_of(terms: "Mapping[str, Any]") -> "str | None":
    policy = terms.get("sandbox_policy")
    # Older sessions call it by another name.
    mode = policy.get("type", policy.get("mode")) if isinstance(policy, dict) else None
    return mode if mode in _MODES else None


class Progress:
    """A line on stderr that comes when it takes longer, and goes at the end. Only for a person who looks on."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._done = 0
        self._next_at = time.monotonic() + _QUIET_SECONDS
        self._is_shown = False
        self._is_wanted = os.isatty(STDERR)

    def __enter__(self) -> "Progress":
        return self

    def one_more(self) -> None:
        self._done += 1
        if self._is_wanted and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _BETWEEN_SECONDS
            self._is_shown = True
            os.write(STDERR, f"\r{self._done} of {self._files} sessions".encode())

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            os.write(STDERR, b"\r\x1b[K")
