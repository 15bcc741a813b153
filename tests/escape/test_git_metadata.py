"""Nothing that runs or steers code outside later can be left behind: git's files, `.codex`, `.agents`."""

import os
import shutil

import pytest

from support.escape.attack import Attack, attacker_argv, confined, finish, prove, run, start, stop
from support.escape.fingerprint import fingerprint
from support.escape.world import (
    MODES,
    READ_ONLY,
    WITH_NETWORK,
    WORKSPACE_WRITE,
    Mode,
    World,
    changes,
    git,
    make_repository,
)

FAMILY = "git_metadata"
WRITABLE = (WORKSPACE_WRITE, WITH_NETWORK)
IN_REPOSITORY = [
    Attack("append_config", "G01"),
    Attack("git_config", "G01"),
    Attack("add_hook", "G02"),
    Attack("write_gitdir", "G02"),
    Attack("git_commit", "G02"),
    Attack("replace_directory", "G03"),
    Attack("change_mode", "G14"),
    Attack("hardlink_and_write", "G17"),
    Attack("rename_into_workspace", "G17"),
    Attack("reopen_descriptor", "G18"),
    Attack("through_aliases", "G18"),
    Attack("uncover", "G19", never="it would mount on the host"),
]
WITHOUT_NAMES = [
    Attack("create_codex_config", "G04"),
    Attack("create_agents_skill", "G05"),
    Attack("git_init", "G06"),
    Attack("replace_protected_names", "G04"),
]
IN_WORKTREE = [
    Attack("write_gitdir", "G08"),
    Attack("write_pointer", "G11"),
    Attack("append_config", "G12"),
    Attack("add_hook", "G12"),
]
ACCEPTED = [
    Attack("write_nested_repository", "G07", harmless_inside=True),
    Attack("case_variant", "G15", harmless_inside=True),
]


@pytest.fixture
def bare_workspace(world: World) -> World:
    """A workspace in which none of the protected names exists."""
    shutil.rmtree(world.ws / ".git")
    return world


@pytest.fixture
def worktree(world: World) -> World:
    """A worktree whose repository lies in another writable root, where nothing but the link gives it away."""
    main = world.scratch / "main"
    make_repository(main)
    shutil.rmtree(world.ws)
    git("worktree", "add", "-q", "-b", "side", str(world.ws), cwd=main)
    gitdir, commondir = main / ".git" / "worktrees" / "ws", main / ".git"
    world.extra |= {"gitdir": str(gitdir), "commondir": str(commondir)}
    world.watch(commondir)
    return world


@pytest.mark.parametrize("attack", IN_REPOSITORY, ids=str)
class TestRepository:
    def test_works_without_a_sandbox(self, world: World, attack: Attack) -> None:
        prove(world, FAMILY, attack)

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_is_stopped(self, world: World, attack: Attack, mode: Mode) -> None:
        stop(world, FAMILY, attack, mode)


@pytest.mark.parametrize("attack", WITHOUT_NAMES, ids=str)
class TestMissingNames:
    def test_works_without_a_sandbox(self, bare_workspace: World, attack: Attack) -> None:
        if attack.name == "replace_protected_names":
            (bare_workspace.ws / ".codex").mkdir()
        prove(bare_workspace, FAMILY, attack)

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_is_stopped(self, bare_workspace: World, attack: Attack, mode: Mode) -> None:
        stop(bare_workspace, FAMILY, attack, mode)


@pytest.mark.parametrize("attack", IN_WORKTREE, ids=str)
class TestWorktree:
    def test_works_without_a_sandbox(self, worktree: World, attack: Attack) -> None:
        prove(worktree, FAMILY, attack)

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_is_stopped(self, worktree: World, attack: Attack, mode: Mode) -> None:
        stop(worktree, FAMILY, attack, mode)


@pytest.mark.parametrize("attack", ACCEPTED, ids=str)
def test_is_accepted_in_the_workspace_but_not_read_only(world: World, attack: Attack) -> None:
    make_repository(world.ws / "nested")
    shutil.move(world.ws / "nested" / ".git", world.ws / "sub" / ".git")
    refused = stop(world, FAMILY, attack, READ_ONLY)
    assert not refused.achieved
    assert stop(world, FAMILY, attack, WORKSPACE_WRITE).achieved


