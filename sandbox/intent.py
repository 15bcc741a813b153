"""What a command line sets out to do, as far as it can be read off its words.

Owns the small table of commands whose effect is known: what they write, what they read, whether they need a network.
Says nothing about commands it does not know. Pure; paths are joined to the directory, never looked up.
"""

import os
import shlex
from collections.abc import Iterator, Sequence

from pycodex.protocol.record import Record

WRITE = "write"
READ = "read"
NETWORK = "network"

_SHELLS = {"bash", "sh", "dash", "zsh", "ksh"}
_PREFIXES = {"env", "nice", "nohup", "time", "timeout", "stdbuf", "exec", "command", "setsid", "sudo", "xargs"}
_SEPARATORS = set(";|&()")
_UNKNOWABLE = set("$`*?[{")

_WRITE_ALL = {"touch", "mkdir", "rmdir", "rm", "mv", "tee", "truncate", "unlink", "shred", "mkfifo", "mknod"}
_WRITE_AFTER_FIRST = {"chmod", "chown", "chgrp"}
_WRITE_LAST = {"cp", "ln", "install", "rsync"}
_VALUE_FLAGS = {
    "touch": {"-r", "-d", "-t"},
    "mkdir": {"-m"},
    "mkfifo": {"-m"},
    "truncate": {"-s", "-r"},
    "install": {"-m", "-o", "-g"},
}

_NETWORK = {
    *("curl", "wget", "ssh", "scp", "sftp", "ping", "dig", "nslookup", "host", "nc", "ncat", "telnet", "ftp"),
    *("traceroute", "whois", "http", "https", "apt", "apt-get", "dnf", "yum", "apk", "rsync"),
}
_NETWORK_SUBCOMMANDS = {
    "pip": {"install", "download", "index"},
    "pip3": {"install", "download", "index"},
    "uv": {"pip", "sync", "add", "lock", "tool"},
    "npm": {"install", "i", "ci", "add", "update", "view", "publish"},
    "pnpm": {"install", "i", "add", "update"},
    "yarn": {"install", "add", "up"},
    "cargo": {"fetch", "install", "update", "add", "publish", "search"},
    "go": {"get", "install"},
    "gem": {"install", "update"},
    "docker": {"pull", "push", "login"},
    "git": {"clone", "fetch", "pull", "push", "ls-remote"},
    "gh": {"pr", "issue", "repo", "api", "run", "release"},
}
_TALKS_ABOUT_URLS = {
    *("[", "awk", "cat", "diff", "echo", "find", "grep", "head", "ls", "printf", "rg", "sed", "tail", "test"),
}
_SCHEMES = ("http://", "https://", "ssh://", "git://", "ftp://", "wss://", "ws://")
# Those that write whatever their options are; `git config` or `git tag` may only have looked.
_GIT_WRITES = {
    *("add", "am", "checkout", "cherry-pick", "commit", "gc", "init", "merge", "mv", "rebase", "reset", "restore"),
    *("revert", "rm", "switch"),
}


class Wish(Record):
    """One access that a command needs. `path` is absolute, and empty for the network."""

    access: "str"
    path: "str" = ""


def wishes(argv: Sequence[str], cwd: str) -> Iterator[Wish]:
    """Everything the command is known to need, in the order of its words."""
    words = _without_prefixes(list(argv))
    if not words:
        return
    script = _script_of(words)
    if script is None:
        yield from _of_command(words, cwd)
        return
    for command, directory in _commands_of(script, cwd):
        yield from _of_words(command, directory)


def _of_words(tokens: list[str], cwd: str) -> Iterator[Wish]:
    words, targets = _split_redirections(tokens)
    yield from _of_command(_without_prefixes(words), cwd)
    for target in targets:
        yield from _path_wish(WRITE, target, cwd)


def _without_prefixes(words: list[str]) -> list[str]:
    """The command behind `env A=1`, `timeout 5` and the like."""
    while words:
        name = os.path.basename(words[0])
        is_assignment = "=" in words[0] and words[0].split("=")[0].isidentifier()
        if name not in _PREFIXES and not is_assignment:
            return words
        words = words[1:]
        while words and (words[0].startswith("-") or (name == "timeout" and words[0][:1].isdigit())):
            words = words[1:]
    return words


