"""Rules about commands: which prefix of an argv is allowed, asked about or forbidden.

Owns what a rule is and when it matches. A rule names a program as it is typed; it speaks of a program by its path only
where hosts are resolved, and then only of an absolute one: what a relative path names depends on a directory that the
command may choose. Knows neither the language of the rules nor their files. Pure, and light, as it is loaded on every
start of a process that reads rules.
"""

import os

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ALLOW, PROMPT, FORBIDDEN = "allow", "prompt", "forbidden"
_STRICTNESS = {ALLOW: 0, PROMPT: 1, FORBIDDEN: 2}
DECISIONS = tuple(_STRICTNESS)
_MOST_TOLD = 1000


def strictest(decisions: "Iterable[str]") -> str:
    """Of at least one."""
    return max(decisions, key=_STRICTNESS.__getitem__)


class RuleMatch(Record):
    """What one rule says of one command. `resolved_program` is the path whose name the rule speaks of, if not it."""

    matched_prefix: "tuple[str, ...]"
    decision: "str"
    resolved_program: "str | None" = None
    justification: "str | None" = None


class PrefixRule(Record):
    """`rest` are the words after the program, each with its alternatives."""

    program: "str"
    rest: "tuple[tuple[str, ...], ...]" = ()
    decision: "str" = ALLOW
    justification: "str | None" = None

    def match(self, argv: "Sequence[str]", *, program: str, resolved_program: "str | None" = None) -> RuleMatch | None:
        """`program` is the name that the command's own program goes by here."""
        length = 1 + len(self.rest)
        if program != self.program or len(argv) < length:
            return None
        if any(word not in alternatives for word, alternatives in zip(argv[1:], self.rest, strict=False)):
            return None
        return RuleMatch(
            matched_prefix=(program, *argv[1:length]),
            decision=self.decision,
            resolved_program=resolved_program,
            justification=self.justification,
        )


class NetworkRule(Record):
    host: "str"
    protocol: "str"
    """`http`, `https`, `socks5_tcp` or `socks5_udp`."""
    decision: "str"
    justification: "str | None" = None


class HostExecutable(Record):
    """The only paths for which rules about `name` count; with none of them, none does."""

    name: "str"
    paths: "tuple[str, ...]"


class Rules(Record):
    """All that rule files say, in the order in which they say it."""

    prefix_rules: "tuple[PrefixRule, ...]" = ()
    network_rules: "tuple[NetworkRule, ...]" = ()
    host_executables: "tuple[HostExecutable, ...]" = ()
    """At most one for each name."""

    def matches(self, argv: "Sequence[str]", *, resolve_hosts: bool = False) -> "list[RuleMatch]":
        """What matches, in the order of the rules. `resolve_hosts`: rules about `git` speak of `/usr/bin/git`, too."""
        return [match for _, match in self.numbered_matches(argv, resolve_hosts=resolve_hosts)]

    def numbered_matches(self, argv: "Sequence[str]", *, resolve_hosts: bool = False) -> "list[tuple[int, RuleMatch]]":
        """The same, each with its rule's place among `prefix_rules`."""
        if not argv:
            return []
        found = self._found(argv, program=argv[0])
        return found if found or not resolve_hosts else self.numbered_matches_by_name(argv)

    def numbered_matches_by_name(self, argv: "Sequence[str]") -> "list[tuple[int, RuleMatch]]":
        """What rules about the name of a program say of one that is given by its absolute path."""
        if not argv or not argv[0].startswith("/"):
            return []
        path = plain_path(argv[0])
        name = os.path.basename(path)
        if not name or not self._may_be(name, path):
            return []
        found = self._found(argv, program=name, resolved_program=path)
        if ".." in argv[0].split("/"):
            # Behind a link, `..` leads elsewhere than it reads: good enough to be refused, not to be let out.
            return [(number, match) for number, match in found if match.decision != ALLOW]
        return found

    def is_namesake(self, match: RuleMatch) -> bool:
        """Whether the rule names a program only by its name, and nobody has said that this path is that program."""
        program = match.resolved_program
        return program is not None and all(program not in host.paths for host in self.host_executables)

    @property
    def restrict(self) -> bool:
        """Whether any of them forbids something, or wants a person to be asked."""
        return any(rule.decision != ALLOW for rule in self.prefix_rules)

    def allowed_prefixes(self) -> "tuple[tuple[str, ...], ...]":
        """The first words of commands that rules allow; of alternatives, each, as long as there are not too many."""
        from itertools import islice, product

        allowed = (rule for rule in self.prefix_rules if rule.decision == ALLOW)
        return tuple(islice((words for rule in allowed for words in product((rule.program,), *rule.rest)), _MOST_TOLD))

    def amended(self, words: "Sequence[str]") -> "Rules":
        """With one more rule, which allows commands that start with these words."""
        program, *rest = words
        rule = PrefixRule(program=program, rest=tuple((word,) for word in rest))
        return self.replace(prefix_rules=(*self.prefix_rules, rule))

    def _found(
        self, argv: "Sequence[str]", *, program: str, resolved_program: "str | None" = None
    ) -> "list[tuple[int, RuleMatch]]":
        tried = (
            (number, rule.match(argv, program=program, resolved_program=resolved_program))
            for number, rule in enumerate(self.prefix_rules)
            if rule.program == program
        )
        return [(number, match) for number, match in tried if match is not None]

    def _may_be(self, name: str, path: str) -> bool:
        return all(path in host.paths for host in self.host_executables if host.name == name)


def plain_path(path: str) -> str:
    """An absolute path without `.`, `..` and needless slashes. Does not look at the disk."""
    return "/" + os.path.normpath(path).lstrip("/")
