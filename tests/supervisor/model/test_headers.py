"""Who we say we are."""

import os
from pathlib import Path

import pytest

from pycodex.supervisor.auth.credentials import Token
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model.headers import (
    Identity,
    RequestFacts,
    identity_of,
    request_headers,
    system_name,
    terminal_name,
)
from pycodex.supervisor.version import VERSION

IDENTITY = Identity(originator="codex_exec", user_agent="agent")
FACTS = RequestFacts(thread_id="t")


def headers(
    provider: Provider,
    token: Token | None = None,
    *,
    identity: Identity = IDENTITY,
    facts: RequestFacts = FACTS,
    env: dict[str, str] | None = None,
) -> dict[str, str]:
    sent = request_headers(provider, token, identity, facts, env=env or {})
    assert len(sent) == len(dict(sent))
    return dict(sent)


def test_least_headers() -> None:
    assert headers(Provider(id="own", name="own")) == {
        "accept": "text/event-stream",
        "content-type": "application/json",
        "user-agent": "agent",
        "originator": "codex_exec",
        "session_id": "t",
        "x-client-request-id": "t",
    }


def test_all_of_ours() -> None:
    identity = Identity(originator="o", user_agent="a", beta_features=("apps", "js_repl"), subagent="review")
    facts = RequestFacts(thread_id="t", turn_metadata="{}", turn_state="s")
    sent = headers(Provider(id="own", name="own"), Token("k", "acct"), identity=identity, facts=facts)
    expected = {
        "authorization": "Bearer k",
        "chatgpt-account-id": "acct",
        "x-codex-turn-metadata": "{}",
        "x-codex-turn-state": "s",
        "x-codex-beta-features": "apps,js_repl",
        "x-openai-subagent": "review",
    }
    assert expected.items() <= sent.items()


ORGANISATION = {"OPENAI_ORGANIZATION": "org", "OPENAI_PROJECT": " "}


def test_openai_is_told_version_and_organisation() -> None:
    sent = headers(Provider(id="openai", name="OpenAI"), env=ORGANISATION)
    assert (sent["version"], sent["openai-organization"]) == ("0.116.0", "org")
    assert "openai-project" not in sent


def test_nobody_else_is_told_the_organisation() -> None:
    sent = headers(Provider(id="own", name="OpenAI"), env=ORGANISATION)
    assert not {"version", "openai-organization"} & sent.keys()


def test_provider_adds_and_replaces() -> None:
    provider = Provider(
        id="own",
        name="own",
        http_headers={"X-One": "1", "Originator": "mine"},
        env_http_headers={"x-two": "TWO", "x-three": "UNSET", "x-four": "BLANK"},
    )
    sent = headers(provider, env={"TWO": "2", "BLANK": " "})
    assert (sent["x-one"], sent["x-two"], sent["originator"]) == ("1", "2", "mine")
    assert not {"x-three", "x-four"} & sent.keys()


def test_user_agent() -> None:
    identity = identity_of({"TERM": "xterm"}, originator="codex_exec", client="codex-exec; 0.116.0")
    agent = f"codex_exec/0.116.0 ({system_name()}; {os.uname().machine}) xterm (codex-exec; 0.116.0) pycodex/{VERSION}"
    assert identity.user_agent == agent


@pytest.mark.parametrize(
    ("override", "originator"),
    [("codex_sdk_ts", "codex_sdk_ts"), ("a\nb", "codex_cli_rs"), ("ü", "codex_cli_rs"), ("", "codex_cli_rs")],
)
def test_originator_of_the_environment_wins(override: str, originator: str) -> None:
    env = {"CODEX_INTERNAL_ORIGINATOR_OVERRIDE": override}
    identity = identity_of(env, originator="codex_exec", client="c")
    assert identity.originator == originator
    assert identity.user_agent.startswith(f"{originator}/")


def test_user_agent_is_always_a_header() -> None:
    assert identity_of({}, originator="x", client="Zoë\n").user_agent.isprintable()


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({}, "unknown"),
        ({"TERM": "xterm-256color"}, "xterm-256color"),
        ({"TERM": "dumb"}, "dumb"),
        ({"TERM": "xterm", "TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.9"}, "vscode/1.9"),
        ({"TERM_PROGRAM": "a b"}, "a_b"),
        ({"TERM": "xterm", "WEZTERM_VERSION": "2024"}, "WezTerm/2024"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "alacritty"}, "Alacritty"),
        ({"TERM": "xterm", "KONSOLE_VERSION": "230804"}, "Konsole/230804"),
        ({"TERM": "xterm", "GNOME_TERMINAL_SCREEN": "/x", "VTE_VERSION": "7200"}, "gnome-terminal"),
        ({"TERM": "xterm", "VTE_VERSION": "7200"}, "VTE/7200"),
    ],
)
def test_terminal(env: dict[str, str], name: str) -> None:
    assert terminal_name(env) == name


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="os-release is Linux's")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "Debian 12.0.0"),
        ('ID=ubuntu\nVERSION_ID="22.04"\n', "Ubuntu 22.4.0"),
        ("ID=alpine\nVERSION_ID=3.19.1\n", "Alpine Linux 3.19.1"),
        ("ID=arch\n", "Arch Linux Rolling Release"),
        ("ID=debian\n", "Debian Unknown"),
        ("ID=homemade\nVERSION_ID=rolling\n", "Linux rolling"),
        ("", "Linux Unknown"),
    ],
)
def test_system(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text(text)
    assert system_name(str(path)) == name


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="os-release is Linux's")
def test_system_that_does_not_say(tmp_path: Path) -> None:
    assert system_name(str(tmp_path / "none")) == "Linux Unknown"
