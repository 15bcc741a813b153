"""Which rule files count, and what is said of one that cannot be used."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.policy.rule_files import MOST_FILE_BYTES, BadRules, load_rules, rule_paths
from pycodex.supervisor.policy.rules import PrefixRule, Rules
from support.cli import run_cli
from support.interpreter import modules_loaded_by

BROKEN = 'prefix_rule(pattern=["a"], decision="nope")\n'


class Place:
    """A home, a system directory and a project to put rules into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home", "etc", "ws/.git", "ws/sub"):
            (root / name).mkdir(parents=True)

    def rule(self, name: str, program: str = "") -> str:
        return self.write(name, f'prefix_rule(["{program or name}"])\n')

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def trust(self, name: str, level: str = "trusted") -> None:
        with open(self.root / "home/config.toml", "a") as file:
            file.write(f'[projects."{self.root / name}"]\ntrust_level = "{level}"\n')

    def config(self, cwd: str = "ws") -> Config:
        env = {"CODEX_HOME": str(self.root / "home"), "HOME": str(self.root)}
        system_dir = str(self.root / "etc")
        return load_config(env=env, overrides=(), cwd=str(self.root / cwd), flags=Flags(), system_dir=system_dir)

    def paths(self, cwd: str = "ws") -> list[str]:
        return rule_paths(self.config(cwd), system_dir=str(self.root / "etc"))

    def load(self, cwd: str = "ws") -> Rules:
        return load_rules(self.config(cwd), system_dir=str(self.root / "etc"))

    def problem(self) -> BadRules:
        with pytest.raises(BadRules) as caught:
            self.load()
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_files_are_read_from_the_lowest_layer_up(place: Place) -> None:
    place.trust("ws")
    expected = [
        place.rule(name)
        for name in (
            "etc/rules/z.rules",
            "home/policy/b.codexpolicy",
            "home/rules/a.b.rules",
            "home/rules/default.rules",
            "ws/.codex/rules/y.rules",
            "ws/sub/.codex/rules/x.rules",
        )
    ]
    assert place.paths("ws/sub") == expected
    assert place.paths() == expected[:-1]
    names = [os.path.relpath(path, place.root) for path in expected]
    assert [rule.program for rule in place.load("ws/sub").prefix_rules] == names


@pytest.mark.parametrize(
    "name",
    [
        "home/rules/.rules",
        "home/rules/a.RULES",
        "home/rules/a.rules.txt",
        "home/rules/a.codexpolicy",
        "home/rules/deeper/a.rules",
        "home/policy/a.rules",
        "home/a.rules",
        "ws/rules/a.rules",
        "etc/policy/a.codexpolicy",
        "ws/sub/.codex/rules/a.rules",
    ],
)
def test_other_files_do_not_count(name: str, place: Place) -> None:
    place.trust("ws")
    place.write(name, BROKEN)
    assert place.paths() == []
    assert place.load() == Rules()


@pytest.mark.parametrize("level", [None, "untrusted"])
def test_rules_of_a_project_count_only_if_it_is_trusted(level: str | None, place: Place) -> None:
    """Whether or not it has a config.toml."""
    if level is not None:
        place.trust("ws", level)
    place.write("ws/.codex/rules/a.rules", BROKEN)
    assert place.load() == Rules()
    place.write("ws/.codex/config.toml", "")
    assert place.load() == Rules()


def test_trust_in_a_folder_does_not_reach_up(place: Place) -> None:
    place.trust("ws/sub")
    place.write("ws/.codex/rules/a.rules", BROKEN)
    mine = place.rule("ws/sub/.codex/rules/a.rules")
    assert place.paths("ws/sub") == [mine]


