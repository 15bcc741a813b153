"""Which first words of commands a person is never offered to allow for good.

Owns that list: programs that run whatever they are given, so that to allow them is to allow everything. Pure.
"""

from collections.abc import Iterable, Sequence


def is_banned(words: Sequence[str]) -> bool:
    """Whether a rule about just these words would allow nearly anything."""
    return tuple(words) in _BANNED


def _with(programs: Iterable[str], *endings: str) -> set[tuple[str, ...]]:
    return {(*program.split(), *ending.split()) for program in programs for ending in ("", *endings)}


_BANNED = frozenset(
    {
        *_with(("python", "python3", "pypy", "pypy3"), "-", "-c", "-m"),
        *_with(("py", "py -3", "pythonw", "pyw")),
        *_with(("bash", "sh", "zsh", "dash", "ksh", "fish"), "-c", "-lc", "-l", "-ic"),
        *_with(("/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/sh", "/usr/bin/zsh"), "-c", "-lc"),
        *_with(("pwsh", "powershell", "powershell.exe"), "-Command", "-c"),
        *_with(("cmd", "cmd.exe"), "/c", "/k"),
        *_with(("node", "nodejs", "bun", "deno", "perl", "ruby", "lua", "julia"), "-e", "-c"),
        *_with(("php",), "-r"),
        *_with(("Rscript",), "-e"),
        *_with(("bun", "deno"), "run", "eval"),
        *_with(("npm", "pnpm", "yarn"), "run", "exec"),
        *_with(("npx", "bunx", "uvx")),
        *_with(("git", "rm", "rm -f", "rm -rf", "rm -fr", "osascript")),
        *_with(("env", "sudo", "doas", "su", "eval", "exec", "xargs", "nohup", "time", "timeout", "nice", "command")),
    }
)
