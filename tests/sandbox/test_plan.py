"""Plans, from real directories to the confinement that protects them; and what must hold for any survey."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.confinement import Confinement, Entry, Limits, Unenforceable
from pycodex.protocol.permissions import FsRule, Permissions, from_split
from pycodex.sandbox.disk import Place
from pycodex.sandbox.plan import access_at, opened, plan
from pycodex.sandbox.survey import GUARDED_NAMES, PLATFORM_PATHS, Grant, Guard, Survey, survey

WRITE = Permissions(mode="workspace-write", exclude_slash_tmp=True)
NAMES = set(GUARDED_NAMES)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def ws(base: Path) -> Path:
    (base / "ws").mkdir()
    return base / "ws"


def confine(cwd: Path, permissions: Permissions = WRITE, *, home: str = "", **env: str) -> Confinement:
    return plan(permissions, survey(permissions, cwd=str(cwd), env=env, codex_home=home))


def entries(confinement: Confinement, below: Path) -> dict[str, str]:
    """Entries below a directory, by their path from there."""
    return {
        os.path.relpath(entry.path, below): entry.access
        for entry in confinement.entries
        if entry.path.startswith(f"{below}/")
    }


def placeholders(confinement: Confinement, below: Path) -> set[str]:
    return {os.path.relpath(path, below) for path in confinement.placeholders}


def make_dirs(below: Path, *names: str) -> None:
    for name in names:
        (below / name).mkdir(parents=True)


def make_git_dir(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


# Modes


def test_read_only_grants_no_writes(ws: Path) -> None:
    make_dirs(ws, ".git")
    assert confine(ws, Permissions(mode="read-only")) == Confinement(base="read")


@pytest.mark.parametrize(
    ("permissions", "because"),
    [
        (Permissions(mode="danger-full-access"), "danger-full-access"),
        (Permissions(mode="external-sandbox", network_access=True), "external sandbox"),
    ],
)
def test_modes_without_a_sandbox_say_why(ws: Path, permissions: Permissions, because: str) -> None:
    confinement = confine(ws, permissions)
    assert confinement == Confinement(base="write", network=True, unconfined_because=because)
    assert access_at(confinement, "/etc") == "write"


def test_external_sandbox_without_network_confines_only_that(ws: Path) -> None:
    assert confine(ws, Permissions(mode="external-sandbox")) == Confinement(base="write", network=False)


def test_workspace_write(base: Path, ws: Path) -> None:
    make_dirs(base, "extra/.codex", "tmp", "home/memories", "ws/.git")
    (base / "file").touch()
    permissions = WRITE.replace(writable_roots=(f"{base}/extra", f"{base}/gone", f"{base}/file", f"{base}/extra/"))
    confinement = confine(ws, permissions, home=f"{base}/home", TMPDIR=f"{base}/tmp")
    assert confinement.base == "read"
    assert not confinement.network
    assert confinement.ledger == f"{base}/home/tmp/placeholders"
    assert entries(confinement, base) == {
        "extra": "write",
        "file": "write",
        "tmp": "write",
        "ws": "write",
        "extra/.codex": "read",
        "home/memories": "write",
        "ws/.git": "read",
    }
    assert placeholders(confinement, base) == {"extra/.git", "extra/.agents", "ws/.codex", "ws/.agents"}


def test_settings_reach_the_confinement(ws: Path) -> None:
    found = survey(WRITE, cwd=str(ws), env={}, codex_home="")
    limits = Limits(open_files=7)
    confinement = plan(WRITE.replace(network_access=True), found, landlock_only=True, limits=limits)
    assert (confinement.network, confinement.landlock_only, confinement.limits) == (True, True, limits)


def test_slash_tmp_is_a_root_but_nothing_is_created_in_it(ws: Path) -> None:
    tmp = os.path.realpath("/tmp")
    confinement = confine(ws, Permissions(mode="workspace-write"))
    assert Entry(path=tmp, access="write") in confinement.entries
    assert not [path for path in confinement.placeholders if os.path.dirname(path) == tmp]


def test_slash_tmp_as_cwd_stays_free_of_placeholders() -> None:
    tmp = os.path.realpath("/tmp")
    confinement = confine(Path("/tmp"), Permissions(mode="workspace-write"))
    assert access_at(confinement, f"{tmp}/x") == "write"
    assert confinement.placeholders == ()


def test_names_that_exist_in_a_shared_directory_are_protected(base: Path, ws: Path) -> None:
    make_dirs(base, "tmp/.codex")
    confinement = confine(base / "tmp", TMPDIR=f"{base}/tmp")
    assert entries(confinement, base) == {"tmp": "write", "tmp/.codex": "read"}
    assert confinement.placeholders == ()


def test_names_that_the_user_could_not_create_need_no_placeholder(ws: Path) -> None:
    guard = Guard(path=f"{ws}/.git", role="name", place=Place(path=f"{ws}/.git", kind="absent"))
    grant = Grant(asked=str(ws), origin="cwd", access="write", place=Place(path=str(ws), kind="directory"))
    assert plan(WRITE, Survey(cwd=str(ws), grants=(grant,), guards=(guard,))).placeholders == ()


# Roots in and around each other


def test_roots_in_roots_cannot_be_renamed_away(base: Path) -> None:
    make_dirs(base, "out/a/b/ws/.git", "out/t/tmp")
    confinement = confine(
        base / "out/a/b/ws", WRITE.replace(writable_roots=(f"{base}/out",)), TMPDIR=f"{base}/out/t/tmp"
    )
    assert entries(confinement, base) == {
        "out": "write",
        "out/a": "pin",
        "out/t": "pin",
        "out/a/b": "pin",
        "out/t/tmp": "write",
        "out/a/b/ws": "write",
        "out/a/b/ws/.git": "read",
    }


def test_root_directory_as_a_root(base: Path, ws: Path) -> None:
    make_dirs(base, "ws/.git", "home/memories")
    confinement = confine(ws, WRITE.replace(writable_roots=("/",)), home=f"{base}/home")
    assert confinement.base == "write"
    assert access_at(confinement, "/etc/passwd") == "write"
    assert access_at(confinement, f"{base}/home/config.toml") == "read"
    assert access_at(confinement, f"{base}/home/memories/x") == "write"
    assert access_at(confinement, f"{ws}/.git/config") == "read"
    assert entries(confinement, base)["ws"] == "write"
    assert Entry(path=str(base.parent), access="pin") in confinement.entries
    assert "/" not in {entry.path for entry in confinement.entries}


def test_protected_name_that_is_itself_a_root_was_asked_for(base: Path, ws: Path) -> None:
    make_dirs(ws, ".git")
    confinement = confine(ws, WRITE.replace(writable_roots=(f"{ws}/.git",)))
    assert access_at(confinement, f"{ws}/.git/config") == "write"


@pytest.mark.parametrize("restricted", [False, True])
def test_working_directory_through_a_link_in_a_root_is_refused(base: Path, restricted: bool) -> None:
    """When the session began it was a directory; a command of another session has put the link there."""
    make_dirs(base, "shared", "private")
    (base / "shared/ws").symlink_to(base / "private")
    permissions = WRITE.replace(writable_roots=(f"{base}/shared",), restricted_read=restricted)
    with pytest.raises(Unenforceable, match=r"working directory '.*ws' goes through .* name '.*/private' itself"):
        confine(base / "shared/ws", permissions)


def test_working_directory_through_a_link_that_stays_in_the_root_is_where_it_leads(base: Path) -> None:
    make_dirs(base, "shared/real")
    (base / "shared/ws").symlink_to("real")
    confinement = confine(base / "shared/ws", WRITE.replace(writable_roots=(f"{base}/shared",)))
    assert entries(confinement, base) == {"shared": "write", "shared/real": "pin"}
    assert placeholders(confinement, base / "shared/real") >= NAMES


def test_root_through_a_link_that_a_command_could_have_made_is_refused(base: Path, ws: Path) -> None:
    make_dirs(base, "private")
    (ws / "out").symlink_to(base / "private")
    with pytest.raises(Unenforceable, match=r"ws/out' goes through the symbolic link .* name '.*/private' itself"):
        confine(ws, WRITE.replace(writable_roots=(f"{ws}/out",)))
    with pytest.raises(Unenforceable, match=r"\$TMPDIR '.*ws/out'"):
        confine(ws, TMPDIR=f"{ws}/out")


def test_root_through_such_a_link_opens_nothing_that_is_protected(base: Path, ws: Path) -> None:
    make_dirs(ws, ".git/hooks")
    (ws / "out").symlink_to(".git/hooks")
    confinement = confine(ws, TMPDIR=f"{ws}/out")
    assert access_at(confinement, f"{ws}/.git/hooks/x") == "read"


def test_root_through_a_link_elsewhere_is_its_target(base: Path, ws: Path) -> None:
    make_dirs(base, "real")
    (base / "alias").symlink_to("real")
    confinement = confine(ws, WRITE.replace(writable_roots=(f"{base}/alias", f"{base}/real")))
    assert entries(confinement, base) == {"real": "write", "ws": "write"}


# Protected names


@pytest.mark.parametrize("name", GUARDED_NAMES)
@pytest.mark.parametrize("make", [os.mkdir, Path.touch, os.mkfifo])
def test_whatever_bears_a_protected_name_is_read_only(ws: Path, name: str, make: Callable[[Path], None]) -> None:
    make(ws / name)
    confinement = confine(ws)
    assert entries(confinement, ws) == {name: "read"}
    assert placeholders(confinement, ws) == NAMES - {name}


def test_nested_repositories_are_not_protected(ws: Path) -> None:
    make_git_dir(ws / "sub/.git")
    assert access_at(confine(ws), f"{ws}/sub/.git/config") == "write"


def test_worktree_protects_gitdir_and_common_directory(base: Path) -> None:
    main = make_git_dir(base / "out/main/.git")
    (make_git_dir(main / "worktrees/ws") / "commondir").write_text("../..\n")
    make_dirs(base, "ws")
    (base / "ws/.git").write_text(f"gitdir: {main}/worktrees/ws\n")
    confinement = confine(base / "ws", WRITE.replace(writable_roots=(f"{base}/out",)))
    assert entries(confinement, base) == {
        "out": "write",
        "out/main": "pin",
        "out/main/.git": "read",
        "ws": "write",
        "ws/.git": "read",
    }


def test_gitdir_inside_with_common_directory_outside(base: Path, ws: Path) -> None:
    make_git_dir(base / "main/.git")
    (make_git_dir(ws / "meta/own") / "commondir").write_text(f"{base}/main/.git")
    (ws / ".git").write_text("gitdir: meta/own")
    assert entries(confine(ws), base) == {"ws": "write", "ws/.git": "read", "ws/meta": "pin", "ws/meta/own": "read"}


def test_common_directory_that_a_git_directory_names(ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_git_dir(ws / "deep/shared")
    (ws / ".git/commondir").write_text("../deep/shared")
    assert entries(confine(ws), ws) == {".git": "read", "deep": "pin", "deep/shared": "read"}


def test_submodule_protects_its_part_of_the_outer_repository(base: Path) -> None:
    make_git_dir(base / "out/.git/modules/sub")
    make_dirs(base, "out/sub")
    (base / "out/sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    permissions = WRITE.replace(writable_roots=(f"{base}/out",))
    assert entries(confine(base / "out/sub", permissions), base / "out") == {
        ".git": "read",
        "sub": "write",
        "sub/.git": "read",
    }


def test_worktree_inside_a_bare_repository_keeps_writing_to_itself_only(base: Path) -> None:
    bare = make_git_dir(base / "out/repo.git")
    (make_git_dir(bare / "worktrees/ws") / "commondir").write_text("../..")
    make_dirs(bare, "ws")
    (bare / "ws/.git").write_text("gitdir: ../worktrees/ws")
    confinement = confine(bare / "ws", WRITE.replace(writable_roots=(f"{base}/out",)))
    assert access_at(confinement, f"{bare}/config") == "read"
    assert access_at(confinement, f"{bare}/ws/main.c") == "write"
    assert access_at(confinement, f"{bare}/ws/.git") == "read"


@pytest.mark.parametrize("target", [".", "..", "/", "./", "{ws}", "{base}", "/proc", "/dev/null", "../outside"])
def test_git_file_cannot_take_the_workspace_away(base: Path, ws: Path, target: str) -> None:
    (ws / "HEAD").touch()
    (base / "HEAD").touch()
    make_git_dir(base / "outside")
    (ws / ".git").write_text("gitdir: " + target.format(ws=ws, base=base))
    confinement = confine(ws)
    assert entries(confinement, base) == {"ws": "write", "ws/.git": "read"}
    assert placeholders(confinement, ws) == {".codex", ".agents"}


def test_git_file_to_a_directory_that_is_none_leaves_it_writable_but_no_repository(ws: Path) -> None:
    make_dirs(ws, "src/lib")
    (ws / ".git").write_text("gitdir: src/lib")
    confinement = confine(ws)
    assert access_at(confinement, f"{ws}/src/lib/x.c") == "write"
    assert entries(confinement, ws) == {".git": "read", "src": "pin", "src/lib": "pin"}
    assert "src/lib/HEAD" in placeholders(confinement, ws)


def test_git_file_to_a_missing_directory_holds_its_place(ws: Path) -> None:
    make_dirs(ws, "meta")
    (ws / ".git").write_text("gitdir: meta/gone/x")
    confinement = confine(ws)
    assert "meta/gone" in placeholders(confinement, ws)
    assert entries(confinement, ws) == {".git": "read", "meta": "pin"}


def test_git_file_to_a_missing_directory_in_a_shared_one_creates_nothing(base: Path, ws: Path) -> None:
    make_dirs(base, "tmp")
    (ws / ".git").write_text(f"gitdir: {base}/tmp/gone")
    confinement = confine(ws, TMPDIR=f"{base}/tmp")
    assert placeholders(confinement, base) == {"ws/.codex", "ws/.agents"}


def test_linked_hooks_are_protected_where_they_are(ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_dirs(ws, "tools/hooks")
    (ws / ".git/hooks").symlink_to("../tools/hooks")
    assert entries(confine(ws), ws) == {".git": "read", "tools": "pin", "tools/hooks": "read"}


def test_linked_hook_is_protected_with_the_way_to_it(ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_dirs(ws, ".git/hooks", "tools")
    (ws / "tools/check").touch()
    (ws / ".git/hooks/pre-commit").symlink_to("../../tools/check")
    (ws / ".git/hooks/pre-push").symlink_to("../../later/push")
    confinement = confine(ws)
    assert entries(confinement, ws) == {".git": "read", "tools": "pin", "tools/check": "read"}
    assert placeholders(confinement, ws) == {".agents", ".codex", "later"}


def test_dangling_link_to_skills_costs_nothing(ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_dirs(ws, ".agents")
    (ws / ".agents/skills").symlink_to("../node_modules/skills")
    assert placeholders(confine(ws), ws) == {".codex"}


# Repositories without `.git`

REPOSITORIES = {
    "bare": ("HEAD", "objects/", "refs/"),
    "with objects elsewhere": ("HEAD", "commondir"),
    "proper": (".git/", ".git/HEAD"),
    "worktree": (".git",),
}
NOT_REPOSITORIES = {
    "empty": (),
    "a file called HEAD": ("HEAD", "objects/"),
    "an empty directory called .git": (".git/",),
}


def fill(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).mkdir() if name.endswith("/") else (folder / name).touch()


@pytest.mark.parametrize("names", NOT_REPOSITORIES.values(), ids=NOT_REPOSITORIES.keys())
def test_directory_that_is_no_repository_must_not_become_one(ws: Path, names: tuple[str, ...]) -> None:
    fill(ws, names)
    assert confine(ws).not_repositories == (str(ws),)
    assert confine(ws, Permissions(mode="read-only")).not_repositories == ()


@pytest.mark.parametrize("names", REPOSITORIES.values(), ids=REPOSITORIES.keys())
def test_repository_may_stay_one(ws: Path, names: tuple[str, ...]) -> None:
    fill(ws, names)
    assert confine(ws).not_repositories == ()


def test_shared_directory_is_nobodys_repository(base: Path, ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_dirs(base, "tmp")
    assert confine(ws, TMPDIR=f"{base}/tmp").not_repositories == ()


def test_bare_repository_keeps_its_settings_and_hooks(ws: Path) -> None:
    fill(ws, ("HEAD", "objects/", "refs/", "config"))
    confinement = confine(ws)
    assert entries(confinement, ws) == {"config": "read"}
    assert placeholders(confinement, ws) == {"hooks", *NAMES}


# Protected names that are links


def test_link_is_held_and_its_target_protected(ws: Path) -> None:
    make_dirs(ws, "store/agents", "detour")
    (ws / "hop").symlink_to("detour/../store")
    (ws / ".agents").symlink_to("hop/agents")
    assert entries(confine(ws), ws) == {
        ".agents": "link",
        "hop": "link",
        "detour": "pin",
        "store": "pin",
        "store/agents": "read",
    }


def test_link_out_of_all_roots_is_held(base: Path, ws: Path) -> None:
    make_dirs(base, "outside")
    (ws / ".git").symlink_to(base / "outside")
    (ws / ".codex").symlink_to(base / "nothing")
    assert entries(confine(ws), base) == {"ws": "write", "ws/.git": "link", "ws/.codex": "link"}


def test_linked_git_file_is_read_as_git_does(ws: Path) -> None:
    make_git_dir(ws / "store")
    make_dirs(ws, "sub")
    (ws / "sub/pointer").write_text("gitdir: store")
    (ws / ".git").symlink_to("sub/pointer")
    assert entries(confine(ws), ws) == {".git": "link", "store": "read", "sub": "pin", "sub/pointer": "read"}


def test_dangling_link_into_the_workspace_holds_the_missing_name(ws: Path) -> None:
    (ws / ".codex").symlink_to("conf/codex")
    confinement = confine(ws)
    assert entries(confinement, ws) == {".codex": "link"}
    assert placeholders(confinement, ws) == {"conf", ".git", ".agents"}


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (".git", "cannot be followed"),
        (".", "leads to '.*/ws', a writable root"),
        ("{base}/extra", "leads to '.*/extra', a writable root"),
        ("{base}/tmp/gone", "leads to '.*/tmp/gone', which does not exist"),
    ],
)
def test_link_that_cannot_be_protected_is_refused_in_one_line(base: Path, ws: Path, target: str, problem: str) -> None:
    make_dirs(base, "extra", "tmp")
    (ws / ".git").symlink_to(target.format(base=base))
    permissions = WRITE.replace(writable_roots=(f"{base}/extra",))
    with pytest.raises(Unenforceable, match=rf"cannot protect '.*/ws/\.git': it {problem}.*; remove or replace it"):
        confine(ws, permissions, TMPDIR=f"{base}/tmp")


# CODEX_HOME and what is never read


def test_home_in_a_root_is_protected_but_memories_are_not(base: Path, ws: Path) -> None:
    make_dirs(ws, "conf/home/memories")
    confinement = confine(ws, home=f"{ws}/conf/home")
    assert entries(confinement, ws) == {"conf": "pin", "conf/home": "read", "conf/home/memories": "write"}
    assert access_at(confinement, f"{ws}/conf/home/auth.json") == "read"
    assert access_at(confinement, f"{ws}/conf/home/memories/note") == "write"


@pytest.mark.parametrize("configured", [False, True])
def test_home_as_a_root_stays_protected(base: Path, ws: Path, configured: bool) -> None:
    make_dirs(base, "home/memories", "home/work")
    permissions = WRITE.replace(writable_roots=(f"{base}/home",) if configured else ())
    confinement = confine(ws if configured else base / "home", permissions, home=f"{base}/home")
    assert access_at(confinement, f"{base}/home/config.toml") == "read"
    assert access_at(confinement, f"{base}/home/memories/x") == "write"
    assert not [path for path in confinement.placeholders if path.startswith(f"{base}/home")]


def test_protected_name_may_be_a_link_to_the_protected_home(base: Path, ws: Path) -> None:
    make_dirs(base, "home")
    (ws / ".codex").symlink_to(base / "home")
    confinement = confine(ws, WRITE.replace(writable_roots=(f"{base}/home",)), home=f"{base}/home")
    assert entries(confinement, base) == {"home": "read", "ws": "write", "ws/.codex": "link"}


def test_workspace_below_home_is_writable(base: Path) -> None:
    make_dirs(base, "home/worktrees/ws")
    confinement = confine(base / "home/worktrees/ws", home=f"{base}/home")
    assert entries(confinement, base) == {"home/worktrees/ws": "write"}


def test_linked_home_is_protected_with_its_link(ws: Path) -> None:
    make_dirs(ws, "dotfiles/codex")
    (ws / "codex").symlink_to("dotfiles/codex")
    assert entries(confine(ws, home=f"{ws}/codex"), ws) == {
        "codex": "link",
        "dotfiles": "pin",
        "dotfiles/codex": "read",
    }


def test_missing_home_in_a_root_cannot_be_made_up(ws: Path) -> None:
    assert "conf" in placeholders(confine(ws, home=f"{ws}/conf/home"), ws)


def test_linked_memories_in_a_writable_home_are_no_root(base: Path, ws: Path) -> None:
    make_dirs(base, "private", "ws/home")
    (ws / "home/memories").symlink_to(base / "private")
    assert access_at(confine(ws, home=f"{ws}/home"), f"{base}/private/x") == "read"


@pytest.mark.parametrize(
    ("network", "defaults", "access"), [(True, True, "none"), (False, True, "read"), (True, False, "read")]
)
def test_credentials_are_hidden_when_they_could_leave(
    base: Path, ws: Path, network: bool, defaults: bool, access: str
) -> None:
    make_dirs(base, "home")
    (base / "real.json").touch()
    (base / "home/auth.json").symlink_to(base / "real.json")
    permissions = WRITE.replace(network_access=network)
    found = survey(permissions, cwd=str(ws), env={}, codex_home=f"{base}/home")
    assert access_at(plan(permissions, found, deny_read_defaults=defaults), f"{base}/real.json") == access


def test_credentials_are_hidden_by_name_before_they_are_there(base: Path, ws: Path) -> None:
    make_dirs(base, "home")
    confinement = confine(ws, WRITE.replace(network_access=True), home=f"{base}/home")
    secrets = dict.fromkeys(("home/auth.json", "home/.credentials.json", "home/app-server-token"), "none")
    assert entries(confinement, base) == {"ws": "write", **secrets}


@pytest.mark.parametrize("defaults", [False, True])
@pytest.mark.parametrize("network", [False, True])
def test_runtime_directory_is_always_hidden_and_fixed(ws: Path, network: bool, defaults: bool) -> None:
    permissions = WRITE.replace(network_access=network)
    found = survey(permissions, cwd=str(ws), env={}, codex_home="")
    confinement = plan(permissions, found, runtime_dir=f"{ws}/run/pycodex", deny_read_defaults=defaults)
    assert confinement.hidden == (*found.runtime_bases, f"{ws}/run/pycodex")
    assert access_at(confinement, f"{ws}/run/pycodex/socket") == "none"
    assert entries(confinement, ws) == {"run": "pin"}


# Restricted reads and rules


def test_restricted_reads_open_only_what_is_named(base: Path, ws: Path) -> None:
    make_dirs(base, "data/deep", "real")
    (base / "alias").symlink_to("real")
    permissions = Permissions(
        mode="read-only", restricted_read=True, readable_roots=(f"{base}/data", f"{base}/data/deep", f"{base}/alias")
    )
    confinement = confine(ws, permissions)
    assert confinement.base == "none"
    assert entries(confinement, base) == {"alias": "link", "data": "read", "real": "read", "ws": "read"}


def test_restricted_reads_with_writable_roots(base: Path, ws: Path) -> None:
    make_dirs(base, "data", "ws/docs")
    permissions = WRITE.replace(restricted_read=True, readable_roots=(f"{base}/data", f"{ws}/docs"))
    confinement = confine(ws, permissions)
    assert confinement.base == "none"
    assert entries(confinement, base) == {"data": "read", "ws": "write"}


def test_platform_defaults_are_those_that_exist(ws: Path) -> None:
    permissions = Permissions(mode="read-only", restricted_read=True, platform_defaults=True)
    confinement = confine(ws, permissions)
    for path in PLATFORM_PATHS:
        expected = "read" if os.path.exists(path) else "none"
        assert access_at(confinement, os.path.realpath(path)) == expected, path
    assert access_at(confinement, "/var/lib") == "none"
    assert not [entry for entry in confinement.entries if entry.access == "link" and os.path.dirname(entry.path) == "/"]


def test_nothing_is_readable_without_rules_that_say_so(ws: Path) -> None:
    permissions = from_split({"kind": "restricted", "entries": []}, "restricted")
    assert confine(ws, permissions) == Confinement(base="none")


def rule(path: Path | str, access: str) -> FsRule:
    return FsRule(path=str(path), access=access)


def by_rules(*rules: FsRule) -> Permissions:
    return Permissions(mode="workspace-write", rules=rules)


def test_most_specific_rule_wins(base: Path, ws: Path) -> None:
    make_dirs(ws, "a/b/c")
    permissions = by_rules(
        FsRule(special="root", access="read"), rule(ws, "write"), rule(ws / "a", "none"), rule(ws / "a/b/c", "write")
    )
    confinement = confine(ws, permissions)
    assert confinement.base == "read"
    assert entries(confinement, base) == {"ws": "write", "ws/a": "none", "ws/a/b/c": "write"}


def test_rule_that_changes_nothing_leaves_no_entry(base: Path, ws: Path) -> None:
    permissions = by_rules(FsRule(special="root", access="read"), rule(ws, "read"))
    assert confine(ws, permissions).entries == ()


def test_workspace_in_a_shared_root_of_rules_gets_its_placeholders(base: Path) -> None:
    make_dirs(base, "tmp/ws")
    permissions = by_rules(FsRule(special="tmpdir", access="write"))
    confinement = confine(base / "tmp/ws", permissions, TMPDIR=f"{base}/tmp")
    assert placeholders(confinement, base / "tmp/ws") == NAMES
    assert entries(confinement, base) == {"tmp": "write", "tmp/ws": "pin"}


@pytest.mark.parametrize(
    ("accesses", "winner"),
    [(("read", "write"), "write"), (("write", "none", "read"), "none"), (("none", "write"), "none")],
)
def test_of_rules_for_one_path_none_beats_write_beats_read(
    base: Path, ws: Path, accesses: Iterable[str], winner: str
) -> None:
    make_dirs(base, "x")
    confinement = confine(ws, by_rules(*(rule(base / "x", access) for access in accesses)))
    assert access_at(confinement, f"{base}/x") == (winner if winner != "none" else confinement.base)


def test_unknown_places_grant_nothing(base: Path, ws: Path) -> None:
    permissions = by_rules(FsRule(special="root", access="read"), FsRule(special="moon_base", access="write"))
    assert confine(ws, permissions) == Confinement(base="read")


def test_rules_with_special_places(base: Path, ws: Path) -> None:
    make_dirs(base, "tmp", "ws/secrets")
    permissions = by_rules(
        FsRule(special="minimal", access="read"),
        FsRule(special="project_roots", access="write"),
        FsRule(special="project_roots", subpath="secrets", access="none"),
        FsRule(special="tmpdir", access="write"),
    )
    confinement = confine(ws, permissions, TMPDIR=f"{base}/tmp")
    assert confinement.base == "none"
    assert access_at(confinement, os.path.realpath("/usr")) == "read"
    assert entries(confinement, base) == {"tmp": "write", "ws": "write", "ws/secrets": "none"}
    assert placeholders(confinement, ws) == NAMES


def test_everything_writable_by_rule_still_protects_the_workspace(ws: Path) -> None:
    make_dirs(ws, ".git")
    confinement = confine(ws, by_rules(FsRule(special="root", access="write")))
    assert access_at(confinement, "/etc") == "write"
    assert access_at(confinement, f"{ws}/.git/config") == "read"
    assert {".codex", ".agents"} <= placeholders(confinement, ws)


def test_rule_may_open_a_protected_name(ws: Path) -> None:
    make_dirs(ws, ".git")
    permissions = by_rules(
        FsRule(special="project_roots", access="write"),
        FsRule(special="project_roots", subpath=".git", access="write"),
    )
    assert access_at(confine(ws, permissions), f"{ws}/.git/index") == "write"


def test_rule_may_close_a_protected_name(ws: Path) -> None:
    make_dirs(ws, ".git")
    confinement = confine(ws, by_rules(rule(ws, "write"), rule(ws / ".git", "none")))
    assert access_at(confinement, f"{ws}/.git/config") == "none"


def test_denied_path_through_links_is_denied_where_it_leads(ws: Path) -> None:
    make_dirs(ws, "vault")
    (ws / "vault/key").touch()
    (ws / "key").symlink_to("vault/key")
    confinement = confine(ws, by_rules(rule(ws, "write"), rule(ws / "key", "none")))
    assert entries(confinement, ws) == {"key": "link", "vault": "pin", "vault/key": "none"}


@pytest.mark.parametrize("access", ["none", "read"])
def test_denied_path_that_is_missing_cannot_be_created(ws: Path, access: str) -> None:
    confinement = confine(ws, by_rules(rule(ws, "write"), rule(ws / "conf/.env", access)))
    assert access_at(confinement, f"{ws}/conf/.env") == "read"
    assert "conf" in placeholders(confinement, ws)


def test_denied_path_outside_writable_roots_may_be_missing(base: Path, ws: Path) -> None:
    permissions = by_rules(FsRule(special="root", access="read"), rule(base / "gone", "none"))
    assert confine(ws, permissions) == Confinement(base="read")


@pytest.mark.parametrize("name", ["**/.env", "file/x", "loop"])
def test_denial_that_cannot_be_enforced_is_refused(ws: Path, name: str) -> None:
    (ws / "file").touch()
    (ws / "loop").symlink_to("loop")
    with pytest.raises(Unenforceable, match="cannot deny access to"):
        confine(ws, by_rules(rule(ws, "write"), rule(f"{ws}/{name}", "none")))


# What holds for any survey

_names = st.sampled_from(["a", "b", ".git"])
_paths = st.lists(_names, min_size=1, max_size=5).map(lambda names: "/" + "/".join(names))
_places = st.builds(lambda path: Place(path=path, kind="directory"), _paths)
_rule_grants = st.builds(
    lambda place, access: Grant(asked=place.path, origin="configured", access=access, place=place),
    _places,
    st.sampled_from(["read", "write", "none"]),
)


@st.composite
def _guards(draw: st.DrawFn) -> Guard:
    links = tuple(draw(st.lists(_paths.map(lambda path: f"{path}/link"), max_size=2, unique=True)))
    kind = draw(st.sampled_from(["directory", "file", "missing", "other"]))
    place = Place(path=draw(_paths), kind=kind, links=links, through=tuple(draw(st.lists(_paths, max_size=2))))
    role = draw(st.sampled_from(["gitdir", "inner"])) if links else "name"
    return Guard(path=place.path, role=role, place=place, is_git=draw(st.booleans()))


_surveys = st.builds(
    lambda grants, guards, home: Survey(cwd="/a/b", grants=tuple(grants), guards=tuple(guards), home=home),
    st.lists(_rule_grants, max_size=5),
    st.lists(_guards(), max_size=5),
    st.none() | _places,
)
_RULES = by_rules(FsRule(special="placeholder", access="none"))


def prefixes(path: str) -> list[str]:
    """The path and all above it, deepest first, without the root directory."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 1, -1)]


