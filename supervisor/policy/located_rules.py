"""Rules together with where each of them stands, for those who are told why a command is treated as it is.

Owns the way back from a rule to its file and line, and how a file that is only tried out joins the others. The rules
are those of `rule_files`, in the same order. Lines are looked up only for the rules that somebody asks about.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.early import SYSTEM_DIR
from pycodex.supervisor.policy.rule_files import (
    PROJECT,
    USER,
    RuleFile,
    bad_rules,
    demanded_rules,
    read_sources,
    rule_files,
)
from pycodex.supervisor.policy.rules import Rules

if TYPE_CHECKING:
    from pycodex.supervisor.policy.rule_language import RuleCall, Source

# Rules of an administrator, and of a file that is tried out.
REQUIREMENTS, TRIED = "requirements", "tried"


class Origin(NamedTuple):
    """`line` is None where nobody knows, and for rules that are in no file of rules."""

    path: str
    line: int | None
    level: str

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class LocatedRules:
    """`levels` go with `sources`, `calls` with the rules of files; `demanded` are the files of the rules after them."""

    rules: Rules
    sources: "tuple[Source, ...]" = ()
    levels: tuple[str, ...] = ()
    calls: "tuple[RuleCall, ...]" = ()
    demanded: tuple[str, ...] = ()

    def origins(self, numbers: Iterable[int]) -> dict[int, Origin]:
        """Of these rules, by their places among the prefix rules."""
        wanted = sorted(set(numbers))
        in_files = [number for number in wanted if number < len(self.calls)]
        found = {
            number: Origin(self.demanded[number - len(self.calls)], None, REQUIREMENTS)
            for number in wanted
            if number >= len(self.calls)
        }
        if not in_files:
            return found
        from pycodex.supervisor.policy.rule_process import places_of

        calls = list(dict.fromkeys(self.calls[number] for number in in_files))
        lines = dict(zip(calls, (line for line, _ in places_of(calls, self.sources)), strict=True))
        for number in in_files:
            source, _ = call = self.calls[number]
            found[number] = Origin(self.sources[source].path, lines[call], self.levels[source])
        return found


def load_located(
    config: Config, *, tried: "Source | None" = None, replaces_own: bool = False, system_dir: str = SYSTEM_DIR
) -> LocatedRules:
    """What holds for this configuration. Raises BadRules.

    `tried` counts as one more file of the user's; with `replaces_own`, instead of all that they have.
    """
    files = [file for file in rule_files(config, system_dir=system_dir) if not (replaces_own and file.level == USER)]
    return located(files, config, tried=tried)


def located(files: Iterable[RuleFile], config: Config, *, tried: "Source | None" = None) -> LocatedRules:
    files = tuple(files)
    below, above = ([file for file in files if (file.level == PROJECT) is is_above] for is_above in (False, True))
    sources = [
        *read_sources([file.path for file in below]),
        *([] if tried is None else [tried]),
        *read_sources([file.path for file in above]),
    ]
    levels = [*(file.level for file in below), *([] if tried is None else [TRIED]), *(file.level for file in above)]
    rules, calls = _evaluated(sources)
    demanded = [(rule, required.source) for required in config.required_rules for rule in demanded_rules(required)]
    return LocatedRules(
        rules=rules.replace(prefix_rules=(*rules.prefix_rules, *(rule for rule, _ in demanded))),
        sources=tuple(sources),
        levels=tuple(levels),
        calls=calls,
        demanded=tuple(source for _, source in demanded),
    )


def _evaluated(sources: "list[Source]") -> "tuple[Rules, tuple[RuleCall, ...]]":
    from pycodex.supervisor.policy.rule_language import RuleError
    from pycodex.supervisor.policy.rule_process import evaluated_with_calls

    try:
        return evaluated_with_calls(sources)
    except RuleError as error:
        raise bad_rules(error) from None
