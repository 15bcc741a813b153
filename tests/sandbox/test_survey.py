"""What a survey sees on a real disk, and that nothing on it can stall or mislead the survey."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.sandbox.disk import MAX_POINTER_BYTES, Place
from pycodex.sandbox.survey import PLATFORM_PATHS, Guard, Survey, survey

WRITE = Permissions(mode="workspace-write", exclude_slash_tmp=True)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def ws(base: Path) -> Path:
    (base / "ws").mkdir()
    return base / "ws"


def look(cwd: Path | str, permissions: Permissions = WRITE, *, home: str = "", **env: str) -> Survey:
    return survey(permissions, cwd=str(cwd), env=env, codex_home=home)


def roots(found: Survey) -> list[tuple[str, str]]:
    return [(grant.origin, grant.place.path) for grant in found.grants if grant.access == "write"]


def guard_of(found: Survey, path: Path, role: str = "name") -> Guard:
    [guard] = [guard for guard in found.guards if guard.path == str(path) and guard.role == role]
    return guard


def led_to(found: Survey, role: str) -> list[tuple[str, str]]:
    return [(guard.place.path, guard.place.kind) for guard in found.guards if guard.role == role]


def make_git_dir(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


# Roots


def test_roots_come_in_order_resolved(base: Path, ws: Path) -> None:
    for name in ("extra", "tmp", "home/memories"):
        (base / name).mkdir(parents=True)
    (base / "alias").symlink_to(base / "extra")
    permissions = Permissions(mode="workspace-write", writable_roots=(str(base / "alias"), str(base / "missing")))
    found = look(ws, permissions, home=str(base / "home"), TMPDIR=str(base / "tmp"))
    assert roots(found) == [
        ("configured", str(base / "extra")),
        ("configured", str(base / "missing")),
        ("cwd", str(ws)),
        ("slash_tmp", os.path.realpath("/tmp")),
        ("tmpdir", str(base / "tmp")),
        ("memories", str(base / "home/memories")),
    ]
    assert found.grants[0].place.links == (str(base / "alias"),)
    assert found.grants[1].place.kind == "missing"


@pytest.mark.parametrize(
    ("permissions", "origins"),
    [
        (Permissions(mode="workspace-write"), ["cwd", "slash_tmp", "tmpdir"]),
        (Permissions(mode="workspace-write", exclude_slash_tmp=True), ["cwd", "tmpdir"]),
        (Permissions(mode="workspace-write", exclude_tmpdir_env_var=True), ["cwd", "slash_tmp"]),
        (Permissions(mode="read-only"), []),
        (Permissions(mode="danger-full-access"), []),
        (Permissions(mode="external-sandbox"), []),
    ],
)
def test_which_roots_a_mode_has(ws: Path, permissions: Permissions, origins: list[str]) -> None:
    assert [origin for origin, _ in roots(look(ws, permissions, TMPDIR=str(ws)))] == origins


@pytest.mark.parametrize("tmpdir", ["", "relative", "./x"])
def test_a_tmpdir_that_is_not_absolute_is_ignored(ws: Path, tmpdir: str) -> None:
    assert [origin for origin, _ in roots(look(ws, TMPDIR=tmpdir))] == ["cwd"]


def test_cwd_through_a_link_is_the_real_directory(base: Path, ws: Path) -> None:
    (base / "alias").symlink_to("ws")
    found = look(base / "alias")
    assert found.cwd == str(ws)
    assert found.grants[0].place == Place(path=str(ws), kind="directory", links=(str(base / "alias"),))


def test_restricted_reads_name_readable_roots_cwd_and_platform(base: Path, ws: Path) -> None:
    permissions = Permissions(
        mode="read-only", restricted_read=True, platform_defaults=True, readable_roots=(str(base),)
    )
    asked = [grant.asked for grant in look(ws, permissions).grants]
    assert asked == [str(base), str(ws), *PLATFORM_PATHS]


def test_special_places_of_rules(base: Path, ws: Path) -> None:
    rules = (
        FsRule(special="root", access="read"),
        FsRule(special="current_working_directory", access="write"),
        FsRule(special="project_roots", subpath="docs/api", access="none"),
        FsRule(special="tmpdir", access="write"),
        FsRule(special="slash_tmp", access="read"),
        FsRule(special="unheard_of", access="write"),
        FsRule(path=str(base), access="none"),
    )
    found = look(ws, Permissions(mode="workspace-write", rules=rules), TMPDIR=str(base))
    assert [(grant.asked, grant.origin, grant.access) for grant in found.grants] == [
        ("/", "configured", "read"),
        (str(ws), "cwd", "write"),
        (f"{ws}/docs/api", "configured", "none"),
        (str(base), "tmpdir", "write"),
        ("/tmp", "slash_tmp", "read"),
        (str(base), "configured", "none"),
    ]
    assert found.grants[2].place == Place(path=f"{ws}/docs", kind="missing")


# Working directories and paths that cannot be used


@pytest.mark.parametrize(
    ("cwd", "told"),
    [
        ("relative/dir", "'relative/dir' is not an absolute path"),
        ("", "'' is not an absolute path"),
        ("{ws}/gone", "gone' does not exist; create it or choose another with -C"),
        ("{ws}/file", "file' is not a directory"),
        ("{ws}/file/x", "file/x' is not a directory"),
        ("{ws}/loop", "loop' is not a directory"),
        ("{ws}/line\nbreak", r"line\\nbreak' does not exist"),
        ("{ws}/nul\0", "NUL"),
        ("{ws}/\udcff", r"udcff' is not valid UTF-8"),
        ("{ws}/\ud800", r"ud800' is not valid UTF-8"),
    ],
)
@pytest.mark.parametrize("mode", ["read-only", "workspace-write", "danger-full-access"])
def test_unusable_cwd_is_one_clear_line(ws: Path, cwd: str, told: str, mode: str) -> None:
    (ws / "file").touch()
    (ws / "loop").symlink_to("loop")
    with pytest.raises(UserFacing, match=told) as refusal:
        look(cwd.replace("{ws}", str(ws)), Permissions(mode=mode))
    assert "\n" not in str(refusal.value)


def _in_child_without_privilege(work: Callable[[], str]) -> str:
    """The text that `work` returns in a process of an ordinary user."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read().decode()
    os.waitpid(pid, 0)
    return told


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o100])
def test_unreadable_cwd_is_refused_for_ordinary_users(ws: Path, mode: int) -> None:
    def work() -> str:
        try:
            return repr(look(ws))
        except UserFacing as error:
            return str(error)

    ws.chmod(mode)
    try:
        told = _in_child_without_privilege(work)
    finally:
        ws.chmod(0o755)
    assert told == f"working directory '{ws}' cannot be read and entered by this user; choose another with -C/--cd"