def expected_by_rules(grants: Iterable[Grant], path: str) -> str:
    """The rule that sandboxing documents promise, written down a second time."""
    for prefix in prefixes(path):
        here = {grant.access for grant in grants if grant.place.path == prefix}
        for access in ("none", "write", "read"):
            if access in here:
                return access
    return "none"


@given(st.lists(_rule_grants, max_size=6), _paths)
def test_rules_alone_give_what_the_most_specific_says(grants: list[Grant], path: str) -> None:
    confinement = plan(_RULES, Survey(cwd="/elsewhere", grants=tuple(grants)))
    assert access_at(confinement, path) == expected_by_rules(grants, path)


@given(_surveys, _paths)
def test_protection_never_grants_anything(found: Survey, path: str) -> None:
    order = ["none", "read", "write"]
    confinement = plan(_RULES, found)
    assert order.index(access_at(confinement, path)) <= order.index(expected_by_rules(found.grants, path))


@given(_surveys, st.sampled_from(["", "/a/run", "/a/b/x/run"]))
def test_no_directory_above_anything_held_can_be_renamed(found: Survey, runtime_dir: str) -> None:
    confinement = plan(_RULES, found, runtime_dir=runtime_dir)
    fixed = {entry.path for entry in confinement.entries} | {*confinement.placeholders}
    for held in (*fixed, *confinement.hidden):
        for above in prefixes(held)[1:]:
            parent_is_writable = access_at(confinement, os.path.dirname(above)) == "write"
            assert above in fixed or not parent_is_writable, (held, above)


