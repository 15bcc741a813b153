"""`pycodex debug`: a look at what happens inside. Also the older spelling of `pycodex sandbox`.

Owns the arguments of `debug prompt-input` and its output. What it shows is made by the engine itself, by the same steps
as a turn of `exec`; nothing is sent, started or kept.
"""

from pycodex.supervisor.cli.grammar import Grammar, Parsed, parse
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, Flag, bad_usage, no_value, overrides_of, scan
from pycodex.supervisor.cli.terminal import complain, prefers_ascii, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.supervisor.frontends.exec.request import ExecRequest

_USAGE = "pycodex debug [OPTIONS] <COMMAND>"
_SANDBOXES = ("linux", "landlock", "macos", "seatbelt", "windows")

_IMAGE = Flag("-i", "--image", value="FILE", greedy=True)
_MODEL = Flag("-m", "--model", value="MODEL")
_PROFILE = Flag("-p", "--profile", value="CONFIG_PROFILE")
_DIRECTORY = Flag("-C", "--cd", value="DIR")
_INSTRUCTIONS = Flag("--instructions")
_PROMPT_INPUT = Grammar(
    "pycodex debug prompt-input",
    (*GLOBAL_FLAGS, _IMAGE, _MODEL, _PROFILE, _DIRECTORY, _INSTRUCTIONS),
    ("PROMPT",),
)

HELP = """\
Look inside

Usage: pycodex debug [OPTIONS] <COMMAND>

Commands:
  prompt-input           Show what the model would see, as JSON, without asking it
  linux, macos, windows  The older spelling of `pycodex sandbox` [aliases: landlock, seatbelt]
  help                   Show this text

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -h, --help                Show this text"""

PROMPT_INPUT_HELP = f"""\
Show what the model would see, as JSON, without asking it

Usage: {_PROMPT_INPUT.usage}

Prints the `input` of the first request that `pycodex exec` would send here: the rules it works by, AGENTS.md and the
environment, and the task. Nothing is sent, no command runs, and no session file is written.

Arguments:
  [PROMPT]  The task; without it only what comes before is shown. `-` reads it from stdin

Options:
  -i, --image <FILE>...           Show pictures to the model, before the task; takes every word up to the next flag
  -m, --model <MODEL>             The model to ask
  -p, --profile <CONFIG_PROFILE>  Use a profile of config.toml
  -C, --cd <DIR>                  As if started in DIR
      --instructions              Print the base instructions instead, as text
  -c, --config <key=value>        Set one configuration value, on top of config.toml
      --enable <FEATURE>          The same as -c features.FEATURE=true
      --disable <FEATURE>         The same as -c features.FEATURE=false
  -h, --help                      Show this text"""


def run(argv: "list[str]", overrides: "list[str]", model: "str | None" = None) -> int:
    """The subcommand after its own word. `model` was named before it. Returns the exit code."""
    before = scan(argv, GLOBAL_FLAGS, usage=_USAGE, takes_words=False)
    word, rest = (before.rest[0], before.rest[1:]) if before.rest else ("", [])
    if before.wants_help or word == "help":
        say(HELP)
        return 0
    if not word:
        complain(HELP)
        return 2
    overrides = [*overrides, *overrides_of(before)]
    if word in _SANDBOXES:
        from pycodex.supervisor.cli import sandbox

        return sandbox.run(before.rest, overrides)
    if word != "prompt-input":
        raise bad_usage(f"unrecognized subcommand '{word}'", usage=_USAGE)
    given = parse(rest, _PROMPT_INPUT)
    if given.flags.wants_help:
        say(PROMPT_INPUT_HELP)
        return 0
    return _show(_request(given, overrides, model), instructions_only=given.flags.has(_INSTRUCTIONS.key))


def _request(given: Parsed, overrides: "list[str]", model: "str | None") -> "ExecRequest":
    from pycodex.supervisor.frontends.exec.request import ExecRequest

    flags = given.flags
    images = tuple(path for value in flags.all(_IMAGE.key) for path in value.split(","))
    if "" in images:
        raise no_value(_IMAGE)
    return ExecRequest(
        prompt=given.words[0] if given.words else None,
        images=images,
        model=flags.last(_MODEL.key) or model,
        profile=flags.last(_PROFILE.key),
        cd=flags.last(_DIRECTORY.key),
        skip_git_repo_check=True,
        overrides=(*overrides, *overrides_of(flags)),
    )


def _show(request: "ExecRequest", *, instructions_only: bool) -> int:
    import json
    import os
    from functools import partial

    import trio

    from pycodex.protocol.user_input import LocalImage, Text, UserInput
    from pycodex.supervisor.frontends.exec.prompt import read_prompt
    from pycodex.supervisor.frontends.exec.run import prepared
    from pycodex.supervisor.session.preview import preview

    start = prepared(request, os.environ)
    inputs: list[UserInput] = [LocalImage(path=path) for path in request.images]
    if request.prompt is not None:
        inputs.append(Text(text=read_prompt(request, tell=complain)))
    seen = trio.run(partial(preview, start.config, inputs, env=start.env, rules=start.rules))
    for line in (*start.config.unknown_keys, *(f"warning: {text}" for text in seen.warnings)):
        complain(line)
    say(seen.instructions if instructions_only else json.dumps(seen.input, indent=2, ensure_ascii=prefers_ascii()))
    return 0