def test_home_inside_of_a_project_is_read_once(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    home = root / "ws/.codex"
    (root / "ws/.git").mkdir(parents=True)
    (home / "rules").mkdir(parents=True)
    (home / "rules/a.rules").write_text("")
    (home / "config.toml").write_text(f'[projects."{root / "ws"}"]\ntrust_level = "trusted"\n')
    env = {"CODEX_HOME": str(home), "HOME": str(root)}
    config = load_config(env=env, overrides=(), cwd=str(root / "ws"), flags=Flags())
    assert rule_paths(config, system_dir=str(root / "etc")) == [str(home / "rules/a.rules")]


def test_only_regular_files_are_opened(place: Place) -> None:
    folder = place.root / "home/rules"
    folder.mkdir()
    (folder / "a.rules").mkdir()
    os.mkfifo(folder / "b.rules")
    (folder / "c.rules").symlink_to(place.write("broken", BROKEN))
    (folder / "d.rules").symlink_to("/nonexistent")
    assert place.load() == Rules()


def test_codex_that_is_a_file_holds_no_rules(place: Place) -> None:
    place.trust("ws")
    place.write("ws/sub/.codex", "not a folder")
    assert place.paths("ws/sub") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BROKEN, "{path}:1: error: invalid decision: nope (problem is on or around line 1)"),
        (
            '\n\ndef f():\n  prefix_rule(pattern=["a"], decision="deny")\n\nf()\n',
            "{path}:4: error: invalid decision: deny (problem is on or around line 4)",
        ),
        (
            "foo()\n",
            (
                "{path}:1: starlark error: error: Variable `foo` not found, did you mean `bool`? "
                "(problem is on or around line 1)"
            ),
        ),
        (
            '\n\nprefix_rule(["git"],\n\n not_match=["git"])\n',
            (
                '{path}:3: expected example to not match rule `PrefixRuleMatch {{ matched_prefix: ["git"], '
                "decision: Allow, resolved_program: None, justification: None }}`: git (problem is on or around line 3)"
            ),
        ),
        ('\nfail("a\\nb")\n', "{path}:2: error: fail: a (problem is on or around line 2)"),
    ],
)
def test_one_bad_file_is_named_with_its_line(text: str, told: str, place: Place) -> None:
    place.rule("home/rules/a.rules")
    path = place.write("home/rules/b.rules", text)
    problem = place.problem()
    assert str(problem) == told.format(path=path)
    assert problem.error is not None
    assert problem.error.path == path


def test_error_without_a_line_names_the_file(place: Place) -> None:
    path = place.write("home/rules/a.rules", "x = " + "-" * 100_000 + "1\n")
    assert str(place.problem()).startswith(f"{path}: starlark error: error: the evaluation broke off (")


def test_file_that_is_no_text_is_told(place: Place) -> None:
    path = place.write("home/rules/a.rules", "")
    Path(path).write_bytes(b"\xff")
    problem = place.problem()
    assert str(problem) == f"failed to read rules file {path}: stream did not contain valid UTF-8"
    assert problem.error is None


def test_file_that_is_too_large_is_told(place: Place) -> None:
    path = place.write("home/rules/a.rules", "#" * (MOST_FILE_BYTES + 1))
    told = f"failed to read rules file {path}: larger than {MOST_FILE_BYTES} bytes (os error 27)"
    assert str(place.problem()) == told


def test_folder_that_cannot_be_looked_into_is_told(place: Place) -> None:
    folder = place.write("home/rules", "")
    assert str(place.problem()) == f"failed to read rules files from {folder}: Not a directory (os error 20)"


def test_exec_ends_before_anything_else_is_complained_about(place: Place) -> None:
    """Nothing is asked of the model, and the workspace, which is no repository, is not looked at."""
    path = place.write("home/rules/bad.rules", BROKEN)
    (place.root / "ws/.git").rmdir()
    home = str(place.root / "home")
    ended = run_cli("exec", "go", cwd=place.root / "ws", env={"CODEX_HOME": home, "HOME": home})
    assert (ended.code, ended.out) == (1, "")
    told = f"{path}:1: error: invalid decision: nope (problem is on or around line 1)"
    assert ended.err == f"Error loading rules:\n{told}\n"


def test_without_rule_files_nothing_is_loaded(place: Place) -> None:
    env = {"CODEX_HOME": str(place.root / "home"), "HOME": str(place.root), "PATH": "/usr/bin:/bin"}
    code = (
        "from pycodex.supervisor.frontends.exec.request import ExecRequest\n"
        "from pycodex.supervisor.frontends.exec.run import prepared\n"
        "import os; prepared(ExecRequest(prompt='go', skip_git_repo_check=True), os.environ)\n"
    )
    loaded = modules_loaded_by(code, env=env, cwd=str(place.root / "ws"))
    assert "pycodex.supervisor.policy.rule_files" in loaded
    assert loaded & {"starlark", "subprocess", "msgpack", "pycodex.supervisor.policy.rule_process"} == set()


def test_rules_of_an_administrator_come_last_and_make_things_stricter(place: Place) -> None:
    place.write("home/rules/a.rules", 'prefix_rule(["git"])\n')
    place.write(
        "etc/requirements.toml",
        '[rules]\nprefix_rules = [{pattern = [{any_of = ["git", "hg"]}, {token = "push"}], decision = "forbidden"}]\n',
    )
    rules = place.load()
    push = (("push",),)
    assert rules.prefix_rules == (
        PrefixRule(program="git"),
        PrefixRule(program="git", rest=push, decision="forbidden"),
        PrefixRule(program="hg", rest=push, decision="forbidden"),
    )


def test_rules_of_an_administrator_hold_without_any_file(place: Place) -> None:
    place.write(
        "etc/requirements.toml",
        '[rules]\nprefix_rules = [{pattern = [{token = "rm"}], decision = "prompt", justification = "ask"}]\n',
    )
    assert place.load().prefix_rules == (PrefixRule(program="rm", decision="prompt", justification="ask"),)
