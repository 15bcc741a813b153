"""Attempts to leave code or settings behind that run outside later: git's own files, and `.codex`, `.agents`.

`world["ws"]` is the workspace, `world["gitdir"]` and `world["commondir"]` where its metadata really is.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable

from escape.programs.rawcalls import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    World,
    each,
    later,
    past_the_gate,
    require_sandbox,
    syscall,
    write_to,
)

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
RENAME_EXCHANGE = 2
MNT_DETACH = 2
MS_BIND, MS_REMOUNT = 4096, 32


def _git(world: World, name: str = "") -> str:
    return os.path.join(world["ws"], ".git", name)


def append_config(world: World) -> object:
    return write_to(os.path.join(world["commondir"], "config"), b"[core]\n\tfsmonitor = /bin/false\n")


def add_hook(world: World) -> object:
    return write_to(os.path.join(world["commondir"], "hooks/pre-commit"), b"#!/bin/sh\n", CREATE)


def write_gitdir(world: World) -> object:
    folder = world["gitdir"]
    return each(
        {
            "HEAD": lambda: write_to(os.path.join(folder, "HEAD")),
            "new": lambda: write_to(os.path.join(folder, "config.worktree"), flags=CREATE),
            "index": lambda: os.unlink(os.path.join(folder, "index")),
            "commondir": lambda: write_to(os.path.join(folder, "commondir"), flags=os.O_WRONLY | os.O_CREAT),
        }
    )


def write_pointer(world: World) -> object:
    path = os.path.join(world["ws"], ".git")
    return each(
        {
            "write": lambda: write_to(path, b"gitdir: /tmp/evil\n", os.O_WRONLY | os.O_TRUNC),
            "replace": lambda: _replace_pointer(world, path),
            "unlink": lambda: os.unlink(path),
        }
    )


def _replace_pointer(world: World, path: str) -> None:
    own = os.path.join(world["ws"], "own")
    write_to(own, b"gitdir: /tmp/evil\n", os.O_WRONLY | os.O_CREAT)
    os.rename(own, path)


def replace_directory(world: World) -> object:
    def moved_away() -> None:
        os.rename(_git(world).rstrip("/"), os.path.join(world["ws"], "old"))
        os.mkdir(_git(world))

    def removed() -> bool:
        names = [path for path in (_git(world).rstrip("/"), _git(world, "config")) if os.path.lexists(path)]
        shutil.rmtree(_git(world), ignore_errors=True)
        return not all(os.path.lexists(path) for path in names)

    return each(
        {
            "rename": moved_away,
            "exchange": lambda: _exchange(world),
            "remove": removed,
            "unlink": lambda: os.unlink(_git(world).rstrip("/")),
        }
    )


def _exchange(world: World) -> None:
    own = os.path.join(world["ws"], "own")
    os.makedirs(own, exist_ok=True)
    name = _git(world).rstrip("/").encode()
    syscall("renameat2", AT_FDCWD, own.encode(), AT_FDCWD, name, RENAME_EXCHANGE)


def change_mode(world: World) -> object:
    path = os.open(_git(world, "config"), os.O_PATH)
    return each(
        {
            "chmod": lambda: os.chmod(_git(world, "config"), 0o777),
            "utime": lambda: os.utime(_git(world, "config"), (1, 1)),
            "fchmodat2": lambda: syscall("fchmodat2", path, b"", 0o775, AT_EMPTY_PATH),
            "directory": lambda: os.chmod(_git(world), 0o777),
            "hook": lambda: os.chmod(_git(world, "hooks/sample"), 0o777),
        }
    )


def hardlink_and_write(world: World) -> object:
    own = os.path.join(world["ws"], "own")
    os.link(_git(world, "config"), own)
    return write_to(own)


def rename_into_workspace(world: World) -> object:
    os.rename(_git(world, "config"), os.path.join(world["ws"], "own"))
    return True


def reopen_descriptor(world: World) -> object:
    read_only = os.open(_git(world, "config"), os.O_RDONLY)
    path_only = os.open(_git(world, "config"), os.O_PATH)
    folder = os.open(_git(world), os.O_PATH)
    return each(
        {
            "read-only": lambda: write_to(f"/proc/self/fd/{read_only}", flags=os.O_RDWR),
            "O_PATH": lambda: write_to(f"/proc/self/fd/{path_only}", flags=os.O_RDWR),
            "directory": lambda: write_to(f"/proc/self/fd/{folder}/config", flags=os.O_RDWR),
            "openat": lambda: os.write(os.open("config", os.O_WRONLY | os.O_APPEND, dir_fd=folder), b"pwned"),
        }
    )


def through_aliases(world: World) -> object:
    config = _git(world, "config")
    link = os.path.join(world["ws"], "alias")

    def linked() -> bool:
        os.symlink(".git", link)
        return write_to(f"{link}/config")

    return each(
        {
            "/proc/self/root": lambda: write_to(f"/proc/self/root{config}"),
            "/proc/self/cwd": lambda: write_to(f"/proc/self/cwd/{os.path.relpath(config)}"),
            "dots": lambda: write_to(os.path.join(world["ws"], "sub/../.git/config")),
            "symlink": linked,
        }
    )


def uncover(world: World) -> object:
    """Takes the protection away instead of going around it: would mount on the host if it ran there."""
    require_sandbox(world)
    path, own = _git(world).rstrip("/").encode(), os.path.join(world["ws"], "sub").encode()
    return past_the_gate(
        {
            "umount": lambda: syscall("umount2", path, MNT_DETACH),
            "remount": lambda: syscall("mount", None, path, None, MS_REMOUNT | MS_BIND, None),
            "bind over": lambda: syscall("mount", own, path, None, MS_BIND, None),
            "tmpfs over": lambda: syscall("mount", b"none", path, b"tmpfs", 0, None),
            "attributes": lambda: syscall("mount_setattr", AT_FDCWD, path, 0, bytes(8) + b"\1" + bytes(23), 32),
        }
    )


def create_codex_config(world: World) -> object:
    return _create_in(world, ".codex", "config.toml")


def create_agents_skill(world: World) -> object:
    return _create_in(world, ".agents", "skills")


def _create_in(world: World, folder: str, name: str) -> bool:
    path = os.path.join(world["ws"], folder)
    try:
        os.mkdir(path)
    except FileExistsError:
        pass
    return write_to(os.path.join(path, name), flags=CREATE)


def overwrite_codex_config(world: World) -> object:
    return write_to(os.path.join(world["ws"], ".codex/config.toml"))


def replace_protected_names(world: World) -> object:
    def moved(name: str) -> bool:
        path = os.path.join(world["ws"], name)
        os.rename(path, path + ".old")
        os.mkdir(path)
        return write_to(os.path.join(path, "config.toml"), flags=CREATE)

    def linked(name: str) -> bool:
        path, own = os.path.join(world["ws"], name), os.path.join(world["ws"], "evil")
        os.makedirs(own, exist_ok=True)
        shutil.rmtree(path, ignore_errors=True)
        os.symlink(own, path)
        return True

    return each(
        {f"{how.__name__} {name}": later(how, name) for how in (moved, linked) for name in (".codex", ".agents")}
    )


def git_init(world: World) -> object:
    subprocess.run(["git", "init", "-q", world["ws"]], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return os.path.exists(_git(world, "HEAD"))


def git_commit(world: World) -> object:
    command = [
        "git",
        "-C",
        world["ws"],
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--allow-empty",
        "-qm",
        "x",
    ]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def git_config(world: World) -> object:
    command = ["git", "-C", world["ws"], "config", "core.fsmonitor", "/bin/false"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def write_nested_repository(world: World) -> object:
    return write_to(os.path.join(world["ws"], "sub/.git/config"))


def case_variant(world: World) -> object:
    os.mkdir(os.path.join(world["ws"], ".Codex"))
    return True


def rename_ancestor(world: World) -> object:
    """The workspace lies two levels below a writable root: moving the level above moves its protection along."""
    return each(
        {
            "rename": lambda: os.rename(world["ancestor"], world["ancestor"] + ".moved"),
            "exchange": lambda: _exchange_ancestor(world["ancestor"]),
            "workspace": lambda: os.rename(world["ws"], world["ws"] + ".moved"),
        }
    )


def _exchange_ancestor(path: str) -> None:
    os.mkdir(path + ".own")
    syscall("renameat2", AT_FDCWD, path.encode(), AT_FDCWD, f"{path}.own".encode(), RENAME_EXCHANGE)


def wait_then_create(world: World) -> object:
    """Says `ready`, waits for the file `world["go"]` (bounded), then tries the names that were missing at the start."""
    print("ready", flush=True)
    deadline = time.monotonic() + 20
    while not os.path.exists(os.path.join(world["ws"], world["go"])) and time.monotonic() < deadline:
        time.sleep(0.005)
    return each(
        {
            ".codex": lambda: _create_in(world, ".codex", "evil.toml"),
            ".agents": lambda: _create_in(world, ".agents", "evil"),
            ".git": lambda: _create_in(world, ".git", "evil"),
        }
    )


def make_writable_then_create(world: World) -> object:
    os.chmod(world["ws"], 0o755)
    return _create_in(world, ".codex", "config.toml")


def redirect_links(world: World) -> object:
    """A protected name that is a link: write where it leads, make what is missing there, point it elsewhere."""
    name, evil = world["link"], os.path.join(world["ws"], "evil")

    def replaced() -> bool:
        os.makedirs(evil, exist_ok=True)
        os.symlink(evil, name + ".new")
        os.rename(name + ".new", name)
        return True

    def filled() -> bool:
        destination = os.path.join(world["ws"], os.readlink(name))
        os.makedirs(destination, exist_ok=True)
        return write_to(os.path.join(destination, "config.toml"), flags=os.O_WRONLY | os.O_CREAT)

    def moved() -> None:
        destination = os.path.join(world["ws"], os.readlink(name))
        os.rename(destination, destination + ".moved")

    return each({"fill": filled, "replace": replaced, "move": moved, "unlink": lambda: os.unlink(name)})


def write_borrowed(world: World) -> object:
    """Files of the workspace that git or pycodex obey: each by content, by name, and by its directory's name."""
    attempts: dict[str, Callable[[], object]] = {}
    for path in world["borrowed"]:
        above = os.path.dirname(path)
        attempts |= {
            f"append {path}": later(write_to, path, b"# pwned\n"),
            f"replace {path}": later(_replace_file, path),
            f"exchange {path}": later(_swap_in, path),
            f"mode {path}": later(os.chmod, path, 0o777),
            f"above {path}": later(os.rename, above, above + ".moved"),
        }
    return each(attempts)