@pytest.mark.parametrize("mode", WRITABLE, ids=str)
@pytest.mark.parametrize("name", ["overwrite_codex_config", "replace_protected_names"])
def test_existing_settings_of_a_project_stay(world: World, name: str, mode: Mode) -> None:
    for folder in (".codex", ".agents"):
        (world.ws / folder).mkdir()
        (world.ws / folder / "config.toml").write_text("# ours\n", encoding="ascii")
    stop(world, FAMILY, Attack(name), mode)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_ancestor_of_a_workspace_below_tmp_can_be_renamed(world: World, mode: Mode) -> None:
    """The whole of /tmp is writable, but what holds the workspace must stay where it is."""
    ancestor = world.scratch / "a"
    (ancestor / "b").mkdir(parents=True)
    shutil.move(world.ws, ancestor / "b" / "ws")
    world.ws = ancestor / "b" / "ws"
    world.extra["ancestor"] = str(ancestor)
    world.watch(world.ws / ".git")
    stop(world, FAMILY, Attack("rename_ancestor", "G20"), mode)


@pytest.mark.parametrize("attack", IN_REPOSITORY[:3], ids=str)
def test_other_writable_roots_are_protected_alike(world: World, attack: Attack) -> None:
    other = world.base / "other"
    make_repository(other)
    world.watch(other / ".git")
    world.extra |= {"gitdir": str(other / ".git"), "commondir": str(other / ".git"), "target": str(other)}
    roots = Mode("roots", ("--full-auto", "-c", f'sandbox_workspace_write.writable_roots=["{other}"]'))
    stop(world, FAMILY, attack, roots)
    written = run(world, confined(world, roots, attacker_argv("writes", "create", world)))
    assert written.achieved, written


def test_a_writable_parent_does_not_free_the_workspace(world: World) -> None:
    """The workspace is named as a root of its own and lies in another."""
    world.extra["ancestor"] = str(world.ws)
    roots = Mode("parent", ("--full-auto", "-c", f'sandbox_workspace_write.writable_roots=["{world.base}"]'))
    before = fingerprint(world.ws / ".git")
    for name in ("rename_ancestor", "append_config", "add_hook", "replace_directory"):
        outcome = run(world, confined(world, roots, attacker_argv(FAMILY, name, world)))
        assert not outcome.achieved, outcome
    assert fingerprint(world.ws / ".git") == before


def test_a_workspace_reached_by_a_link_is_protected_alike(world: World) -> None:
    link = world.base / "link"
    link.symlink_to(world.ws)
    command = confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "append_config", world))
    before = world.observe(WORKSPACE_WRITE)
    outcome = run(world, command, cwd=link)
    assert not outcome.achieved, outcome
    assert changes(before, world.observe(WORKSPACE_WRITE)) == []


BORROWING = {
    "hook that is a link": (".git/hooks/pre-commit", "../../tools/deep/it", ""),
    "directory of hooks elsewhere": ("", "", "[core]\n\thooksPath = tools/deep\n"),
    "husky": ("", "", "[core]\n\thooksPath = tools/deep/_\n"),
    "included file": ("", "", "[include]\n\tpath = ../tools/deep/it\n"),
    "conditionally included file": ("", "", '[includeIf "onbranch:main"]\n\tpath = ../tools/deep/it\n'),
    "rules that are a link": (".codex/rules/it.rules", "../../tools/deep/it", ""),
    "settings that are a link": (".codex/hooks.json", "../tools/deep/it", ""),
    "skills that are a link": (".agents/skills", "../tools/deep", ""),
}


def borrow(world: World, link: str, destination: str, config: str) -> None:
    (world.ws / "tools" / "deep" / "_").mkdir(parents=True)
    file = world.ws / "tools" / "deep" / "it"
    file.write_text("#!/bin/sh\n", encoding="ascii")
    world.extra["borrowed"] = [str(file)]
    if link:
        (world.ws / link).parent.mkdir(parents=True, exist_ok=True)
        (world.ws / link).symlink_to(destination)
    with (world.ws / ".git" / "config").open("a", encoding="ascii") as settings:
        settings.write(config)
    world.watch(world.ws / "tools")


@pytest.mark.parametrize("how", BORROWING.values(), ids=BORROWING.keys())
class TestBorrowed:
    """G21: files of the workspace that a protected one leads to."""

    def test_works_without_a_sandbox(self, world: World, how: tuple[str, str, str]) -> None:
        borrow(world, *how)
        prove(world, FAMILY, Attack("write_borrowed", "G21"))

    @pytest.mark.parametrize("mode", WRITABLE, ids=str)
    def test_is_stopped(self, world: World, how: tuple[str, str, str], mode: Mode) -> None:
        borrow(world, *how)
        before = fingerprint(world.ws / "tools" / "deep" / "it")
        run(world, confined(world, mode, attacker_argv(FAMILY, "write_borrowed", world)))
        assert fingerprint(world.ws / "tools" / "deep" / "it") == before
        assert not (world.ws / "tools.moved").exists()