def test_a_name_that_the_user_could_not_create_either_is_absent_not_missing() -> None:
    read_only = Permissions(mode="workspace-write", exclude_slash_tmp=True, writable_roots=("/usr/share",))
    told = _in_child_without_privilege(lambda: repr(look("/usr", read_only).guards))
    assert "path='/usr/.codex', kind='absent'" in told
    assert "path='/usr/share/.git', kind='absent'" in told


@pytest.mark.parametrize(
    "permissions",
    [
        Permissions(mode="workspace-write", writable_roots=("some/where",)),
        Permissions(mode="workspace-write", writable_roots=("/x\udcff",)),
        Permissions(mode="read-only", restricted_read=True, readable_roots=("./x",)),
        Permissions(mode="read-only", rules=(FsRule(path="x\0", access="read"),)),
    ],
)
def test_unusable_paths_of_permissions_are_named(ws: Path, permissions: Permissions) -> None:
    with pytest.raises(UserFacing, match=r"some/where|udcff|\./x|x.x00"):
        look(ws, permissions)


def test_unusable_home_and_tmpdir_are_named(ws: Path) -> None:
    with pytest.raises(UserFacing, match="CODEX_HOME 'rel'"):
        look(ws, home="rel")
    with pytest.raises(UserFacing, match=r"TMPDIR '/.udcff'"):
        look(ws, TMPDIR="/\udcff")


def test_paths_with_newlines_spaces_and_accents_work(base: Path) -> None:
    odd = base / "a\nb \té"
    (odd / ".git").mkdir(parents=True)
    found = look(odd)
    assert found.cwd == str(odd)
    assert guard_of(found, odd / ".git").place.kind == "directory"


def test_survey_is_plain_data(ws: Path) -> None:
    (ws / ".git").symlink_to("elsewhere")
    found = look(ws, Permissions(mode="workspace-write", network_access=True), home=str(ws))
    assert Survey.from_plain(found.to_plain()) == found


# Protected names


def test_names_are_looked_at_in_every_root(base: Path, ws: Path) -> None:
    (base / "extra/.agents").mkdir(parents=True)
    (ws / ".git").mkdir()
    (ws / ".codex").touch()
    found = look(ws, WRITE.replace(writable_roots=(str(base / "extra"),)))
    assert {guard.path: guard.place.kind for guard in found.guards if guard.role == "name"} == {
        f"{base}/extra/.git": "missing",
        f"{base}/extra/.codex": "missing",
        f"{base}/extra/.agents": "directory",
        f"{ws}/.git": "directory",
        f"{ws}/.codex": "file",
        f"{ws}/.agents": "missing",
    }


