"""`pycodex sandbox`: one command, confined, in the caller's own terminal.

Owns the subcommand's arguments, its messages and its exit codes. The plan comes from `sandbox`, the running from its
one-shot; nothing heavier is loaded on the way to the command.
"""

import os
import sys
from errno import ENOENT

from pycodex.protocol.confinement import CannotExec, Confinement
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, BadUsage, Flag, Scanned, bad_usage, overrides_of, scan, similar
from pycodex.supervisor.cli.terminal import complain, say

_SIGKILL = 9

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.protocol.permissions import Permissions
    from pycodex.supervisor.config.early import Settings

_FULL_AUTO = Flag("--full-auto")
_EXPLAIN = Flag("--explain")
_DIRECTORY = Flag("-C", "--cd", value="DIR")
_PROFILE = Flag("-P", "--permission-profile", "--permissions-profile", value="NAME")
_LOG_DENIALS = Flag("--log-denials")
_FLAGS = (*GLOBAL_FLAGS, _FULL_AUTO, _EXPLAIN, _DIRECTORY, _PROFILE)

_SYSTEMS = {"linux": "linux", "landlock": "linux", "macos": "macos", "seatbelt": "macos", "windows": "windows"}
_ELSEWHERE = {
    "linux": ("linux", "Linux sandbox is only available on Linux"),
    "macos": ("darwin", "Seatbelt sandbox is only available on macOS"),
    "windows": ("win32", "Windows sandbox is only available on Windows"),
}

HELP = """\
Run one command inside the sandbox

Usage: pycodex sandbox [OPTIONS] <COMMAND>
       pycodex sandbox [OPTIONS] -- COMMAND...

Commands:
  linux    Confine with namespaces, Landlock and seccomp [alias: landlock]
  macos    Confine with Seatbelt (only on macOS) [alias: seatbelt]
  windows  Confine with a restricted token (only on Windows)
  help     Show this text, or that of a command

Without one of these words the sandbox of this system is used.

Without --full-auto the command may read files but change none. Everything after COMMAND belongs to COMMAND.

Options:
      --full-auto                  Allow writing in the current directory, /tmp and $TMPDIR
  -C, --cd <DIR>                   Run in DIR, which is then the workspace
  -P, --permission-profile <NAME>  Use a profile: a table of [permissions] in config.toml, or one of :read-only,
                                   :workspace, :danger-no-sandbox
      --explain                    Show what the sandbox would allow, and run nothing
  -c, --config <key=value>         Set one configuration value for this run, for example
                                   -c sandbox_workspace_write.network_access=true
      --enable <FEATURE>           The same as -c features.FEATURE=true
      --disable <FEATURE>          The same as -c features.FEATURE=false
  -h, --help                       Show this text

Exit code: that of the command; 128+N if signal N ended it; 1 if it could not be run; 2 for wrong arguments."""


class _Request:
    """What the command line asks for."""

    def __init__(self, before: Scanned, after: "Scanned | None", inherited: "list[str]") -> None:
        scans = [before] if after is None else [before, after]
        self.command = scans[-1].rest
        self.full_auto = any(each.has(_FULL_AUTO.key) for each in scans)
        self.explain = any(each.has(_EXPLAIN.key) for each in scans)
        self.directory = _last(scans, _DIRECTORY)
        self.profile = _last(scans, _PROFILE)
        self.overrides = [*inherited, *(text for each in scans for text in overrides_of(each))]


def _last(scans: "list[Scanned]", flag: Flag) -> "str | None":
    values = [value for each in scans if (value := each.last(flag.key)) is not None]
    return values[-1] if values else None


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The subcommand after its own word. Returns the exit code."""
    before = scan(argv, _FLAGS, usage="pycodex sandbox [OPTIONS] <COMMAND>", takes_words=False)
    if before.wants_help or (before.rest[:1] == ["help"] and not before.after_dashes):
        say(HELP)
        return 0
    if not before.rest and not before.after_dashes and not before.has(_EXPLAIN.key):
        complain(HELP)
        return 2
    system = _system_word(before)
    after = None
    if system:
        flags = (*_FLAGS, _LOG_DENIALS) if system == "macos" else _FLAGS
        after = scan(before.rest[1:], flags, usage=f"pycodex sandbox {system} [OPTIONS] [COMMAND]...")
        if after.wants_help:
            say(HELP)
            return 0
        _check_platform(system)
    return _execute(_Request(before, after, overrides))


def _system_word(before: Scanned) -> "str | None":
    """Which system's sandbox is named; None if the rest is the command itself."""
    if before.after_dashes or not before.rest:
        return None
    word = before.rest[0]
    if word in _SYSTEMS:
        return _SYSTEMS[word]
    if before.has(_DIRECTORY.key) or before.has(_PROFILE.key):
        return None
    raise _unknown_system(word)