@given(_surveys)
def test_existing_guards_are_not_writable_unless_asked_for(found: Survey) -> None:
    confinement = plan(_RULES, found)
    roots = {grant.place.path for grant in found.grants if grant.access == "write"} | {found.cwd}
    for guard in found.guards:
        is_real = guard.place.kind in ("file", "other") or (guard.place.kind == "directory" and guard.role != "gitdir")
        if is_real and guard.place.path not in roots:
            assert access_at(confinement, guard.place.path) != "write"
        for link in guard.place.links:
            assert access_at(confinement, link) != "write"


@given(_surveys)
def test_entries_are_unique_ordered_and_never_the_root_directory(found: Survey) -> None:
    confinement = plan(_RULES, found)
    paths = [entry.path for entry in confinement.entries]
    depths = [path.count("/") for path in paths]
    assert depths == sorted(depths)
    assert len({*paths, *confinement.placeholders}) == len(paths) + len(confinement.placeholders)
    assert "/" not in paths


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("/", "read"),
        ("/ws", "write"),
        ("/ws/x", "write"),
        ("/wsx", "read"),
        ("/ws/p", "write"),
        ("/ws/p/x", "write"),
        ("/ws/p/ro/x", "read"),
        ("/ws/p/ro/rw", "write"),
        ("/ws/p/ro/no/x", "none"),
        ("/ws/link", "read"),
        ("/ws/.codex", "read"),
        ("/ws/.codex/config.toml", "read"),
        ("/ws/run/x", "none"),
    ],
)
def test_access_at_is_what_the_deepest_entry_says(path: str, access: str) -> None:
    table = {
        "/ws": "write",
        "/ws/p": "pin",
        "/ws/p/ro": "read",
        "/ws/p/ro/rw": "write",
        "/ws/p/ro/no": "none",
        "/ws/link": "link",
    }
    confinement = Confinement(
        entries=tuple(Entry(path=path, access=access) for path, access in table.items()),
        placeholders=("/ws/.codex",),
        hidden=("/ws/run",),
    )
    assert access_at(confinement, path) == access


