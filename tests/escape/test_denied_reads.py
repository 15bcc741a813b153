"""Profiles that deny paths: what is denied stays unread by every name, and cannot be uncovered."""

import pytest

from support.escape.attack import Attack, attacker_argv, confined, prove, run, stop
from support.escape.world import Mode, World

FAMILY = "reads"
SECRET = "the-secret-of-the-workspace"
PROFILE = """
[permissions.careful.filesystem]
":root" = "read"
":cwd" = "write"
"{file}" = "none"
"{folder}" = "none"
"""
CAREFUL = Mode("careful", ("-P", "careful"))


@pytest.fixture
def careful(world: World) -> World:
    folder = world.ws / "private"
    folder.mkdir()
    for path in (world.ws / "secret.txt", folder / "secret.txt", world.out / "secret.txt"):
        path.write_text(SECRET, encoding="ascii")
    text = PROFILE.format(file=world.ws / "secret.txt", folder=folder)
    text += f'"{world.out / "secret.txt"}" = "none"\n'
    (world.codex_home / "config.toml").write_text(text, encoding="utf-8")
    world.watch(world.ws / "secret.txt", folder)
    return world


PLACES = {"file": "ws/secret.txt", "folder": "ws/private/secret.txt", "outside": "out/secret.txt"}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
class TestDenied:
    def aim(self, world: World, place: str) -> None:
        world.extra |= {"denied": str(world.base / place), "secret": SECRET}
        (world.ws / "secret-link").symlink_to(world.base / place)

    def test_can_be_read_without_a_sandbox(self, careful: World, place: str) -> None:
        self.aim(careful, place)
        prove(careful, FAMILY, Attack("read_secret"))

    def test_cannot_be_read(self, careful: World, place: str) -> None:
        self.aim(careful, place)
        stop(careful, FAMILY, Attack("read_secret"), CAREFUL)


def test_the_rest_can_be_read_and_the_workspace_written(careful: World) -> None:
    careful.extra |= {"denied": str(careful.ws / "tracked.txt"), "secret": "tracked", "target": str(careful.ws)}
    read = run(careful, confined(careful, CAREFUL, attacker_argv(FAMILY, "read_secret", careful)))
    assert "open" in read.report["detail"]["worked"]
    assert run(careful, confined(careful, CAREFUL, attacker_argv("writes", "create", careful))).achieved
