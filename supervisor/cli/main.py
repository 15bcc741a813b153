"""The argument tree of `pycodex`: global flags, then one subcommand, loaded only when it is called.

Owns the program's exit codes and the one place where an error becomes a line on stderr. Knows of each subcommand only
its name; `--version` loads nothing but the version.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from pycodex.supervisor.cli.root_flags import RootFlags

    Command = Callable[[list[str], list[str]], int]

_USAGE = "pycodex [OPTIONS] <COMMAND> [ARGS]"
_COMMANDS = (
    *("exec", "review", "login", "logout", "sandbox", "debug", "config", "features", "policy", "execpolicy"),
    *("doctor", "demo", "app-server", "help"),
)

HELP = """\
A coding agent for the terminal, whose commands run in a sandbox that needs no privileges and no helper program

Usage: pycodex [OPTIONS] <COMMAND> [ARGS]

Commands:
  exec        Give the agent one task and wait until it is done [alias: e]
  review      Have changes of the repository reviewed
  login       Log in with ChatGPT or an API key, or say who is logged in
  logout      Forget the stored login
  sandbox     Run one command inside the sandbox
  doctor      Check what this machine can enforce, and say how to get more
  demo        Watch a whole turn of the agent, in a scratch repository, without a key
  config      Show every setting and where it comes from
  features    List the feature flags, or switch one on or off
  policy      Show what becomes of a command and why, and what new rules would change
  execpolicy  Show what rule files say about a command
  app-server  Serve programs: JSON messages on standard input and output, or on a socket
  debug       Show what the model would see
  help        Show this text, or that of a command

Options:
  -c, --config <key=value>  Set one configuration value, on top of config.toml; the value is TOML or plain text
      --enable <FEATURE>    The same as -c features.FEATURE=true
      --disable <FEATURE>   The same as -c features.FEATURE=false
  -m, --model <MODEL>       The model to ask
      --full-auto           Let the agent's commands write in the workspace
      --dangerously-bypass-approvals-and-sandbox
                            Run the agent's commands without any sandbox [alias: --yolo]
  -h, --help                Show this text
  -V, --version             Show the version

Start with: pycodex demo"""


def main() -> "NoReturn":
    """The program. Ends the process here: taking the interpreter down would cost as much as a short command."""
    _fill_closed_streams()
    try:
        code = run(sys.argv)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader has seen enough.
        code = 141
    os._exit(code)


def _fill_closed_streams() -> None:
    """A stream that the caller closed would otherwise be the first file that we open, and then the command's.

    Opened the wrong way round, so that using it still fails.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY), True)


def run(argv: "list[str]") -> int:
    name = os.path.basename(argv[0])
    if name == "codex-linux-sandbox":
        from pycodex.supervisor.cli.linux_sandbox_arg0 import run as run_arg0

        return _guarded(run_arg0, argv[1:], [])
    if name in ("apply_patch", "applypatch"):
        from pycodex.supervisor.cli.apply_patch_arg0 import run as run_apply_patch

        return _guarded(run_apply_patch, argv[1:], [])
    if argv[1:2] == ["--codex-run-as-apply-patch"]:
        from pycodex.supervisor.cli.apply_patch_arg0 import run_by_flag

        return _guarded(run_by_flag, argv[2:], [])
    if argv[1:] in (["--version"], ["-V"]):
        return _show_version()
    return _guarded(_dispatch, argv[1:], [])


def _show_version() -> int:
    from pycodex.supervisor.version import VERSION

    try:
        os.write(1, f"codex-cli {VERSION}\n".encode())
    except BrokenPipeError:
        raise
    except OSError:
        return 1
    return 0


def _guarded(command: "Command", argv: "list[str]", overrides: "list[str]") -> int:
    from pycodex.protocol.confinement import Unenforceable
    from pycodex.protocol.errors import UserFacing
    from pycodex.supervisor.cli.options import BadUsage
    from pycodex.supervisor.cli.terminal import complain

    try:
        return command(argv, overrides)
    except BadUsage as error:
        complain(str(error))
        return 2
    except UserFacing as error:
        complain(f"{error.prefix}{error}")
        return error.exit_code
    except Unenforceable as error:
        complain(f"Error: {error}")
        return 1
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("PYCODEX_DEBUG"):
            raise
        complain(f"Error: unexpected {type(error).__name__}: {error} (PYCODEX_DEBUG=1 shows where)")
        return 1


def _dispatch(argv: "list[str]", overrides: "list[str]") -> int:
    from pycodex.supervisor.cli.options import overrides_of, scan
    from pycodex.supervisor.cli.root_flags import ROOT_FLAGS, inherited
    from pycodex.supervisor.cli.terminal import complain, say

    scanned = scan(argv, ROOT_FLAGS, usage=_USAGE, takes_words=False)
    if scanned.wants_help:
        say(HELP)
        return 0
    if scanned.wants_version:
        return _show_version()
    if not scanned.rest:
        complain(HELP)
        return 2
    word, *rest = scanned.rest
    if word == "help" and not scanned.after_dashes:
        return _help(rest)
    root = inherited(scanned, word, _USAGE)
    return _command(word, root)(rest, [*overrides, *overrides_of(scanned)])


def _help(words: "list[str]") -> int:
    from pycodex.supervisor.cli.terminal import say

    if not words or words[0] == "help":
        say(HELP)
        return 0
    return _command(words[0])(["--help"], [])


def _command(word: str, root: "RootFlags | None" = None) -> "Command":
    """Some also heed flags that stand before their word."""
    if word in ("exec", "e"):
        from pycodex.supervisor.cli import exec as exec_command

        return lambda argv, overrides: exec_command.run(argv, overrides, root)
    if word == "review":
        from pycodex.supervisor.cli import review

        return lambda argv, overrides: review.run(argv, overrides, root)
    if word == "debug":
        from pycodex.supervisor.cli import debug

        return lambda argv, overrides: debug.run(argv, overrides, root.model if root else None)
    if word == "features":
        from pycodex.supervisor.cli import features

        return lambda argv, overrides: features.run(argv, overrides, root.profile if root else None)
    return _plain_command(word)


def _plain_command(word: str) -> "Command":
    if word == "sandbox":
        from pycodex.supervisor.cli import sandbox

        return sandbox.run
    if word in ("login", "logout"):
        from pycodex.supervisor.cli import login

        return login.run if word == "login" else login.run_logout
    if word == "doctor":
        from pycodex.supervisor.cli import doctor

        return doctor.run
    if word == "app-server":
        from pycodex.supervisor.cli import app_server

        return app_server.run
    if word == "demo":
        from pycodex.supervisor.cli import demo

        return demo.run
    if word == "config":
        from pycodex.supervisor.cli import config

        return config.run
    if word == "policy":
        from pycodex.supervisor.cli import policy

        return policy.run
    if word == "execpolicy":
        from pycodex.supervisor.cli import execpolicy

        return execpolicy.run
    from pycodex.supervisor.cli.interactive import refusal

    raise refusal(word, known=_COMMANDS, usage=_USAGE, env=os.environ)
