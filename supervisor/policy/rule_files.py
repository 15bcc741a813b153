"""Which rule files there are, and what they say together.

Owns where rules are looked for and in which order, that a project's own count only where it is trusted, and the texts
about files that cannot be used. Only regular files count: no links, no pipes. Rules that an administrator demands are
added to theirs. Where there are no files, nothing is loaded and nothing started.
"""

import os
from collections.abc import Iterator, Sequence
from errno import EFBIG, EINVAL
from stat import S_ISREG
from typing import NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.early import SYSTEM_DIR
from pycodex.supervisor.config.layers import project_folders
from pycodex.supervisor.config.required_rules import RequiredRule
from pycodex.supervisor.config.trust import Trust
from pycodex.supervisor.policy.rules import PrefixRule, Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.supervisor.policy.rule_language import RuleError, Source

# Whose files they are, from the lowest to the highest.
SYSTEM, USER, PROJECT = "system", "user", "project"

MOST_FILE_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class RuleFile(NamedTuple):
    path: str
    level: str
    """SYSTEM, USER or PROJECT."""


class BadRules(UserFacing):
    """Rule files that cannot be used, all because of one. `error` says what is wrong in it, if it could be read."""

    def __init__(self, text: str, error: "RuleError | None" = None) -> None:
        super().__init__(text)
        self.error = error


def load_rules(config: Config, *, system_dir: str = SYSTEM_DIR) -> Rules:
    """All rules that hold for this configuration: those of files, then those of an administrator. Raises BadRules."""
    paths = rule_paths(config, system_dir=system_dir)
    rules = _evaluated(paths) if paths else Rules()
    demanded = tuple(rule for required in config.required_rules for rule in demanded_rules(required))
    return rules.replace(prefix_rules=(*rules.prefix_rules, *demanded)) if demanded else rules


def demanded_rules(required: RequiredRule) -> Iterator[PrefixRule]:
    programs, *rest = required.pattern
    for program in programs:
        yield PrefixRule(
            program=program, rest=tuple(rest), decision=required.decision, justification=required.justification
        )


def _evaluated(paths: Sequence[str]) -> Rules:
    from pycodex.supervisor.policy.rule_language import RuleError
    from pycodex.supervisor.policy.rule_process import evaluated

    sources = read_sources(paths)
    try:
        return evaluated(sources)
    except RuleError as error:
        raise bad_rules(error) from None


def bad_rules(error: "RuleError") -> BadRules:
    if error.line is None:
        return BadRules(f"{error.path}: {error.summary}", error)
    text = f"{error.path}:{error.line}: {error.summary} (problem is on or around line {error.line})"
    return BadRules(text, error)


def read_sources(paths: Sequence[str]) -> "list[Source]":
    """Raises BadRules."""
    from pycodex.supervisor.policy.rule_language import Source

    return [Source(path=path, text=_text(path)) for path in paths]


def rule_paths(config: Config, *, system_dir: str = SYSTEM_DIR) -> list[str]:
    """The files, lowest first. Raises BadRules for a folder that cannot be looked into."""
    return [file.path for file in rule_files(config, system_dir=system_dir)]


def rule_files(config: Config, *, system_dir: str = SYSTEM_DIR) -> list[RuleFile]:
    """The same, and whose they are."""
    return [
        RuleFile(path, level)
        for level, folder, ending in _folders(config, system_dir)
        for path in _files(folder, ending)
    ]


def read_rules(path: str, *, regular_only: bool) -> str:
    """The text of one file. Raises OSError, also if it is too large, and UnicodeDecodeError."""
    descriptor = os.open(path, _FLAGS | os.O_NOFOLLOW if regular_only else os.O_RDONLY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if regular_only and not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(EINVAL, "not a regular file", path)
        data = file.read(MOST_FILE_BYTES + 1)
    if len(data) > MOST_FILE_BYTES:
        raise OSError(EFBIG, f"larger than {MOST_FILE_BYTES} bytes", path)
    return data.decode()


def reading_problem(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read, in the words that users of the reference know."""
    if isinstance(error, UnicodeDecodeError):
        return "stream did not contain valid UTF-8"
    return f"{error.strerror} (os error {error.errno})"


def _folders(config: Config, system_dir: str) -> Iterator[tuple[str, str, str]]:
    """Whose folders to look into, and for which ending."""
    yield SYSTEM, os.path.join(system_dir, "rules"), ".rules"
    # What versions before 0.64 read, and what somebody may still have.
    yield USER, os.path.join(config.codex_home, "policy"), ".codexpolicy"
    yield USER, os.path.join(config.codex_home, "rules"), ".rules"
    root = config.project_root or config.cwd
    trust = Trust(config.settings.values.get("projects", {}), config.cwd, root=root)
    for folder, is_trusted in project_folders(trust, config.codex_home, cwd=config.cwd, root=root):
        if is_trusted and os.path.isdir(folder):
            yield PROJECT, os.path.join(folder, "rules"), ".rules"


def _files(folder: str, ending: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if _is_wanted(entry, ending)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadRules(f"failed to read rules files from {folder}: {reading_problem(error)}") from None
    return sorted(found)


def _is_wanted(entry: os.DirEntry[str], ending: str) -> bool:
    return os.path.splitext(entry.name)[1] == ending and entry.is_file(follow_symlinks=False)


def _text(path: str) -> str:
    try:
        return read_rules(path, regular_only=True)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRules(f"failed to read rules file {path}: {reading_problem(error)}") from None
