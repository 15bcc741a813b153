"""`pycodex policy explain`: what would become of a command here, and why.

Owns the subcommand's arguments and how its answer comes about: the configuration and the rules that an interactive
session would have in that directory, the same question that it would ask, and the sandbox that would be around the
command. The words are in `policy_explain_text`. Runs nothing.
"""

import json
import os

from pycodex.protocol.errors import ModelFacing, UserFacing
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, Flag, Scanned, bad_usage, is_text, not_text, overrides_of, scan
from pycodex.supervisor.cli.terminal import Palette, complain, prefers_colour, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pycodex.protocol.confinement import Confinement
    from pycodex.supervisor.config.config import Config
    from pycodex.supervisor.policy.explanation import Explanation

_USAGE = "pycodex policy explain [OPTIONS] [--] <COMMAND>..."
APPROVALS = ("untrusted", "on-failure", "on-request", "never")
_MODES = ("read-only", "workspace-write", "danger-full-access")
# What no name of a program has in it, but a line for a shell may.
_SCRIPT_SIGNS = frozenset(" \t\n;|&<>$`()")

_DIRECTORY = Flag("-C", "--cd", "--cwd", value="DIR")
_PROFILE = Flag("-p", "--profile", value="PROFILE")
_SANDBOX = Flag("-s", "--sandbox", value="MODE", choices=_MODES)
_APPROVAL = Flag("-a", "--ask-for-approval", value="POLICY", choices=APPROVALS)
_ESCALATED = Flag("--escalated")
_JSON = Flag("--json")
_FLAGS = (*GLOBAL_FLAGS, _DIRECTORY, _PROFILE, _SANDBOX, _APPROVAL, _ESCALATED, _JSON)