def _script_of(words: list[str]) -> str | None:
    if os.path.basename(words[0]) not in _SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if not word.startswith("-"):
            return None
        if word[1:2] != "-" and word.endswith("c"):
            return words[at + 1] if at + 1 < len(words) else None
    return None


def _commands_of(script: str, cwd: str) -> Iterator[tuple[list[str], str]]:
    """The simple commands of a script, each with the directory it runs in; nothing where that cannot be known."""
    lexer = shlex.shlex(script[:65536].replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    for token in [*tokens, ";"]:
        if not _SEPARATORS.issuperset(token):
            command.append(token)
            continue
        if command[:1] == ["cd"] and len(command) == 2 and not _UNKNOWABLE.intersection(command[1]):
            cwd = os.path.normpath(os.path.join(cwd, command[1]))
        elif command:
            yield command, cwd
        command = []


def _split_redirections(tokens: list[str]) -> tuple[list[str], list[str]]:
    words: list[str] = []
    targets: list[str] = []
    rest = iter(tokens)
    for token in rest:
        if not token or not set("<>&|").issuperset(token):
            words.append(token)
            continue
        if words and words[-1].isdigit():
            words.pop()
        target = next(rest, "")
        if token in (">", ">>", ">|", "&>", "&>>") and target:
            targets.append(target)
    return words, targets


def _of_command(words: list[str], cwd: str) -> Iterator[Wish]:
    if not words:
        return
    name, arguments = os.path.basename(words[0]), words[1:]
    if _needs_network(name, arguments):
        yield Wish(access=NETWORK)
    if name == "git":
        yield from _of_git(arguments, cwd)
    for path in _written(name, arguments):
        yield from _path_wish(WRITE, path, cwd)
    for word in arguments:
        if not word.startswith("-"):
            yield from _path_wish(READ, word, cwd)


def _written(name: str, arguments: list[str]) -> list[str]:
    plain = list(_plain_words(name, arguments))
    if name in _WRITE_ALL:
        return plain
    if name in _WRITE_AFTER_FIRST:
        return plain[1:]
    if name in _WRITE_LAST:
        return plain[-1:] if len(plain) > 1 else []
    if name == "dd":
        return [word[3:] for word in arguments if word.startswith("of=")]
    if name == "sed" and any(word.startswith(("-i", "--in-place")) for word in arguments):
        return plain[1:]
    return []


def _plain_words(name: str, arguments: list[str]) -> Iterator[str]:
    rest = iter(arguments)
    for word in rest:
        if word in _VALUE_FLAGS.get(name, ()):
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def _path_wish(access: str, word: str, cwd: str) -> Iterator[Wish]:
    if word and not _UNKNOWABLE.intersection(word) and not word.startswith("~") and "://" not in word:
        yield Wish(access=access, path=os.path.normpath(os.path.join(cwd, word)))


def _of_git(arguments: list[str], cwd: str) -> Iterator[Wish]:
    words = list(arguments)
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            cwd = os.path.normpath(os.path.join(cwd, words[1]))
        words = words[2:] if words[0] in ("-C", "-c") else words[1:]
    if words and words[0] in _GIT_WRITES:
        yield Wish(access=WRITE, path=os.path.join(cwd, ".git"))


def _needs_network(name: str, arguments: list[str]) -> bool:
    if name in ("python", "python3") and arguments[:1] == ["-m"]:
        name, arguments = (arguments[1:] or [""])[0], arguments[2:]
    if name == "rsync":
        return any(":" in word for word in arguments)
    if name in _NETWORK:
        return not any(word.startswith("file://") for word in arguments)
    subcommands = _NETWORK_SUBCOMMANDS.get(name)
    if subcommands and any(word in subcommands for word in arguments[:3]):
        return True
    return name not in _TALKS_ABOUT_URLS and any(word.startswith(_SCHEMES) for word in arguments)
