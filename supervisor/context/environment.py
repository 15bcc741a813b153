"""Where and when the conversation takes place: directory, shell, date and time zone.

Owns how these are found on this machine and the form in which the model is told. Cheap: it runs before the first
request.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping

from pycodex.protocol.turn_context import Shell, TurnContext

UNKNOWN_TIMEZONE = "Etc/UTC"
OPEN = "<environment_context>"
CLOSE = "</environment_context>"

_ZONEINFO = "zoneinfo/"
_ZONEINFO_DIR = "/usr/share/zoneinfo"
_LOCALTIME = "/etc/localtime"
_TIMEZONE = "/etc/timezone"
_LONGEST_ZONE = 64
_SHELLS = {"bash": "bash", "zsh": "zsh", "sh": "sh", "pwsh": "powershell", "powershell": "powershell", "cmd": "cmd"}


def environment_context(turn: TurnContext, *, cwd: str | None, subagents: Iterable[str] = ()) -> str:
    """The whole fragment. `cwd` is None where the model knows it already; `subagents` are lines about live ones."""
    lines = [OPEN]
    if cwd is not None:
        lines.append(f"  <cwd>{cwd}</cwd>")
    lines += (
        f"  <shell>{turn.shell.name}</shell>",
        f"  <current_date>{turn.current_date}</current_date>",
        f"  <timezone>{turn.timezone}</timezone>",
    )
    named = sorted(subagents)
    if named:
        lines += ("  <subagents>", *(f"    - {line}" for line in named), "  </subagents>")
    return "\n".join((*lines, CLOSE))


def date_and_timezone(env: Mapping[str, str]) -> tuple[str, str]:
    """Today's date here and the name of the time zone; both of UTC where the zone has no name."""
    zone = timezone_name(env)
    now = time.gmtime() if zone is None else time.localtime()
    return time.strftime("%Y-%m-%d", now), zone or UNKNOWN_TIMEZONE


def timezone_name(
    env: Mapping[str, str],
    *,
    localtime: str = _LOCALTIME,
    timezone: str = _TIMEZONE,
    zoneinfo: str = _ZONEINFO_DIR,
) -> str | None:
    """The IANA name. TZ decides alone where it is set, because it also decides what the clock shows."""
    given = env.get("TZ", "")
    if given:
        name = _zone_of_path(given.removeprefix(":"))
        return name if _is_zone_name(name) and os.path.isfile(os.path.join(zoneinfo, name)) else None
    for found in (_link_target(localtime), _first_line(timezone)):
        name = _zone_of_path(found)
        if _is_zone_name(name):
            return name
    return None


def _zone_of_path(text: str) -> str:
    _, found, name = text.rpartition(_ZONEINFO)
    name = name if found else text
    for variant in ("posix/", "right/"):
        name = name.removeprefix(variant)
    return name


def _is_zone_name(name: str) -> bool:
    plain = name.replace("/", "").replace("_", "").replace("-", "").replace("+", "")
    return (
        0 < len(name) <= _LONGEST_ZONE
        and plain.isalnum()
        and name.isascii()
        and name[0].isalpha()
        and not name.endswith("/")
    )


def _link_target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(_LONGEST_ZONE + 1).strip()
    except OSError:
        return ""


def user_shell() -> Shell:
    """The login shell of this user if we know how to speak to it, else the next best one."""
    if sys.platform == "win32":
        return _windows_shell()
    import pwd

    try:
        login = pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        login = ""
    return shell_for(login, os.environ.get("PATH", os.defpath))


def shell_for(login: str, search_path: str) -> Shell:
    """The shell for what the password database says."""
    name = _SHELLS.get(os.path.basename(login).removesuffix(".exe"))
    if name is not None and _is_program(login):
        return Shell(name, login)
    preferred = ("zsh", "bash") if sys.platform == "darwin" else ("bash", "zsh")
    for candidate in preferred:
        for directory in (*search_path.split(os.pathsep), "/bin", "/usr/bin", "/usr/local/bin"):
            path = os.path.join(directory, candidate)
            # A relative entry would let the workspace choose the shell.
            if directory.startswith("/") and _is_program(path):
                return Shell(candidate, path)
    return Shell("sh", "/bin/sh")


def _windows_shell() -> Shell:
    import shutil

    for program, name in (("pwsh.exe", "powershell"), ("powershell.exe", "powershell"), ("cmd.exe", "cmd")):
        path = shutil.which(program)
        if path is not None:
            return Shell(name, path)
    return Shell("cmd", "cmd.exe")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
