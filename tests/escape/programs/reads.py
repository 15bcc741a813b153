"""Attempts to read what is denied, and to change what the user's shell or pycodex read later."""

import os
from collections.abc import Callable

from escape.programs.rawcalls import World, each, later, require_sandbox, syscall, write_to

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def _secret(world: World, path: str) -> bool:
    with open(path, encoding="utf-8") as file:
        return world["secret"] in file.read()


def read_secret(world: World) -> object:
    """The denied file by every name it has."""
    path = world["denied"]
    folder, name = os.path.split(path)

    def after(step: Callable[[], object], found: str) -> bool:
        step()
        return _secret(world, found)

    return each(
        {
            "open": lambda: _secret(world, path),
            "/proc/self/root": lambda: _secret(world, f"/proc/self/root{path}"),
            "symlink": lambda: _secret(world, os.path.join(world["ws"], "secret-link")),
            "dots": lambda: _secret(world, os.path.relpath(path)),
            "openat": lambda: (
                world["secret"].encode() in os.read(os.open(name, os.O_RDONLY, dir_fd=os.open(folder, os.O_PATH)), 4096)
            ),
            "O_PATH": lambda: _secret(world, f"/proc/self/fd/{os.open(path, os.O_PATH)}"),
            "hardlink": lambda: after(later(os.link, path, f"{world['ws']}/x"), f"{world['ws']}/x"),
            "chmod": lambda: after(later(os.chmod, path, 0o644), path),
            "umount": lambda: after(later(syscall, "umount2", path.encode(), 2), path),
            "rename": lambda: after(later(os.rename, path, f"{world['ws']}/y"), f"{world['ws']}/y"),
        }
    )


def read_secret_when_told(world: World) -> object:
    """Only after the host has had its turn."""
    print("ready", flush=True)
    input()
    return read_secret(world)


def write_codex_home(world: World) -> object:
    home = world["codex_home"]
    return each(
        {
            "config": lambda: write_to(f"{home}/config.toml"),
            "auth": lambda: write_to(f"{home}/auth.json"),
            "rules": lambda: os.mkdir(f"{home}/rules"),
            "prompt": lambda: write_to(f"{home}/AGENTS.md", flags=CREATE),
            "replace": lambda: os.rename(home, home + ".old"),
        }
    )


def write_shell_files(world: World) -> object:
    home = world["home"]
    return each(
        {
            ".bashrc": lambda: write_to(f"{home}/.bashrc"),
            ".profile": lambda: write_to(f"{home}/.profile", flags=CREATE),
            ".ssh": lambda: write_to(f"{home}/.ssh/authorized_keys", flags=CREATE),
            ".gitconfig": lambda: write_to(f"{home}/.gitconfig", flags=CREATE),
            ".config": lambda: os.mkdir(f"{home}/.config"),
        }
    )


def write_interpreter(world: World) -> object:
    """Modules that pycodex itself would import at its next start; never tried outside."""
    require_sandbox(world)
    return each(
        {
            folder: later(write_to, os.path.join(folder, f"{world['token']}.pth"), b"", CREATE)
            for folder in world["import_directories"]
        }
    )


def rewrite_own_code(world: World) -> object:
    """The modules that confine this very command, in a place where it may write everything else."""
    package = world["package"]
    return each(
        {
            "append": lambda: write_to(f"{package}/sandbox/plan.py", b"\n"),
            "create": lambda: write_to(f"{package}/sandbox/evil.py", flags=CREATE),
            "cache": lambda: os.mkdir(f"{package}/sandbox/__pycache__.new"),
            "replace": lambda: os.rename(f"{package}/sandbox", f"{package}/moved"),
            "rename": lambda: os.rename(package, package + ".moved"),
            "rename above": lambda: os.rename(os.path.dirname(package), os.path.dirname(package) + ".moved"),
        }
    )