# What a person opens

WORKSPACE = Confinement(
    entries=(
        Entry(path="/ws", access="write"),
        Entry(path="/ws/.git", access="read"),
        Entry(path="/ws/secret", access="none"),
        Entry(path="/ws/.git/hooks", access="read"),
    ),
    placeholders=("/ws/.agents", "/ws/.codex", "/ws/.codexx"),
    ledger="/home/tmp/placeholders",
    not_repositories=("/ws",),
    hidden=("/run/ours",),
    limits=Limits(open_files=7),
)


def test_opened_directory_is_added_in_its_place_and_the_rest_stays() -> None:
    confinement = opened(WORKSPACE, ["/other/a/x", "/b/x"], directories=["/other/a", "/b"])
    top, *deeper = WORKSPACE.entries
    added = [Entry(path=path, access="write") for path in ("/b", "/other/a")]
    assert confinement == WORKSPACE.replace(entries=(added[0], top, added[1], *deeper))


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("/ws/.git", "write"),
        ("/ws/.git/config", "write"),
        ("/ws/.git/hooks/x", "read"),
        ("/ws/secret", "none"),
        ("/ws/.codex/x", "read"),
        ("/a", "read"),
        ("/run/ours/x", "none"),
    ],
)
def test_deepest_protection_stays_below_what_is_opened(path: str, access: str) -> None:
    assert access_at(opened(WORKSPACE, ["/ws/.git/config"], directories=["/ws/.git"]), path) == access
    assert access_at(opened(WORKSPACE, ["/ws/.git/config"], directories=["/ws/.git", "/ws"]), path) == access


