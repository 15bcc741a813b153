"""The small world that one attack is let loose on: a workspace, what lies around it, and what watches over it.

Owns making and removing it, its description for the attacker, and `observe`: everything on the host that must be the
same before and after. Knows nothing of single attacks.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.escape.descendants import children, orphans
from support.escape.fingerprint import fingerprint
from support.escape.listeners import Listeners, SharedObjects
from support.escape.victim import Victim
from support.interpreter import MINIMAL_ENV

# Never a writable root, unlike /tmp, and on the same file system as nothing we protect only by chance.
BASE_PARENT = "/var/tmp"
PREFIX = "pycodex-escape-"
AUTH_SECRET = "the-secret-in-auth-json"
PROTECTED_NAMES = (".git", ".codex", ".agents")
SYSTEM_DIRECTORIES = (
    "/ /etc /etc/cron.d /etc/profile.d /usr/local/bin /usr/bin /usr/lib /var/tmp /var/lib /var/spool/cron /root /home "
    "/opt /srv /run /boot /sys /proc /mnt /media /lib /bin /sbin /var/log"
).split()


@dataclass(frozen=True)
class Mode:
    """One way to call the sandbox, as the options that choose it."""

    name: str
    options: tuple[str, ...] = ()
    writable: bool = True

    def __str__(self) -> str:
        return self.name


READ_ONLY = Mode("read-only", writable=False)
WORKSPACE_WRITE = Mode("workspace-write", ("--full-auto",))
WITH_NETWORK = Mode("network", ("--full-auto", "-c", "sandbox_workspace_write.network_access=true"))
MODES = (READ_ONLY, WORKSPACE_WRITE, WITH_NETWORK)


def git(*arguments: str, cwd: Path) -> None:
    environment = MINIMAL_ENV | {"HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)


def make_repository(path: Path) -> None:
    """A repository with one commit and one hook that is not executable."""
    path.mkdir()
    git("init", "-q", "--template=", ".", cwd=path)
    (path / "tracked.txt").write_text("tracked\n", encoding="ascii")
    (path / "sub").mkdir()
    (path / "sub" / "also.txt").write_text("also tracked\n", encoding="ascii")
    git("add", ".", cwd=path)
    git("commit", "-qm", "first", cwd=path)
    (path / ".git" / "hooks").mkdir(exist_ok=True)
    (path / ".git" / "hooks" / "sample").write_text("#!/bin/sh\n", encoding="ascii")


def populate(target: Path) -> None:
    """What every attacked directory holds."""
    target.mkdir(exist_ok=True)
    file = target / "file"
    file.write_text("untouched\n", encoding="ascii")
    file.chmod(0o644)
    try:
        os.setxattr(file, "user.kept", b"kept")
    except OSError:
        pass  # a file system without them has nothing to lose
    (target / "full").mkdir()
    (target / "full" / "inner").write_text("inner\n", encoding="ascii")
    (target / "empty").mkdir()


def stage(staging: Path, target: Path) -> None:
    """What an attack on `target` needs ready in the workspace, where read-only mode would not let it be made."""
    staging.mkdir()
    (staging / "staged").write_text("staged by the attacker\n", encoding="ascii")
    (staging / "folder").mkdir()
    (staging / "link").symlink_to(target / "file")
    (staging / "dirlink").symlink_to(target)


@dataclass
class World:
    """All paths are real paths; the workspace and everything around it belong to the user who runs the tests."""

    base: Path
    ws: Path
    codex_home: Path
    scratch: Path
    token: str
    expected: set[int] = field(default_factory=children)
    extra: dict[str, Any] = field(default_factory=dict)
    watched: list[Path] = field(default_factory=list)
    _closers: list[Callable[[], None]] = field(default_factory=list)
    _observers: dict[str, Callable[[], object]] = field(default_factory=dict)

    @classmethod
    def make(cls, template: Path) -> "World":
        base = Path(tempfile.mkdtemp(prefix=PREFIX, dir=BASE_PARENT))
        base.chmod(0o755)
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
        world = cls(base, base / "ws", base / "codex_home", scratch, PREFIX + secrets.token_hex(8))
        shutil.copytree(template, world.ws, symlinks=True)
        populate(world.out)
        for folder in (world.home, world.codex_home, world.home / ".ssh"):
            folder.mkdir()
        (world.home / ".bashrc").write_text("# rc\n", encoding="ascii")
        (world.codex_home / "config.toml").write_text("", encoding="ascii")
        (world.codex_home / "auth.json").write_text(f'{{"token": "{AUTH_SECRET}"}}', encoding="ascii")
        return world

    @property
    def out(self) -> Path:
        return self.base / "out"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "CODEX_HOME": str(self.codex_home)}

    def aim(self, where: str) -> None:
        """Chooses what is attacked: `out`, or `ws` or `tmp`, which only read-only mode protects."""
        target = {"out": self.out, "ws": self.ws / "target", "tmp": self.scratch / "target"}[where]
        if where != "out":
            populate(target)
        stage(self.ws / "staging", target)
        self.extra |= {"target": str(target), "staging": str(self.ws / "staging")}

    def add_victim(self) -> None:
        victim = Victim(self.out)
        self.expected.add(victim.pid)
        self._closers.append(victim.close)
        self._observers["victim"] = victim.state
        self.extra |= {"victim": victim.pid, "victim_address": victim.address, "victim_descriptor": victim.descriptor}

    def add_listeners(self) -> Listeners:
        listeners = Listeners({"out": self.out, "ws": self.ws, "tmp": self.scratch}, self.token)
        self._closers.append(listeners.close)
        self._observers["heard"] = listeners.heard
        self.extra |= {
            "stream_paths": list(listeners.stream_paths.values()),
            "abstract_stream": listeners.abstract_stream,
            "abstract_datagram": listeners.abstract_datagram,
            "datagram_path": listeners.datagram_path,
            "seqpacket_path": listeners.seqpacket_path,
            "tcp_port": listeners.tcp_port,
            "udp_port": listeners.udp_port,
        }
        return listeners

    def add_shared_objects(self) -> None:
        shared = SharedObjects(self.token)
        self._closers.append(shared.close)
        self._observers["shared"] = shared.heard
        self.extra |= {
            "shm_id": shared.shm_id,
            "sem_id": shared.sem_id,
            "msg_id": shared.msg_id,
            "ipc_key": shared.key,
            "mq_name": shared.mq_name,
            "shm_file": str(shared.shm_file),
        }

    def watch(self, *paths: Path) -> None:
        """More files that no mode may change."""
        self.watched.extend(paths)

    def system_directories(self) -> list[str]:
        own = [str(Path.home()), str(self.base), str(Path(__file__).resolve().parent)]
        found = {os.path.realpath(path) for path in (*SYSTEM_DIRECTORIES, *own) if os.path.isdir(path)}
        return sorted(path for path in found if path != "/tmp" and not path.startswith("/tmp/"))

    def plain(self) -> dict[str, Any]:
        """The description that the attacker is given."""
        kinds = ("pid", "mnt", "user")
        return {
            "ws": str(self.ws),
            "out": str(self.out),
            "target": str(self.out),
            "scratch": str(self.scratch),
            "home": str(self.home),
            "codex_home": str(self.codex_home),
            "gitdir": str(self.ws / ".git"),
            "commondir": str(self.ws / ".git"),
            "token": self.token,
            "host_namespaces": {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in kinds},
            "system_directories": self.system_directories(),
        } | self.extra

    def observe(self, mode: Mode) -> dict[str, object]:
        """Everything that `mode` must leave as it is."""
        return {
            "files": fingerprint(*self._guarded(mode), skip=[self.codex_home]),
            "names": sorted(os.listdir(self.base)),
            "codex_home names": sorted(path.name for path in self.codex_home.glob("*") if path.name != "tmp"),
            "created": [
                path for path in (*self.system_directories(), "/dev/shm") if os.path.exists(f"{path}/{self.token}")
            ],
            "mounts": Path("/proc/self/mountinfo").read_text(encoding="utf-8"),
            **{name: observer() for name, observer in self._observers.items()},
        }

    def _guarded(self, mode: Mode) -> list[Path]:
        paths = [self.out, self.home, *(self.ws / name for name in PROTECTED_NAMES), *self.watched]
        paths += [self.codex_home / "config.toml", self.codex_home / "auth.json"]
        return paths if mode.writable else [*paths, self.base, self.scratch]

    def survivors(self) -> set[int]:
        return orphans(self.expected)

    def close(self) -> None:
        for close in reversed(self._closers):
            close()
        for path in (self.base, self.scratch, Path("/dev/shm") / self.token):
            remove(path)


def changes(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """What differs between two observations, one line each."""
    differences = []
    for name, old in before.items():
        new = after[name]
        if isinstance(old, dict) and isinstance(new, dict):
            keys = sorted(old.keys() | new.keys())
            differences += [f"{key}: {old.get(key)} -> {new.get(key)}" for key in keys if old.get(key) != new.get(key)]
        elif old != new:
            differences.append(f"{name}: {old} -> {new}")
    return differences


def remove(path: Path) -> None:
    """Removes a tree whose modes an attacker may have changed."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)
