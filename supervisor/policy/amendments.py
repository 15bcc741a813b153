"""Which first words of commands a person is never offered to allow for good.

Owns that list: programs that run whatever they are given, so that to allow them is to allow everything. It goes by the
name of a program, wherever it lies and whichever version it is. Pure.
"""

import os
import re
from collections.abc import Sequence

# With nothing but options behind them they run what comes next: a script, a command of another host, a container.
_INTERPRETERS = frozenset(
    {
        *("python", "pythonw", "pypy", "py", "pyw", "node", "nodejs", "bun", "deno", "perl", "ruby", "php", "lua"),
        *("luajit", "julia", "Rscript", "R", "osascript", "tclsh", "guile", "awk", "gawk", "mawk", "nawk"),
        *("bash", "sh", "zsh", "dash", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "rbash"),
        *("pwsh", "powershell", "cmd", "busybox", "find", "ssh", "docker", "podman", "git", "rm"),
    }
)
# These run the command that follows their own words.
_LAUNCHERS = frozenset(
    {
        *("env", "sudo", "doas", "su", "pkexec", "runuser", "nohup", "setsid", "time", "timeout", "nice", "ionice"),
        *("stdbuf", "xargs", "parallel", "command", "exec", "eval", "builtin", "chroot", "unshare", "nsenter"),
        *("strace", "ltrace", "watch", "script", "npx", "bunx", "uvx", "pnpx", "caffeinate"),
    }
)
_RUNS_SCRIPTS = frozenset(
    {
        *((tool, verb) for tool in ("npm", "pnpm", "yarn", "bun", "deno") for verb in ("run", "exec", "eval", "dlx")),
        *((tool, verb) for tool in ("docker", "podman") for verb in ("run", "exec")),
    }
)
_VERSION = re.compile(r"[0-9.]+$")


def is_banned(words: Sequence[str]) -> bool:
    """Whether a rule about just these words would allow nearly anything."""
    if not words:
        return True
    program, rest = _name(words[0]), list(words[1:])
    if program in _LAUNCHERS:
        while rest and _belongs_to_launcher(rest[0]):
            rest = rest[1:]
        return is_banned(rest)
    if program in _INTERPRETERS and all(word.startswith(("-", "/c", "/k")) for word in rest):
        return True
    return len(rest) == 1 and (program, rest[0]) in _RUNS_SCRIPTS


def _name(word: str) -> str:
    name = os.path.basename(word.replace("\\", "/")).removesuffix(".exe")
    return _VERSION.sub("", name) or name


def _belongs_to_launcher(word: str) -> bool:
    """An option, a setting of a variable, or a number, such as how long to wait."""
    return word.startswith("-") or "=" in word or word[:1].isdecimal()
