"""`pycodex config explain` as a person calls it."""

from pathlib import Path

import pytest

from support.cli import Ended, run_cli

FILE = """\
model = "gpt-5"
modle = 3

[profiles.fast]
model = "mini"

[mcp_servers.docs]
command = "x"
env = { KEY = "hush" }
"""


def explain(root: Path, *arguments: str, before: tuple[str, ...] = ()) -> Ended:
    home = root / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(FILE)
    env = {"CODEX_HOME": str(home), "HOME": str(root)}
    return run_cli(*before, "config", "explain", *arguments, cwd=root, env=env)


def test_one_key_with_who_said_something_in_vain(tmp_path: Path) -> None:
    file = tmp_path / "home/config.toml"
    done = explain(tmp_path, "model", "-c", "model=flag", "-p", "fast")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f'model  "mini"  profile fast ({file}:5)\n       not "flag" of -c\n       not "gpt-5" of {file}:1\n'
    )


def test_everything_is_aligned_and_unknown_keys_are_pointed_out(tmp_path: Path) -> None:
    done = explain(tmp_path)
    assert done.code == 0
    assert (
        f"warning: {tmp_path / 'home/config.toml'}:2: unknown key `modle` is ignored; did you mean `model`?" in done.err
    )
    lines = [line for line in done.out.splitlines() if line.endswith("  default")]
    assert len(lines) > 20
    assert len({len(line) for line in lines}) == 1
    assert "hush" not in done.out
    assert "\x1b" not in done.out


def test_global_overrides_count_too(tmp_path: Path) -> None:
    assert explain(tmp_path, "model", before=("-c", "model=global")).out.startswith('model  "global"  -c\n')


def test_key_that_nobody_sets(tmp_path: Path) -> None:
    assert explain(tmp_path, "model_verbosity").out == "model_verbosity  not set\n"


def test_unknown_key(tmp_path: Path) -> None:
    done = explain(tmp_path, "modell")
    assert (done.code, done.out, done.err) == (1, "", "Error: unknown key `modell`; did you mean `model`?\n")


def test_file_of_an_untrusted_project_is_mentioned(tmp_path: Path) -> None:
    project = tmp_path / "ws"
    (project / ".codex").mkdir(parents=True)
    (project / ".codex/config.toml").write_text("model = 'theirs'\n")
    done = explain(tmp_path, "-C", str(project))
    assert f"note: {project / '.codex/config.toml'} is not read, as this project is not trusted" in done.err
    assert "theirs" not in done.out


def test_nothing_is_created(tmp_path: Path) -> None:
    explain(tmp_path)
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["config.toml"]


def test_name_does_not_speak_to_the_terminal(tmp_path: Path) -> None:
    done = explain(tmp_path, "projects", "-c", 'projects={"\\u001b[31m"={trust_level="trusted"}}')
    assert "\x1b" not in done.out
    assert "trusted" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("config",), 2, "Usage: pycodex config explain [OPTIONS] [KEY]"),
        (("config", "explian"), 2, "error: unrecognized subcommand 'explian'"),
        (("config", "explain", "a", "b"), 2, "error: unexpected argument 'b' found"),
        (("config", "explain", "-p", "nope"), 1, "Error: config profile `nope` not found"),
        (("config", "explain", "-C", "/no/where"), 1, "Error: cannot use directory '/no/where'"),
        (("config", "explain", "-c", "model=3"), 1, "Error: invalid type: integer `3`, expected a string"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    done = run_cli(*arguments, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize("arguments", [("config", "--help"), ("config", "explain", "--help"), ("help", "config")])
def test_help(arguments: tuple[str, ...]) -> None:
    done = run_cli(*arguments)
    assert done.code == 0
    assert done.out.startswith("Show the configuration\n")
