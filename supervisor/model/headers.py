"""Who we say we are.

Owns the headers of a model request: user agent, originator, ids, and those that the provider's entry adds. Takes values
and the environment, gives names and values; the secret among them comes from `supervisor/auth`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pycodex.supervisor.auth.credentials import Token
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.version import VERSION

REFERENCE_VERSION = "0.116.0"
DEFAULT_ORIGINATOR = "codex_cli_rs"
_OPENAI = "openai"
_OPENAI_ENV_HEADERS = {"openai-organization": "OPENAI_ORGANIZATION", "openai-project": "OPENAI_PROJECT"}
# What systems are called, by the ID in os-release.
_SYSTEM_NAMES = {
    "almalinux": "AlmaLinux",
    "alpine": "Alpine Linux",
    "amzn": "Amazon Linux AMI",
    "arch": "Arch Linux",
    "centos": "CentOS",
    "debian": "Debian",
    "fedora": "Fedora",
    "gentoo": "Gentoo Linux",
    "kali": "Kali Linux",
    "linuxmint": "Linux Mint",
    "nixos": "NixOS",
    "opensuse": "openSUSE",
    "opensuse-leap": "openSUSE",
    "opensuse-tumbleweed": "openSUSE",
    "pop": "Pop!_OS",
    "raspbian": "Raspberry Pi OS",
    "rhel": "Red Hat Enterprise Linux",
    "rocky": "Rocky Linux",
    "sles": "SUSE Linux Enterprise Server",
    "ubuntu": "Ubuntu",
}
# Variables by which terminals without TERM_PROGRAM are known; one that is named again gives the version.
_TERMINALS = (
    ("WezTerm", ("WEZTERM_VERSION",), "WEZTERM_VERSION"),
    ("iTerm.app", ("ITERM_SESSION_ID", "ITERM_PROFILE", "ITERM_PROFILE_NAME"), ""),
    ("Apple_Terminal", ("TERM_SESSION_ID",), ""),
    ("kitty", ("KITTY_WINDOW_ID",), ""),
    ("Alacritty", ("ALACRITTY_SOCKET",), ""),
    ("Konsole", ("KONSOLE_VERSION",), "KONSOLE_VERSION"),
    ("gnome-terminal", ("GNOME_TERMINAL_SCREEN",), ""),
    ("VTE", ("VTE_VERSION",), "VTE_VERSION"),
    ("WindowsTerminal", ("WT_SESSION",), ""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What does not change while the process runs."""

    originator: str
    user_agent: str
    client_name: str | None = None
    """The front-end, as in `codex-exec`."""
    beta_features: tuple[str, ...] = ()
    """Enabled features that are still experimental."""
    subagent: str | None = None


def identity_of(env: Mapping[str, str], *, originator: str, client: str, beta_features: Sequence[str] = ()) -> Identity:
    """`originator` unless the environment overrides it; `client` as in `codex-exec; 0.116.0`."""
    name = env.get("CODEX_INTERNAL_ORIGINATOR_OVERRIDE", originator)
    if not name or not (name.isascii() and name.isprintable()):
        name = DEFAULT_ORIGINATOR
    system = f"{system_name()}; {os.uname().machine if hasattr(os, 'uname') else 'unknown'}"
    agent = f"{name}/{REFERENCE_VERSION} ({system}) {terminal_name(env)} ({client}) pycodex/{VERSION}"
    return Identity(
        originator=name,
        user_agent=_printable(agent),
        client_name=client.partition(";")[0] or None,
        beta_features=tuple(beta_features),
    )


def _printable(text: str) -> str:
    return "".join(letter if " " <= letter <= "~" else "_" for letter in text)


def terminal_name(env: Mapping[str, str]) -> str:
    """The terminal by the variables that it sets, else by its kind."""
    program = env.get("TERM_PROGRAM", "").strip()
    if program:
        version = env.get("TERM_PROGRAM_VERSION", "").strip()
        return _token(f"{program}/{version}" if version else program)
    term = env.get("TERM", "").strip()
    for name, variables, version_variable in _TERMINALS:
        is_named = (name == "kitty" and "kitty" in term) or (name == "Alacritty" and term == "alacritty")
        if is_named or any(variable in env for variable in variables):
            version = env.get(version_variable, "").strip()
            return _token(f"{name}/{version}" if version else name)
    return _token(term or "unknown")


def _token(text: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_./") else "_" for letter in text)


def system_name(os_release: str = "/etc/os-release") -> str:
    """`Debian 12.0.0`."""
    if sys.platform == "darwin":
        import platform

        return f"Mac OS {_three_parts(platform.mac_ver()[0])}"
    if sys.platform == "win32":
        import platform

        return f"Windows {platform.version()}"
    fields = _release_fields(os_release)
    name = _SYSTEM_NAMES.get(fields.get("ID", ""), "Linux")
    if "VERSION_ID" in fields:
        return f"{name} {_three_parts(fields['VERSION_ID'])}"
    return f"{name} {'Rolling Release' if name == 'Arch Linux' else 'Unknown'}"


def _release_fields(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(65536)
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}


def _three_parts(version: str) -> str:
    """`12` is `12.0.0`; what is no number stays as it is."""
    parts = version.split(".")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return version
    return ".".join(str(int(part)) for part in (*parts, "0", "0")[:3])


@dataclass(slots=True, kw_only=True)
class RequestFacts:
    """What changes from request to request."""

    thread_id: str
    turn_metadata: str | None = None
    turn_state: str | None = None


def request_headers(
    provider: Provider, token: Token | None, identity: Identity, facts: RequestFacts, *, env: Mapping[str, str]
) -> list[tuple[str, str]]:
    """All headers but those of HTTP itself. A name that comes twice keeps its last value."""
    headers: dict[str, str | None] = {
        "accept": "text/event-stream",
        "content-type": "application/json",
        "user-agent": identity.user_agent,
        "originator": identity.originator,
        "session_id": facts.thread_id,
        "x-client-request-id": facts.thread_id,
        "x-codex-turn-metadata": facts.turn_metadata,
        "x-codex-turn-state": facts.turn_state,
        "x-codex-beta-features": ",".join(identity.beta_features) or None,
        "x-openai-subagent": identity.subagent,
    }
    if provider.id == _OPENAI:
        headers["version"] = REFERENCE_VERSION
        headers.update(_from_env(_OPENAI_ENV_HEADERS, env))
    headers.update((name.lower(), value) for name, value in provider.http_headers.items())
    headers.update(_from_env(provider.env_http_headers, env))
    if token is not None:
        headers["authorization"] = f"Bearer {token.value}"
        headers["chatgpt-account-id"] = token.account_id
    return [(name, value) for name, value in headers.items() if value is not None]


def _from_env(variables: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    found = {name.lower(): env.get(variable, "") for name, variable in variables.items()}
    return {name: value for name, value in found.items() if value.strip()}
