"""Where, when and with which shell."""

import os
import re
from pathlib import Path

import pytest

from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.context.environment import (
    date_and_timezone,
    environment_context,
    shell_for,
    timezone_name,
    user_shell,
)
from support.turns import PLAIN_TURN


def test_full_form() -> None:
    assert environment_context(PLAIN_TURN, cwd="/w", subagents=["b: Ada", "a: Grace"]) == (
        "<environment_context>\n"
        "  <cwd>/w</cwd>\n"
        "  <shell>bash</shell>\n"
        "  <current_date>2026-01-02</current_date>\n"
        "  <timezone>Etc/UTC</timezone>\n"
        "  <subagents>\n"
        "    - a: Grace\n"
        "    - b: Ada\n"
        "  </subagents>\n"
        "</environment_context>"
    )


def test_form_without_a_directory() -> None:
    assert environment_context(PLAIN_TURN, cwd=None) == (
        "<environment_context>\n"
        "  <shell>bash</shell>\n"
        "  <current_date>2026-01-02</current_date>\n"
        "  <timezone>Etc/UTC</timezone>\n"
        "</environment_context>"
    )


@pytest.fixture
def zoneinfo(tmp_path: Path) -> Path:
    folder = tmp_path / "zoneinfo"
    for name in ("Europe/Berlin", "Etc/GMT+3", "UTC"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("tz", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/posix/Europe/Berlin", "Europe/Berlin"),
        ("Etc/GMT+3", "Etc/GMT+3"),
        ("UTC", "UTC"),
        ("CET-1CEST", None),
        ("Nope/Zone", None),
        ("../../etc/passwd", None),
        ("Europe", None),
    ],
)
def test_tz_decides_alone(zoneinfo: Path, tz: str, name: str | None) -> None:
    (zoneinfo / "localtime").symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert timezone_name({"TZ": tz}, localtime=f"{zoneinfo}/localtime", zoneinfo=str(zoneinfo)) == name


@pytest.mark.parametrize(
    ("link", "line", "name"),
    [
        ("/usr/share/zoneinfo/Asia/Tokyo", "Europe/Berlin\n", "Asia/Tokyo"),
        ("../usr/share/zoneinfo/Asia/Tokyo", None, "Asia/Tokyo"),
        (None, "Europe/Berlin\n", "Europe/Berlin"),
        ("/somewhere/else", "Europe/Berlin", "Europe/Berlin"),
        (None, "<script>\n", None),
        (None, "A" * 100, None),
        (None, None, None),
    ],
)
def test_machine_settings_are_used_without_tz(
    tmp_path: Path, link: str | None, line: str | None, name: str | None
) -> None:
    if link is not None:
        (tmp_path / "localtime").symlink_to(link)
    if line is not None:
        (tmp_path / "timezone").write_text(line)
    assert timezone_name({}, localtime=f"{tmp_path}/localtime", timezone=f"{tmp_path}/timezone") == name


def test_a_zone_without_a_name_is_told_as_utc() -> None:
    date, zone = date_and_timezone({"TZ": "Nope/Zone"})
    assert zone == "Etc/UTC"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return str(path)


@pytest.mark.parametrize(("file", "name"), [("bash", "bash"), ("zsh", "zsh"), ("sh", "sh"), ("pwsh", "powershell")])
def test_known_login_shell_is_taken(tmp_path: Path, file: str, name: str) -> None:
    login = program(tmp_path / file)
    assert shell_for(login, "/nowhere") == Shell(name, login)


@pytest.mark.parametrize("login", ["fish", "missing/bash", ""])
def test_unknown_or_missing_login_shell_is_replaced_from_the_path(tmp_path: Path, login: str) -> None:
    program(tmp_path / "fish")
    bash = program(tmp_path / "bin" / "bash")
    assert shell_for(str(tmp_path / login), f"relative:{tmp_path}/bin") == Shell("bash", bash)


def test_relative_entries_of_the_path_choose_no_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bash")
    monkeypatch.chdir(tmp_path)
    assert os.path.isabs(shell_for("", ".").path)


def test_shell_is_not_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = user_shell()
    monkeypatch.setenv("SHELL", "/bin/zsh" if before.name != "zsh" else "/bin/bash")
    assert user_shell() == before
