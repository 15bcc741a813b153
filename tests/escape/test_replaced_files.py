"""A denied file stays denied when the host puts another one in its place while the command runs."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.escape.attack import attacker_argv, confined, finish, start, unconfined
from support.escape.command import Command
from support.escape.world import AUTH_SECRET, WITH_NETWORK, Mode, World

NEW_SECRET = "the-secret-of-tomorrow"
PROFILE = """
[permissions.careful.filesystem]
":root" = "read"
":cwd" = "write"
"{file}" = "none"
"""
CAREFUL = Mode("careful", ("-P", "careful"))


def replace(path: Path) -> None:
    """As careful programs write: a new file, then its name."""
    new = path.with_name("new")
    new.write_text(NEW_SECRET, encoding="ascii")
    new.replace(path)


def replace_twice(path: Path) -> None:
    replace(path)
    replace(path)


def remove_and_create(path: Path) -> None:
    path.unlink()
    path.write_text(NEW_SECRET, encoding="ascii")


CHANGES: dict[str, Callable[[Path], None]] = {
    "replaced": replace,
    "replaced twice": replace_twice,
    "removed and made again": remove_and_create,
}


def attempt(world: World, command: Command, change: Callable[[], None]) -> bool:
    """Whether the attacker gets at the secret after the host has changed something."""
    process = start(world, command, stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    change()
    out, err = process.communicate(b"\n", timeout=30)
    assert process.returncode == 23, err
    return bool(json.loads(out.splitlines()[-1])["achieved"])


def reading(world: World, path: Path, secret: str = NEW_SECRET) -> list[str]:
    (world.ws / "secret-link").unlink(missing_ok=True)
    (world.ws / "secret-link").symlink_to(path)
    return attacker_argv("reads", "read_secret_when_told", world, denied=str(path), secret=secret)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
class TestLogin:
    def test_can_be_read_without_a_sandbox(self, world: World, change: Callable[[Path], None]) -> None:
        path = world.codex_home / "auth.json"
        assert attempt(world, unconfined(world, reading(world, path)), lambda: change(path))

    @pytest.mark.parametrize("place", ["base", "ws", "scratch"])
    def test_cannot_be_read(self, world: World, place: str, change: Callable[[Path], None]) -> None:
        """R02, also where CODEX_HOME lies in a writable root."""
        home = getattr(world, place) / "state"
        world.codex_home.rename(home)
        world.codex_home = home
        path = home / "auth.json"
        assert not attempt(world, confined(world, WITH_NETWORK, reading(world, path)), lambda: change(path))
        assert path.read_text(encoding="ascii") == NEW_SECRET


@pytest.mark.parametrize("name", ["auth.json", ".credentials.json", "app-server-token"])
def test_a_login_that_comes_later_cannot_be_read(world: World, name: str) -> None:
    path = world.codex_home / name
    path.unlink(missing_ok=True)
    attack = reading(world, path)
    assert attempt(world, unconfined(world, attack), lambda: replace(path))
    path.unlink(missing_ok=True)
    assert not attempt(world, confined(world, WITH_NETWORK, attack), lambda: replace(path))


def test_a_linked_login_cannot_be_read_at_either_end(world: World) -> None:
    """Renewing it may replace the link as well as what it leads to."""
    path, real = world.codex_home / "auth.json", world.home / "login.json"
    path.rename(real)
    path.symlink_to(real)
    assert not attempt(world, confined(world, WITH_NETWORK, reading(world, real)), lambda: replace(real))
    assert not attempt(world, confined(world, WITH_NETWORK, reading(world, path)), lambda: replace(path))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_denied_file_outside_the_workspace_cannot_be_read(world: World, change: Callable[[Path], None]) -> None:
    path = world.out / "secret.txt"
    path.write_text("old", encoding="ascii")
    (world.codex_home / "config.toml").write_text(PROFILE.format(file=path), encoding="utf-8")
    assert not attempt(world, confined(world, CAREFUL, reading(world, path)), lambda: change(path))


def test_in_a_large_directory_the_file_itself_is_covered(world: World) -> None:
    for number in range(200):
        (world.codex_home / f"session-{number}").touch()
    attack = reading(world, world.codex_home / "auth.json", AUTH_SECRET)
    assert not attempt(world, confined(world, WITH_NETWORK, attack), lambda: None)
    assert attempt(world, unconfined(world, attack), lambda: None)


def test_the_rest_of_our_directory_can_be_used(world: World) -> None:
    home = world.codex_home
    for folder in ("skills", "memories", "prompts"):
        (home / folder).mkdir()
        (home / folder / "text").write_text(folder, encoding="ascii")
    (home / "AGENTS.md").write_text("instructions", encoding="ascii")
    (home / "linked").symlink_to("skills/text")
    os.mkfifo(home / "fifo")
    script = (
        'cd "$CODEX_HOME" && cat skills/text memories/text prompts/text AGENTS.md linked && test -p fifo'
        " && echo more >memories/new && ls -A && ! cat auth.json && ! touch new skills/new"
    )
    process = start(world, confined(world, WITH_NETWORK, ["/bin/sh", "-c", script]))
    out, err = finish(process)
    assert process.returncode == 0, err
    text, *names = out.decode().splitlines()
    assert text == "skillsmemoriespromptsinstructionsskillsAGENTS.md"
    assert {"auth.json", "config.toml", "fifo", "linked", "memories", "prompts", "skills"} == set(names) - {"tmp"}
    assert b"auth.json: Permission denied" in err
    assert (home / "memories" / "new").read_text(encoding="ascii") == "more\n"