HELP = f"""\
Show whether a command would run, be asked about or be refused here, and why

Usage: {_USAGE}

One word with a space in it is a script for your shell, as the agent runs it; several words are a program and its
arguments. The configuration and the rules are those of an interactive session in this directory; `exec` never asks, so
use -a never to see what becomes of the command there.

Arguments:
  <COMMAND>...  The command; everything from its first word on belongs to it

Options:
  -C, --cwd <DIR>                  As if the session worked in DIR [alias: --cd]
  -s, --sandbox <MODE>             read-only, workspace-write or danger-full-access
  -a, --ask-for-approval <POLICY>  untrusted, on-failure, on-request or never
      --escalated                  As if the model asked to leave the sandbox
  -p, --profile <PROFILE>          Use a profile of config.toml
      --json                       Print JSON: command, cwd, sandboxMode, approvalPolicy, sandboxPermissions, script,
                                   segments, outcome (in-sandbox, outside, no-sandbox, asks, refused or patch), refusal,
                                   ask, unconfinedBecause, onDenial (fails, asks or repeats), retryAsk, confinement
  -c, --config <key=value>         Set one configuration value, on top of config.toml
      --enable <FEATURE>           The same as -c features.FEATURE=true
      --disable <FEATURE>          The same as -c features.FEATURE=false
  -h, --help                       Show this text

Exit code: 0 whatever would become of the command, 1 if rules or configuration cannot be used, 2 for wrong arguments."""


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code."""
    scanned = scan(argv, _FLAGS, usage=_USAGE)
    if scanned.wants_help:
        say(HELP)
        return 0
    if not scanned.rest:
        raise bad_usage("the following required arguments were not provided:\n  <COMMAND>...", usage=_USAGE)
    if not all(map(is_text, scanned.rest)):
        raise not_text(_USAGE)
    config, env = loaded(scanned, [*overrides, *overrides_of(scanned)])
    _explain(scanned.rest, config, env, escalated=scanned.has(_ESCALATED.key), as_json=scanned.has(_JSON.key))
    return 0


def loaded(scanned: Scanned, overrides: "Sequence[str]") -> "tuple[Config, Mapping[str, str]]":
    """What an interactive session would start with. What it would be warned of is told."""
    from pycodex.supervisor.config import early
    from pycodex.supervisor.config.config import Flags
    from pycodex.supervisor.config.dotenv import with_dotenv
    from pycodex.supervisor.config.load import load_config
    from pycodex.supervisor.frontends.exec.run import working_directory

    env = with_dotenv(os.environ, early.codex_home(os.environ))
    config = load_config(
        env=env,
        overrides=overrides,
        cwd=working_directory(scanned.last(_DIRECTORY.key)),
        flags=Flags(
            profile=scanned.last(_PROFILE.key),
            sandbox_mode=scanned.last(_SANDBOX.key),
            approval_policy=scanned.last(_APPROVAL.key),
        ),
    )
    for text in (*config.unknown_keys, *(f"warning: {text}" for text in config.warnings)):
        complain(text)
    return config, env


def _explain(
    words: "Sequence[str]", config: "Config", env: "Mapping[str, str]", *, escalated: bool, as_json: bool
) -> None:
    from pycodex.supervisor.cli.policy_explain_text import patch_lines

    argv = _argv(words, config)
    patch = _patch_problem(argv)
    if patch is not None:
        told = {"command": list(argv), "cwd": config.cwd, "outcome": "patch", "refusal": patch or None}
        say(_as_json(told) if as_json else "\n".join(patch_lines(argv, patch, _palette())))
        return
    explanation = _explanation(argv, config, escalated=escalated)
    confinement = _confinement(explanation, config, env)
    if as_json:
        say(_as_json(_told(explanation, confinement, config)))
        return
    from pycodex.supervisor.cli.policy_explain_text import explained_lines

    say("\n".join(explained_lines(explanation, confinement, config, _palette())))


def _palette() -> Palette:
    return Palette(colour=prefers_colour(os.environ))


def _argv(words: "Sequence[str]", config: "Config") -> "tuple[str, ...]":
    if len(words) > 1 or _SCRIPT_SIGNS.isdisjoint(words[0]):
        return tuple(words)
    from pycodex.supervisor.context.environment import user_shell
    from pycodex.supervisor.tools.shells import argv_for

    return argv_for(user_shell(), words[0], login=config.allow_login_shell)


def _patch_problem(argv: "Sequence[str]") -> "str | None":
    """None if it is no patch; else what the model is told of one that cannot be applied, which may be nothing."""
    from pycodex.supervisor.tools.interception import patch_in

    try:
        return None if patch_in(argv) is None else ""
    except ModelFacing as error:
        return str(error)


def _explanation(argv: "tuple[str, ...]", config: "Config", *, escalated: bool) -> "Explanation":
    from pycodex.supervisor.context.environment import user_shell
    from pycodex.supervisor.policy.escalation import REQUIRE_ESCALATED, USE_DEFAULT
    from pycodex.supervisor.policy.explanation import explain
    from pycodex.supervisor.policy.located_rules import load_located
    from pycodex.supervisor.policy.questions import Terms, question_about
    from pycodex.supervisor.policy.rule_files import BadRules

    try:
        located = load_located(config)
    except BadRules as error:
        raise UserFacing(f"Error loading rules:\n{error}", prefix="") from error
    question = question_about(
        argv,
        rules=located.rules,
        terms=Terms(config.approval_policy, config.permissions.mode, user_shell().path),
        asked=REQUIRE_ESCALATED if escalated else USE_DEFAULT,
    )
    return explain(question, located)


def _confinement(explanation: "Explanation", config: "Config", env: "Mapping[str, str]") -> "Confinement | None":
    """What would be around the command; None if it would not run."""
    from pycodex.protocol.confinement import Confinement
    from pycodex.sandbox.plan import plan
    from pycodex.sandbox.survey import survey
    from pycodex.supervisor.config.shell_environment import command_environment

    run = explanation.run
    if run is None:
        return None
    if run.unconfined_because:
        return Confinement(unconfined_because=run.unconfined_because, limits=config.limits)
    commands_env = command_environment(config.shell_environment_policy, env, "")
    return plan(
        config.permissions,
        survey(config.permissions, cwd=config.cwd, env=commands_env, codex_home=config.codex_home),
        landlock_only=config.landlock_only,
        limits=config.limits,
        deny_read_defaults=config.deny_read_defaults,
    )


def _told(explanation: "Explanation", confinement: "Confinement | None", config: "Config") -> "dict[str, object]":
    from pycodex.supervisor.cli.sandbox_explain import plan_as_plain

    command, *rest = explanation.to_plain().items()
    around = None if confinement is None else plan_as_plain(confinement)
    terms = {"cwd": config.cwd, "sandboxMode": config.permissions.mode}
    return {**dict((command,)), **terms, **dict(rest), "confinement": around}


def _as_json(told: "Mapping[str, object]") -> str:
    return json.dumps(told, indent=2, ensure_ascii=False)