def test_what_a_dangling_hook_waits_for_cannot_be_made(world: World) -> None:
    (world.ws / ".git" / "hooks" / "pre-commit").symlink_to("../../tools/hook")
    world.extra["dangling"] = str(world.ws / "tools" / "hook")
    world.watch(world.ws / "tools")
    stop(world, FAMILY, Attack("create_borrowed", "G21"), WORKSPACE_WRITE)
    prove(world, FAMILY, Attack("create_borrowed", "G21"))


def test_git_works_with_borrowed_files(world: World) -> None:
    borrow(world, "", "", "[include]\n\tpath = ../tools/deep/it\n[core]\n\thooksPath = tools/deep\n")
    (world.ws / "tools" / "deep" / "it").write_text("[alias]\n\tst = status --short\n", encoding="ascii")
    process = start(world, confined(world, WORKSPACE_WRITE, ["git", "st"]))
    assert (finish(process)[1], process.returncode) == (b"", 0)


LINKS = {
    "directory in the workspace": "real",
    "directory outside": "../out",
    "nothing": "nowhere",
    "itself": ".git",
    "absolute": "/nonexistent/pycodex-escape",
}


@pytest.mark.parametrize("name", [".git", ".codex", ".agents"])
@pytest.mark.parametrize("destination", LINKS.values(), ids=LINKS.keys())
def test_a_protected_name_that_is_a_link_is_protected_or_refused(world: World, name: str, destination: str) -> None:
    """Either nothing is run and one line says why, or neither the link nor what it leads to changes."""
    if (world.ws / name).exists():
        shutil.move(world.ws / name, world.ws / "real")
    else:
        (world.ws / "real").mkdir()
    (world.ws / name).symlink_to(destination)
    world.watch(world.ws / "real", world.ws / "nowhere")
    world.extra["link"] = str(world.ws / name)
    _stopped_or_refused(world, Attack("redirect_links"))


CONTENTS = {
    "root": b"gitdir: /\n",
    "workspace": b"gitdir: .\n",
    "ancestor": b"gitdir: ../../..\n",
    "outside": b"gitdir: ../out\n",
    "missing": b"gitdir: nowhere/.git/worktrees/x\n",
    "zero byte": b"gitdir: a\0b\n",
    "not text": b"gitdir: \xff\xfe\n",
    "no colon": b"nothing of the kind\n",
    "empty": b"",
    "long": b"gitdir: " + b"x" * 100_000,
    "deep": b"gitdir: " + b"x/" * 3_000,
    "itself": b"gitdir: .git\n",
    "device": b"gitdir: /dev/zero\n",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_a_hostile_pointer_file_neither_breaks_nor_opens_anything(world: World, content: bytes) -> None:
    shutil.rmtree(world.ws / ".git")
    (world.ws / ".git").write_bytes(content)
    _stopped_or_refused(world, Attack("write_pointer"))


def test_a_pointer_to_hostile_metadata_neither_hangs_nor_opens_anything(world: World) -> None:
    """The directory that `.git` names belongs to the attacker as well, and so does its `commondir`."""
    shutil.rmtree(world.ws / ".git")
    (world.ws / "fake").mkdir()
    os.mkfifo(world.ws / "fake" / "commondir")
    (world.ws / ".git").write_bytes(b"gitdir: fake\n")
    _stopped_or_refused(world, Attack("write_pointer"))


def test_a_fifo_in_place_of_git_does_not_hang(world: World) -> None:
    shutil.rmtree(world.ws / ".git")
    os.mkfifo(world.ws / ".git")
    _stopped_or_refused(world, Attack("replace_directory"))


def test_a_giant_pointer_file_is_not_read_whole(world: World) -> None:
    shutil.rmtree(world.ws / ".git")
    with (world.ws / ".git").open("wb") as file:
        file.write(b"gitdir: ")
        file.truncate(8 << 30)
    _stopped_or_refused(world, Attack("write_pointer"))


def _stopped_or_refused(world: World, attack: Attack) -> None:
    """A refusal is one line on stderr and exit code 1, before anything was run."""
    before = world.observe(WORKSPACE_WRITE)
    probe = start(world, confined(world, WORKSPACE_WRITE, ["/bin/echo", "ran"]))
    out, err = finish(probe)
    if out != b"ran\n":
        lines = err.decode().splitlines()
        assert (probe.returncode, len(lines)) == (1, 1), err.decode()
        assert lines[0].startswith("Error: "), lines
        assert changes(before, world.observe(WORKSPACE_WRITE)) == []
        return
    stop(world, FAMILY, attack, WORKSPACE_WRITE)