def _replace_file(path: str) -> None:
    own = f"{path}.own"
    write_to(own, b"#!/bin/sh\n", os.O_WRONLY | os.O_CREAT)
    os.rename(own, path)


def _swap_in(path: str) -> None:
    own = f"{path}.own"
    write_to(own, b"#!/bin/sh\n", os.O_WRONLY | os.O_CREAT)
    syscall("renameat2", AT_FDCWD, own.encode(), AT_FDCWD, path.encode(), RENAME_EXCHANGE)


def create_borrowed(world: World) -> object:
    """What a hook that leads nowhere is waiting for."""
    path = world["dangling"]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return write_to(path, b"#!/bin/sh\n", CREATE)


def become_bare(world: World) -> object:
    """The workspace itself as a repository: where there is no `.git`, git obeys the settings that lie at the top."""
    top = world["ws"]
    _leave(top, "config", f"{_settings(world)}\tbare = false\n\tworktree = .\n")
    return _complete(world, top)


def borrow_objects(world: World) -> object:
    """The same with the objects and settings of another directory."""
    top, other = world["ws"], os.path.join(world["ws"], "other")
    os.mkdir(other)
    _leave(other, "config", f"{_settings(world)}[extensions]\n\tworktreeConfig = true\n")
    _leave(top, "config.worktree", "[core]\n\tbare = false\n\tworktree = .\n")
    _leave(top, "commondir", "other\n")
    return _complete(world, other)


def _settings(world: World) -> str:
    command = f"touch {world['proof']}; false"
    return f'[core]\n\trepositoryformatversion = 1\n\tfsmonitor = "{command}"\n'


def _complete(world: World, objects: str) -> bool:
    for name in ("objects", "refs"):
        os.mkdir(os.path.join(objects, name))
    _leave(world["ws"], "HEAD", "ref: refs/heads/main\n")
    if world.get("closed"):
        os.chmod(world["ws"], 0o555)
    return True


def _leave(folder: str, name: str, text: str) -> None:
    write_to(os.path.join(folder, name), text.encode(), CREATE)
