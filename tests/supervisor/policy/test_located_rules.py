"""Every rule is found again in its file."""

from pathlib import Path

import pytest

from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.policy.located_rules import LocatedRules, Origin, load_located
from pycodex.supervisor.policy.rule_files import BadRules, load_rules
from pycodex.supervisor.policy.rule_language import Source

REQUIRED = """\
[rules]
prefix_rules = [
    { pattern = [{ any_of = ["rm", "shred"] }], decision = "forbidden", justification = "ask the owner" },
    { pattern = [{ token = "curl" }], decision = "prompt" },
]
"""


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "ws/.git").mkdir(parents=True)
        (root / "home").mkdir()
        self.write("home/config.toml", f'[projects."{root}/ws"]\ntrust_level = "trusted"\n')

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    @property
    def etc(self) -> str:
        return str(self.root / "etc")

    def config(self) -> Config:
        env = {"CODEX_HOME": str(self.root / "home"), "HOME": str(self.root)}
        return load_config(env=env, overrides=(), cwd=str(self.root / "ws"), flags=Flags(), system_dir=self.etc)

    def located(self, tried: Source | None = None, *, replaces_own: bool = False) -> LocatedRules:
        return load_located(self.config(), tried=tried, replaces_own=replaces_own, system_dir=self.etc)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def origins(located: LocatedRules) -> dict[str, Origin]:
    """By program."""
    found = located.origins(range(len(located.rules.prefix_rules)))
    return {located.rules.prefix_rules[number].program: origin for number, origin in found.items()}


def test_rules_of_all_layers_are_named_with_file_line_and_owner(place: Place) -> None:
    system = place.write("etc/rules/s.rules", 'prefix_rule(["s"])\n')
    mine = place.write("home/rules/u.rules", '# mine\nprefix_rule([["a", "b"]])\n\nprefix_rule(["c"])\n')
    project = place.write("ws/.codex/rules/p.rules", '\n\nprefix_rule(["p"])\n')
    required = place.write("etc/requirements.toml", REQUIRED)
    assert origins(place.located()) == {
        "s": Origin(system, 1, "system"),
        "a": Origin(mine, 2, "user"),
        "b": Origin(mine, 2, "user"),
        "c": Origin(mine, 4, "user"),
        "p": Origin(project, 3, "project"),
        "rm": Origin(required, None, "requirements"),
        "shred": Origin(required, None, "requirements"),
        "curl": Origin(required, None, "requirements"),
    }


def test_rules_are_those_of_a_session(place: Place) -> None:
    place.write("home/rules/u.rules", 'prefix_rule(["a"])\nhost_executable("a", ["/bin/a"])\n')
    place.write("etc/requirements.toml", REQUIRED)
    assert place.located().rules == load_rules(place.config(), system_dir=place.etc)


def test_without_rules_there_is_nothing_to_find(place: Place) -> None:
    assert place.located().origins([]) == {}


def test_tried_file_joins_those_of_the_user_or_replaces_them(place: Place) -> None:
    for name in ("etc/rules/s", "home/policy/o.codexpolicy", "home/rules/u", "ws/.codex/rules/p"):
        program = name.rpartition("/")[2][0]
        place.write(name if "." in name.rpartition("/")[2] else f"{name}.rules", f'prefix_rule(["{program}"])\n')
    tried = Source(path="new.rules", text='prefix_rule(["n"])\n')
    joined, alone = place.located(tried), place.located(tried, replaces_own=True)
    assert [rule.program for rule in joined.rules.prefix_rules] == ["s", "o", "u", "n", "p"]
    assert [rule.program for rule in alone.rules.prefix_rules] == ["s", "n", "p"]
    assert origins(alone)["n"] == Origin("new.rules", 1, "tried")


def test_file_that_cannot_be_used_is_told_as_at_a_start(place: Place) -> None:
    path = place.write("home/rules/u.rules", '\nprefix_rule(["a"], "nope")\n')
    with pytest.raises(BadRules) as caught:
        place.located()
    assert str(caught.value) == f"{path}:2: error: invalid decision: nope (problem is on or around line 2)"


@pytest.mark.parametrize(("line", "place"), [(3, "a.rules:3"), (None, "a.rules")])
def test_origin_reads_as_editors_take_it(line: int | None, place: str) -> None:
    assert Origin("a.rules", line, "user").place == place