def test_protected_directory_is_open_once_it_is_named_itself_but_never_a_hidden_one() -> None:
    confinement = opened(WORKSPACE, ["/ws/.git/hooks/x"], directories=["/ws/.git/hooks", "/run/ours"])
    assert access_at(confinement, "/ws/.git/hooks/x") == "write"
    assert access_at(confinement, "/ws/.git/config") == "read"
    assert access_at(confinement, "/run/ours/x") == "none"


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/ws/.codex/a/b/c", ("/ws/.agents", "/ws/.codexx")),
        ("/ws/.codex", ("/ws/.agents", "/ws/.codexx")),
        ("/ws/.codexx/x", ("/ws/.agents", "/ws/.codex")),
        ("/ws", WORKSPACE.placeholders),
    ],
)
def test_nothing_stands_in_for_a_name_on_the_way(path: str, left: tuple[str, ...]) -> None:
    assert opened(WORKSPACE, [path], directories=["/ws"]) == WORKSPACE.replace(placeholders=left)


def test_nothing_changes_where_nothing_is_to_be_opened() -> None:
    unconfined = WORKSPACE.replace(unconfined_because="danger-full-access")
    assert opened(unconfined, ["/ws/.codex/x"], directories=["/ws"]) == unconfined
    assert opened(WORKSPACE, [], directories=[]) == WORKSPACE


