"""Layers one by one: where from, which version, and whether they count."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import stack
from pycodex.supervisor.config.stack import Level


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home", "etc", "ws/.git", "ws/.codex", "ws/sub/.codex"):
            (root / name).mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def base(self, *overrides: str) -> list[Level]:
        return stack.base_stack(
            env=self.env, overrides=overrides, cwd=str(self.root), system_dir=str(self.root / "etc")
        )

    def full(self, *overrides: str, cwd: str = "ws/sub") -> list[Level]:
        here = str(self.root / cwd)
        return stack.full_stack(env=self.env, overrides=overrides, cwd=here, system_dir=str(self.root / "etc"))

    @property
    def env(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.root / "home"), "HOME": str(self.root)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_the_version_of_nothing_is_the_references(place: Place) -> None:
    nothing = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert [(level.kind, level.version) for level in place.base()] == [("system", nothing), ("user", nothing)]


def test_the_version_goes_by_what_is_said_not_how(place: Place) -> None:
    place.write("home/config.toml", 'model = "m"\n[tui]\ntheme = "x"\n')
    before = place.base()[1].version
    place.write("home/config.toml", '# why\ntui.theme = "x"\nmodel = "m"\n')
    assert place.base()[1].version == before
    place.write("home/config.toml", 'model = "n"\n')
    assert place.base()[1].version != before


def test_moments_have_a_version_and_a_form_in_json(place: Place) -> None:
    place.write("home/config.toml", "when = 2026-01-02T03:04:05Z\n")
    user = place.base()[1]
    assert user.version.startswith("sha256:")
    assert stack.plain(user.values) == {"when": {"$__toml_private_datetime": "2026-01-02T03:04:05+00:00"}}


def test_layers_without_a_directory_leave_the_project_out(place: Place) -> None:
    place.write("etc/managed_config.toml", 'approval_policy = "never"\n')
    place.write("ws/.codex/config.toml", "model = 'p'\n")
    levels = place.base("model=x")
    assert [level.kind for level in levels] == ["system", "user", "sessionFlags", "legacyManagedConfigTomlFromFile"]
    assert stack.merged(levels) == {"model": "x", "approval_policy": "never"}


def test_a_trusted_project_lies_between_the_user_and_the_flags(place: Place) -> None:
    place.write("home/config.toml", f'model = "u"\n[projects."{place.root}/ws"]\ntrust_level = "trusted"\n')
    place.write("ws/.codex/config.toml", 'model = "p"\nnotify = ["a", "b"]\n')
    levels = place.full("hide_agent_reasoning=true")
    folder = f"{place.root}/ws/.codex"
    assert [level.source for level in levels] == [
        {"type": "system", "file": f"{place.root}/etc/config.toml"},
        {"type": "user", "file": f"{place.root}/home/config.toml"},
        {"type": "project", "dotCodexFolder": folder},
        {"type": "project", "dotCodexFolder": f"{place.root}/ws/sub/.codex"},
        {"type": "sessionFlags"},
    ]
    origins = stack.origins(levels)
    assert {key: origins[key].kind for key in ("model", "notify.1", "hide_agent_reasoning")} == {
        "model": "project",
        "notify.1": "project",
        "hide_agent_reasoning": "sessionFlags",
    }


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        (
            'trust_level = "untrusted"',
            "{ws} is marked as untrusted in {home}/config.toml. To load config.toml, mark it trusted.",
        ),
        ("", "To load config.toml, add {ws} as a trusted project in {home}/config.toml."),
    ],
)
def test_what_is_not_trusted_is_shown_with_the_reason_and_does_not_count(place: Place, level: str, reason: str) -> None:
    place.write("home/config.toml", f'[projects."{place.root}/ws"]\n{level}\n')
    place.write("ws/.codex/config.toml", "model = 'p'\n")
    (shown,) = [each for each in place.full(cwd="ws") if each.kind == "project"]
    assert shown.values == {"model": "p"}
    assert shown.disabled_reason == reason.format(ws=place.root / "ws", home=place.root / "home")
    assert "model" not in stack.merged(place.full(cwd="ws"))


def test_an_untrusted_file_cannot_break_the_rest(place: Place) -> None:
    place.write("ws/.codex/config.toml", "not TOML at all [")
    (shown,) = [each for each in place.full(cwd="ws") if each.kind == "project"]
    assert shown.values == {}


def test_a_broken_file_of_the_user_is_told(place: Place) -> None:
    place.write("home/config.toml", "[")
    with pytest.raises(UserFacing):
        place.base()


def test_numbers_lead_into_lists() -> None:
    values = {"a": [{"b": 1}], "c": "text"}
    places = [("a", "0", "b"), ("a", "1"), ("a", "x"), ("c", "0"), ("d",)]
    assert [stack.value_at(values, keys) for keys in places] == [1, None, None, None, None]