def test_read_only_looks_at_no_names(ws: Path) -> None:
    (ws / ".git").write_text("gitdir: /somewhere")
    assert look(ws, Permissions(mode="read-only")).guards == ()


@pytest.mark.parametrize(
    ("content", "leads_to"),
    [
        (b"gitdir: ../store", "store"),
        (b"gitdir: ../store\n", "store"),
        (b"gitdir:../store\r\n\n", "store"),
        (b"gitdir:    ../store  ", "store"),
        (b"anything: ../store", "store"),
        (b"gitdir: ../store/./../store//", "store"),
        (b"gitdir: ../store\0garbage", "store"),
        (b"gitdir: ../store" + b"\n" * MAX_POINTER_BYTES, "store"),
    ],
)
def test_git_file_is_followed(base: Path, ws: Path, content: bytes, leads_to: str) -> None:
    make_git_dir(base / "store")
    (ws / ".git").write_bytes(content)
    assert (str(base / leads_to), "directory") in led_to(look(ws), "gitdir")


@pytest.mark.parametrize("content", [b"", b"gitdir", b"gitdir:", b"gitdir: \n", b"gitdir:\0x", b"x" * (1 << 20)])
def test_git_file_that_points_nowhere_is_just_a_file(ws: Path, content: bytes) -> None:
    (ws / ".git").write_bytes(content)
    found = look(ws)
    assert guard_of(found, ws / ".git").place.kind == "file"
    assert led_to(found, "gitdir") == []


def test_a_name_that_ends_in_space_is_followed_as_git_would(base: Path, ws: Path) -> None:
    make_git_dir(base / "store ")
    (ws / ".git").write_text("gitdir: ../store \n")
    assert (str(base / "store "), "directory") in led_to(look(ws), "gitdir")


def test_worktree_leads_to_its_gitdir_and_the_common_one(base: Path, ws: Path) -> None:
    main = make_git_dir(base / "main/.git")
    own = make_git_dir(main / "worktrees/ws")
    (own / "commondir").write_text("../..\n")
    (ws / ".git").write_text(f"gitdir: {own}\n")
    assert led_to(look(ws), "gitdir") == [(str(own), "directory"), (str(main), "directory")]


def test_git_directory_with_a_commondir_file(base: Path, ws: Path) -> None:
    make_git_dir(ws / ".git")
    make_git_dir(base / "shared")
    (ws / ".git/commondir").write_text(str(base / "shared"))
    assert led_to(look(ws), "gitdir") == [(str(base / "shared"), "directory")]