def test_protected_file_is_open_once_it_is_named_itself() -> None:
    """Of a worktree, `.git` is a file."""
    assert access_at(opened(WORKSPACE, ["/ws/.git"], directories=["/ws"]), "/ws/.git") == "write"


def test_root_and_guarded_directories_are_not_opened() -> None:
    assert opened(Confinement(), ["/x"], directories=["/"]) == Confinement()
    home = opened(Confinement(), ["/h/a"], directories=["/h"], guarded=["/h/.codex"])
    assert (access_at(home, "/h/a"), access_at(home, "/h/.codex/rules/x")) == ("write", "read")


@given(_surveys, st.lists(_paths, max_size=3), _paths)
def test_opening_gives_what_was_asked_and_takes_nothing(found: Survey, directories: list[str], path: str) -> None:
    order = ["none", "read", "write"]
    before = plan(_RULES, found)
    after = opened(before, [f"{directory}/x" for directory in directories], directories=directories)
    assert all(access_at(after, directory) == "write" for directory in directories)
    assert order.index(access_at(after, path)) >= order.index(access_at(before, path))
    if not any(f"{path}/".startswith(f"{directory}/") for directory in directories):
        dropped = {*before.placeholders} - {*after.placeholders}
        assert access_at(after, path) == access_at(before, path) or any(path.startswith(name) for name in dropped)
    paths = [entry.path for entry in after.entries]
    assert paths == sorted({*paths}, key=lambda each: (each.count("/"), each))
