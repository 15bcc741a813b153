"""`[mcp_servers.NAME]` as values, and who may disable one."""

from pathlib import Path

import pytest

from pycodex.supervisor.config.config import Config, Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.config.mcp_servers import HttpServer, McpServer, StdioServer


def load(tmp_path: Path, config: str, requirements: str = "") -> Config:
    for folder in ("home", "etc", "ws"):
        (tmp_path / folder).mkdir()
    (tmp_path / "home/config.toml").write_text(config)
    (tmp_path / "etc/requirements.toml").write_text(requirements)
    return load_config(
        env={"CODEX_HOME": str(tmp_path / "home")},
        overrides=(),
        cwd=str(tmp_path / "ws"),
        flags=Flags(),
        system_dir=str(tmp_path / "etc"),
    )


def test_without_any_there_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, "").mcp_servers == {}


def test_a_program_with_everything_said(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """
        [mcp_servers.b]
        command = "run"
        args = ["-x"]
        env = { A = "1" }
        env_vars = ["B"]
        cwd = "/srv"
        required = true
        startup_timeout_ms = 1500
        tool_timeout_sec = 3
        enabled_tools = ["x", "y"]
        disabled_tools = ["y"]
        [mcp_servers.a]
        command = "other"
        """,
    )
    assert list(config.mcp_servers) == ["a", "b"]
    assert config.mcp_servers["a"] == McpServer(name="a", transport=StdioServer(command="other"))
    assert config.mcp_servers["b"] == McpServer(
        name="b",
        transport=StdioServer(command="run", args=("-x",), env={"A": "1"}, env_vars=("B",), cwd="/srv"),
        required=True,
        startup_timeout_s=1.5,
        tool_timeout_s=3.0,
        enabled_tools=frozenset({"x", "y"}),
        disabled_tools=frozenset({"y"}),
    )
    assert [config.mcp_servers["b"].offers(tool) for tool in "xyz"] == [True, False, False]


@pytest.mark.parametrize(
    ("more", "has_token"),
    [
        ("", False),
        ('bearer_token_env_var = "T"', True),
        ('http_headers = { authorization = "s3cret" }', True),
        ('env_http_headers = { Authorization = "T" }', True),
        ('http_headers = { X-Other = "s3cret" }', False),
    ],
)
def test_a_place_elsewhere_and_whether_it_knows_us(tmp_path: Path, more: str, has_token: bool) -> None:
    config = load(tmp_path, f'[mcp_servers.web]\nurl = "http://127.0.0.1:1/mcp"\n{more}')
    transport = config.mcp_servers["web"].transport
    assert isinstance(transport, HttpServer)
    assert (transport.url, transport.has_token) == ("http://127.0.0.1:1/mcp", has_token)
    assert "s3cret" not in repr(config.mcp_servers)


@pytest.mark.parametrize(
    ("requirements", "enabled"),
    [
        ("", [True, True]),
        ("[mcp_servers]", [False, False]),
        ('[mcp_servers.local.identity]\ncommand = "run"', [True, False]),
        ('[mcp_servers.local.identity]\ncommand = "another"', [False, False]),
        ('[mcp_servers.local.identity]\nurl = "run"', [False, False]),
        ("[mcp_servers.local]\nidentity = 3", [False, False]),
        ('[mcp_servers.web.identity]\nurl = "http://127.0.0.1:1/"', [False, True]),
    ],
)
def test_only_what_an_administrator_allows_is_enabled(tmp_path: Path, requirements: str, enabled: list[bool]) -> None:
    config = load(
        tmp_path,
        '[mcp_servers.local]\ncommand = "run"\n[mcp_servers.web]\nurl = "http://127.0.0.1:1/"',
        requirements,
    )
    servers = config.mcp_servers.values()
    assert [server.enabled for server in servers] == enabled
    reason = f"requirements ({tmp_path / 'etc/requirements.toml'})"
    assert [server.disabled_because for server in servers] == [None if on else reason for on in enabled]


@pytest.mark.parametrize(
    ("said", "store", "port", "url"),
    [
        ("", "auto", None, None),
        ('mcp_oauth_callback_url = " "', "auto", None, None),
        (
            'mcp_oauth_credentials_store = "file"\nmcp_oauth_callback_port = 8123\nmcp_oauth_callback_url = "https://r/b"',
            "file",
            8123,
            "https://r/b",
        ),
    ],
)
def test_how_one_logs_in(tmp_path: Path, said: str, store: str, port: int | None, url: str | None) -> None:
    config = load(tmp_path, f'{said}\n[mcp_servers.far]\nurl = "https://x"\n[mcp_servers.near]\ncommand = "c"\n')
    far, near = config.mcp_servers.values()
    assert far.transport == HttpServer(url="https://x", credentials_store=store)
    assert near.transport == StdioServer(command="c")
    assert (config.mcp_oauth_callback_port, config.mcp_oauth_callback_url) == (port, url)