def test_common_directories_that_name_each_other_end(ws: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (make_git_dir(ws / name) / "commondir").write_text(f"../{other}")
    (ws / ".git").write_text("gitdir: a")
    assert led_to(look(ws), "gitdir") == [(str(ws / "a"), "directory"), (str(ws / "b"), "directory")]


def test_gitdir_without_head_is_told_apart(ws: Path) -> None:
    (ws / "src").mkdir()
    (ws / ".git").write_text("gitdir: src")
    assert not guard_of(look(ws), ws / "src", "gitdir").is_git


def test_linked_config_and_hooks_are_followed(ws: Path) -> None:
    make_git_dir(ws / ".git")
    (ws / "tracked").mkdir()
    (ws / ".git/hooks").symlink_to("../tracked")
    (ws / ".git/config").symlink_to("../gitconfig")
    (ws / ".codex").mkdir()
    (ws / ".codex/config.toml").symlink_to("../settings.toml")
    assert led_to(look(ws), "inner") == [
        (str(ws / "gitconfig"), "missing"),
        (str(ws / "tracked"), "directory"),
        (str(ws / "settings.toml"), "missing"),
    ]


@pytest.fixture
def bound_socket(ws: Path) -> Iterator[Path]:
    with socket.socket(socket.AF_UNIX) as listener:
        home = os.open(".", os.O_RDONLY)
        os.chdir(ws)
        try:
            listener.bind(".git")
        finally:
            os.fchdir(home)
            os.close(home)
        yield ws


def test_socket_in_place_of_git_does_not_stall(bound_socket: Path) -> None:
    assert guard_of(look(bound_socket), bound_socket / ".git").place.kind == "other"


@pytest.mark.parametrize("name", [".git", ".codex", ".agents"])
def test_fifo_in_place_of_a_name_does_not_stall(ws: Path, name: str) -> None:
    os.mkfifo(ws / name)
    assert guard_of(look(ws), ws / name).place.kind == "other"


def test_fifo_in_place_of_commondir_does_not_stall(ws: Path) -> None:
    make_git_dir(ws / ".git")
    os.mkfifo(ws / ".git/commondir")
    assert led_to(look(ws), "gitdir") == []


def test_device_behind_a_link_is_not_read(ws: Path) -> None:
    (ws / ".git").symlink_to("/dev/zero")
    assert guard_of(look(ws), ws / ".git").place == Place(path="/dev/zero", kind="other", links=(str(ws / ".git"),))


def test_huge_git_file_is_read_to_the_cap_only(ws: Path) -> None:
    with (ws / ".git").open("wb") as file:
        file.seek(MAX_POINTER_BYTES)
        file.write(b"gitdir: beyond")
        file.truncate(1 << 40)
    assert led_to(look(ws), "gitdir") == []


# Links


def test_chain_of_links_is_followed_and_told(base: Path, ws: Path) -> None:
    (ws / "a").mkdir()
    (ws / "a/inner").symlink_to("../b/../.real")
    (ws / "b").mkdir()
    make_git_dir(ws / ".real")
    (ws / ".git").symlink_to(ws / "a/inner")
    assert guard_of(look(ws), ws / ".git").place == Place(
        path=str(ws / ".real"),
        kind="directory",
        links=(str(ws / ".git"), str(ws / "a/inner")),
        through=(str(ws / "a"), str(ws / "b")),
    )


@pytest.mark.parametrize("target", [".git", "./.codex", "x/" * 600, "file/x", "file/.."])
def test_ways_that_lead_nowhere_are_broken(ws: Path, target: str) -> None:
    (ws / ".git").symlink_to(target)
    (ws / ".codex").symlink_to(".git")
    (ws / "file").touch()
    (ws / "x").symlink_to(".")
    assert guard_of(look(ws), ws / ".git").place.kind == "broken"


def test_dangling_link_tells_the_first_missing_name(ws: Path) -> None:
    (ws / ".codex").symlink_to("no/such/place")
    assert guard_of(look(ws), ws / ".codex").place == Place(
        path=str(ws / "no"), kind="missing", links=(str(ws / ".codex"),)
    )


@pytest.mark.parametrize("make", ["link", "pointer"])
def test_targets_that_are_not_utf8_are_refused(ws: Path, make: str) -> None:
    if make == "link":
        os.symlink(b"\xff", os.fsencode(ws / ".git"))
    else:
        (ws / ".git").write_bytes(b"gitdir: \xff")
    with pytest.raises(UserFacing, match=r"\.git.*udcff' is not valid UTF-8"):
        look(ws)


# CODEX_HOME


@pytest.mark.parametrize("network", [False, True])
def test_secrets_are_looked_at_when_they_could_leave(base: Path, ws: Path, network: bool) -> None:
    (base / "home").mkdir()
    (base / "home/auth.json").touch()
    found = look(ws, WRITE.replace(network_access=network), home=str(base / "home"))
    secrets = (
        Place(path=f"{base}/home/auth.json", kind="file"),
        Place(path=f"{base}/home/.credentials.json", kind="missing"),
        Place(path=f"{base}/home/app-server-token", kind="missing"),
    )
    assert found.secrets == (secrets if network else ())


def test_home_is_resolved_if_it_exists(base: Path, ws: Path) -> None:
    (base / "home").mkdir()
    (base / "alias").symlink_to("home")
    assert look(ws, home=str(base / "alias")).codex_home == str(base / "home")
    assert look(ws, home=str(base / "no/where")).codex_home == str(base / "no/where")


def test_directory_with_content_is_no_placeholder_whatever_its_mode(tmp_path: Path) -> None:
    """A command can give any directory of its own that mode; what lies below must not be taken for missing."""
    ws = tmp_path / "ws"
    (ws / ".git").mkdir(parents=True)
    (ws / ".git" / "HEAD").touch()
    (ws / ".git").chmod(PLACEHOLDER_MODE)
    (ws / ".codex").mkdir(mode=0o755)
    (ws / ".agents").mkdir()
    (ws / ".agents").chmod(PLACEHOLDER_MODE)
    found = survey(Permissions(mode="workspace-write"), cwd=str(ws), env={}, codex_home="", installation=())
    kinds = {
        os.path.basename(guard.path): guard.place.kind for guard in found.guards if guard.path.startswith(f"{ws}/")
    }
    assert (kinds[".git"], kinds[".codex"], kinds[".agents"]) == ("directory", "directory", "missing")
