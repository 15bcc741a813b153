"""What a person has allowed in one session, so that nobody is asked twice.

Owns the keys by which a command or a file is known again, and the rules as they stand in this session. Kept in memory:
with the session it is forgotten, but for rules, which `rule_writer` puts on disk.
"""

from collections.abc import Hashable, Iterable, Sequence

from pycodex.supervisor.policy.rules import Rules

_SCRIPT = "script of a shell"
# What a shell makes something else of, unless it is quoted.
_EXPANDED = frozenset("*?[]{}~\\!")


class Approvals:
    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self._granted: set[Hashable] = set()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._granted

    def has_all(self, keys: Iterable[Hashable]) -> bool:
        return self._granted.issuperset(keys)

    def grant(self, keys: Iterable[Hashable]) -> None:
        """For the rest of the session."""
        self._granted.update(keys)

    def amend(self, words: Sequence[str]) -> None:
        """Allow all commands that start with these words."""
        amended = self.rules.amended(words)
        if amended.prefix_rules[-1] not in self.rules.prefix_rules:
            self.rules = amended


def command_key(argv: Sequence[str], *terms: Hashable) -> Hashable:
    """Equal for commands that do the same on the same terms, however they are quoted."""
    return (_canonical(argv), *terms)


def file_key(path: str) -> Hashable:
    """`path` is absolute."""
    return ("file", path)


def _canonical(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a command that a shell would run as they are; of anything else, all there is."""
    from pycodex.supervisor.policy.command_line import script_of, segments_of

    if script_of(argv) is None:
        return tuple(argv)
    segments = segments_of(argv)
    if len(segments.commands) != 1 or segments.is_complex or segments.commands[0] == tuple(argv):
        return (*argv, _SCRIPT)
    if not segments.has_shell_of_the_system(users="") or _EXPANDED.intersection("".join(segments.commands[0])):
        return (*argv, _SCRIPT)
    return segments.commands[0]
