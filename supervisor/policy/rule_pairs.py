"""Today's rules of a directory, and those that a new file would make of them.

Owns which of the files of a directory the new one joins or replaces, and that the same files are evaluated once. A
directory whose configuration or rules cannot be used has none; what is wrong with it is kept.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.config.early import SYSTEM_DIR
from pycodex.supervisor.policy.located_rules import LocatedRules, located
from pycodex.supervisor.policy.rule_files import USER, rule_files

if TYPE_CHECKING:
    from pycodex.supervisor.policy.rule_language import Source


class RulePair(NamedTuple):
    before: LocatedRules
    after: LocatedRules


class RulePairs:
    """`config_at` gives the configuration of a directory. `replaces_own`: the new file stands in for the user's."""

    def __init__(
        self,
        tried: "Source",
        config_at: Callable[[str], Config],
        *,
        replaces_own: bool,
        system_dir: str = SYSTEM_DIR,
    ) -> None:
        self._tried = tried
        self._config_at = config_at
        self._replaces_own = replaces_own
        self._system_dir = system_dir
        self._by_directory: dict[str, RulePair | None] = {}
        self._by_files: dict[object, RulePair] = {}
        self.problems: dict[str, str] = {}
        """What is wrong, by directory."""

    def at(self, directory: str) -> RulePair | None:
        """None where rules or configuration cannot be used."""
        if directory not in self._by_directory:
            try:
                self._by_directory[directory] = self.of(self._config_at(directory))
            except UserFacing as error:
                self._by_directory[directory] = None
                self.problems[directory] = str(error)
        return self._by_directory[directory]

    def of(self, config: Config) -> RulePair:
        """Raises BadRules."""
        files = tuple(rule_files(config, system_dir=self._system_dir))
        key = (files, config.required_rules)
        if key not in self._by_files:
            kept = [file for file in files if not (self._replaces_own and file.level == USER)]
            self._by_files[key] = RulePair(located(files, config), located(kept, config, tried=self._tried))
        return self._by_files[key]