def _unknown_system(word: str) -> BadUsage:
    meant = similar(word, _SYSTEMS)
    tips = [f"a similar subcommand exists: '{meant}'"] if meant else []
    tips.append(f"to run '{word}' in the sandbox, use 'pycodex sandbox -- {word}'")
    return bad_usage(f"unrecognized subcommand '{word}'", tips=tips, usage="pycodex sandbox [OPTIONS] <COMMAND>")


def _check_platform(system: str) -> None:
    platform, message = _ELSEWHERE[system]
    if sys.platform != platform:
        raise UserFacing(message)


def _execute(request: _Request) -> int:
    from pycodex.supervisor.config import early, sandbox_settings

    if not request.command and not request.explain:
        raise UserFacing("no command given to run in the sandbox; try: pycodex sandbox linux -- ls")
    if request.full_auto and request.profile is not None:
        raise bad_usage(f"the argument '--full-auto' cannot be used with '{_PROFILE.shown}'")
    cwd = _working_directory(request.directory)
    env = _callers_environment()
    settings = early.load(env, request.overrides, cwd=cwd)
    permissions = sandbox_settings.chosen_permissions(settings, profile=request.profile, full_auto=request.full_auto)
    confinement = confinement_for(permissions, settings, cwd=cwd, env=env)
    if request.explain:
        from pycodex.supervisor.cli.sandbox_explain import explained

        say(explained(confinement, cwd=cwd, env=env))
        return 0
    if request.directory is not None:
        env["PWD"] = cwd
    if not confinement.network and not confinement.unconfined_because:
        env["CODEX_SANDBOX_NETWORK_DISABLED"] = "1"
    return run_confined(confinement, argv=request.command, cwd=cwd, env=env)


def _callers_environment() -> "dict[str, str]":
    env = dict(os.environ)
    # The interpreter sets this one by itself where the caller has no locale at all.
    if env.get("LC_CTYPE") == "C.UTF-8":
        with open("/proc/self/environ", "rb") as given:
            if b"LC_CTYPE=" not in given.read():
                del env["LC_CTYPE"]
    return env


def _working_directory(given: "str | None") -> str:
    try:
        cwd = os.getcwd()
    except OSError as error:
        if given is None or not os.path.isabs(given):
            raise UserFacing(f"cannot use the current directory: {error.strerror}") from None
        cwd = "/"
    if given is None:
        return cwd
    path = os.path.realpath(os.path.join(cwd, given))
    try:
        # Entering is what will be needed; a directory that is only readable does not do.
        os.close(os.open(path + "/.", os.O_PATH | os.O_DIRECTORY))
    except OSError as error:
        raise UserFacing(f"cannot use directory '{given}': {error.strerror}") from None
    return path


def confinement_for(
    permissions: "Permissions", settings: "Settings", *, cwd: str, env: "dict[str, str]"
) -> Confinement:
    """Permissions and settings made into the value that the backend enforces."""
    from pycodex.sandbox.plan import plan
    from pycodex.sandbox.survey import survey
    from pycodex.supervisor.config import sandbox_settings

    return plan(
        permissions,
        survey(permissions, cwd=cwd, env=env, codex_home=settings.codex_home),
        landlock_only=sandbox_settings.landlock_only(settings),
        limits=sandbox_settings.limits(settings),
        deny_read_defaults=sandbox_settings.deny_read_defaults(settings),
    )


def run_confined(confinement: Confinement, *, argv: "list[str]", cwd: str, env: "dict[str, str]") -> int:
    """Run the command with this process's stdin, stdout and stderr; return its exit code as a shell would see it."""
    from pycodex.sandbox.oneshot import run_once

    try:
        if not argv[0]:
            raise CannotExec(ENOENT, argv[0])
        outcome = run_once(confinement, argv=argv, cwd=cwd, env=env)
    except CannotExec as error:
        raise UserFacing(f"cannot run '{error.subject}': {os.strerror(error.errno)}") from None
    for note in outcome.notes:
        complain(f"pycodex: {note}")
    code = outcome.code if outcome.code is not None else 128 + (outcome.signal or 0)
    if outcome.interrupted_by and code == 128 + _SIGKILL:
        # It did not end by itself in time: what the caller sent is the cause, not how we put it through.
        code = 128 + outcome.interrupted_by
    if code and not outcome.interrupted_by and not confinement.unconfined_because:
        _explain_failure(confinement, argv, cwd=cwd, code=code)
    return code


def _explain_failure(confinement: Confinement, argv: "list[str]", *, cwd: str, code: int) -> None:
    from pycodex.sandbox import denial

    found = denial.guess(confinement, argv=argv, cwd=cwd, exit_code=code, resolve=os.path.realpath)
    if found is not None:
        complain(f"pycodex: {found.rule}\npycodex: {found.remedy}")
