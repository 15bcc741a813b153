"""What a wrong configuration makes `exec` print; recorded from the reference."""

import json
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.config import Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.config.startup_errors import exec_error_text


def printed(tmp_path: Path, *overrides: str, text: str = "", home: str = "", flags: Flags | None = None) -> str:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/config.toml").write_text(text)
    env = {"HOME": str(tmp_path), "CODEX_HOME": home or str(tmp_path / "home")}
    with pytest.raises(UserFacing) as caught:
        load_config(
            env=env, overrides=overrides, cwd=str(tmp_path), flags=flags or Flags(), system_dir=str(tmp_path / "etc")
        )
    return exec_error_text(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model = 3", "Error loading config.toml: invalid type: integer `3`, expected a string\nin `model`\n"),
        (
            'approval_policy = "sometimes"',
            (
                "Error loading config.toml: unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, "
                "`on-request`, `granular`, `never`\nin `approval_policy`\n"
            ),
        ),
        (
            'model = "x"\nmodel = "y"\n',
            'Error loading config.toml:\n<file>:2:1: duplicate key\n  |\n2 | model = "y"\n  | ^^^^^',
        ),
        (
            "project_root_markers = 3\n",
            (
                "Error loading config.toml:\n<file>:1:24: invalid type: integer `3`, expected a sequence\n"
                "  |\n1 | project_root_markers = 3\n  |                        ^"
            ),
        ),
        (
            "project_root_markers = [1]\n",
            (
                "Error loading config.toml:\n<file>:1:25: invalid type: integer `1`, expected a string\n"
                "  |\n1 | project_root_markers = [1]\n  |                         ^"
            ),
        ),
        (
            '[projects.foo]\ntrust_level = "zz"\n',
            (
                "Error loading config.toml:\n<file>:2:15: unknown variant `zz`, expected `trusted` or `untrusted`\n"
                '  |\n2 | trust_level = "zz"\n  |               ^^^^'
            ),
        ),
        (
            "[projects.foo]\ntrust_level = true\n",
            (
                "Error loading config.toml:\n<file>:2:15: wanted string or table\n"
                "  |\n2 | trust_level = true\n  |               ^^^^"
            ),
        ),
        ('model_provider = "zz"', "Error: Model provider `zz` not found"),
        ('profile = "zz"', "Error: config profile `zz` not found"),
        (
            'model_instructions_file = "no.md"',
            "Error: failed to read model instructions file <dir>/no.md: No such file or directory (os error 2)",
        ),
        (
            'model_instructions_file = "."',
            "Error: failed to read model instructions file <dir>: Is a directory (os error 21)",
        ),
        (
            'experimental_compact_prompt_file = "no.md"',
            (
                "Error: failed to read experimental compact prompt file <dir>/no.md: "
                "No such file or directory (os error 2)"
            ),
        ),
        ("[agents]\nmax_threads = 0", "Error: agents.max_threads must be at least 1"),
        ("[agents]\njob_max_runtime_seconds = 0", "Error: agents.job_max_runtime_seconds must be at least 1"),
        (
            'model_provider = "ollama-chat"',
            (
                "Error: `ollama-chat` is no longer supported.\n"
                "How to fix: replace `ollama-chat` with `ollama` in `model_provider`, `oss_provider`, or "
                "`--local-provider`.\n"
                "More info: https://github.com/openai/codex/discussions/7782"
            ),
        ),
        ('default_permissions = "a"', "Error: default_permissions requires a `[permissions]` table"),
        (
            "[permissions.a.filesystem]\n':root' = 'read'",
            "Error: config defines `[permissions]` profiles but does not set `default_permissions`",
        ),
    ],
)
def test_a_mistake_in_the_file(text: str, expected: str, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert printed(tmp_path, text=text) == expected.replace("<file>", f"{home}/config.toml").replace("<dir>", home)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("foo", "Error parsing -c overrides: Invalid override (missing '='): foo"),
        ("=1", "Error parsing -c overrides: Empty key in override: =1"),
        ("model=3", "Error loading config.toml: invalid type: integer `3`, expected a string\nin `model`\n"),
        ("projects=3", "Error loading config.toml: invalid type: integer `3`, expected a map\nin `projects`\n"),
        ("project_root_markers=3", "Error loading config.toml: project_root_markers must be an array of strings"),
        ("model_providers.a.base_url=x", "Error loading config.toml: missing field `name`\nin `model_providers.a`\n"),
    ],
)
def test_a_mistake_in_an_override(override: str, expected: str, tmp_path: Path) -> None:
    assert printed(tmp_path, override) == expected


def test_a_home_that_does_not_exist(tmp_path: Path) -> None:
    home = str(tmp_path / "none")
    reason = f'CODEX_HOME points to "{home}", but that path does not exist'
    assert printed(tmp_path, home=home) == (
        f"WARNING: proceeding, even though we could not update PATH: {reason}\nError finding codex home: {reason}"
    )


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc/config.toml"
    file.write_bytes(b"\xff")
    assert printed(tmp_path) == (
        f"Error loading config.toml: Failed to read config file {file}: stream did not contain valid UTF-8"
    )


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (Flags(profile="none"), "Error: config profile `none` not found"),
        (
            Flags(oss=True),
            (
                "Error: No default OSS provider configured. Use --local-provider=provider or set "
                "oss_provider to one of: "
                "lmstudio, ollama in config.toml"
            ),
        ),
        (Flags(oss=True, local_provider="foo"), "Error: Model provider `foo` not found"),
    ],
)
def test_a_mistake_in_a_flag(flags: Flags, expected: str, tmp_path: Path) -> None:
    assert printed(tmp_path, flags=flags) == expected


def override_cases(shared_dir: Path, name: str) -> list[tuple[list[str], str]]:
    """The failing runs of a recorded scenario that only differ in `-c`, and what they printed."""
    runs = json.loads((shared_dir / f"interop/scenarios/{name}.json").read_text())["runs"]
    recorded = json.loads((shared_dir / f"interop/expected/{name}.json").read_text())["runs"]
    cases = []
    for run, seen in zip(runs, recorded, strict=True):
        words = run["args"]
        overrides = [words[at + 1] for at, word in enumerate(words) if word == "-c"]
        if seen["exit"] == 1 and overrides:
            cases.append((overrides, "\n".join(seen["stderr"])))
    return cases


@pytest.mark.parametrize(("name", "count"), [("config-overrides", 4), ("config-bad-provider", 2)])
def test_recorded_scenarios(name: str, count: int, shared_dir: Path, tmp_path: Path) -> None:
    cases = override_cases(shared_dir, name)
    assert len(cases) == count
    for overrides, expected in cases:
        assert printed(tmp_path, *overrides) == expected


@pytest.mark.parametrize("name", ["config-bad-type", "config-type-error"])
def test_recorded_type_errors(name: str, shared_dir: Path, tmp_path: Path) -> None:
    text = json.loads((shared_dir / f"interop/scenarios/{name}.json").read_text())["config"]
    recorded = json.loads((shared_dir / f"interop/expected/{name}.json").read_text())["runs"][0]["stderr"]
    assert printed(tmp_path, text=text) == "\n".join(recorded)
