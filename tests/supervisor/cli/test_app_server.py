"""`pycodex app-server`: its flags and subcommands."""

import json
from pathlib import Path

import pytest

from pycodex.supervisor.cli import app_server
from pycodex.supervisor.cli.options import BadUsage
from pycodex.supervisor.frontends.app_server import run as server_run
from pycodex.supervisor.frontends.app_server.run import AppServerRequest


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[AppServerRequest]:
    """What would be run."""
    requests: list[AppServerRequest] = []

    def note(request: AppServerRequest) -> int:
        requests.append(request)
        return 0

    monkeypatch.setattr(server_run, "run_app_server", note)
    return requests


def test_defaults(asked: list[AppServerRequest]) -> None:
    assert app_server.run([], ["a=1"]) == 0
    assert asked == [AppServerRequest(listen="stdio://", session_source="vscode", overrides=("a=1",))]


@pytest.mark.parametrize("url", ["stdio://", "unix:///tmp/s", "ws://127.0.0.1:0", "ws://[::1]:80"])
def test_every_place_to_listen(asked: list[AppServerRequest], url: str) -> None:
    argv = ["--listen", url, "--session-source", "cli", "--analytics-default-enabled", "-c", "b=2"]
    assert app_server.run(argv, []) == 0
    assert asked == [AppServerRequest(listen=url, session_source="cli", overrides=("b=2",))]


def test_default_place_can_be_named_as_newer_clients_do(asked: list[AppServerRequest]) -> None:
    assert app_server.run(["--stdio"], []) == 0
    assert asked == [AppServerRequest(listen="stdio://", session_source="vscode", overrides=())]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--listen", "foo"], "unsupported --listen URL `foo`; expected `stdio://`"),
        (
            ["--listen", "ws://localhost:1"],
            "invalid websocket --listen URL `ws://localhost:1`; expected `ws://IP:PORT`",
        ),
        (["--listen", "ws://127.0.0.1:99999"], "invalid websocket --listen URL"),
        (["--listen", "unix://"], "unsupported --listen URL `unix://`"),
        (["--stdio", "--listen", "stdio://"], "the argument '--stdio' cannot be used with '--listen <URL>'"),
        (["nonsense"], "unrecognized subcommand 'nonsense'"),
        (["generate-ts"], "--out <DIR>"),
    ],
)
def test_mistakes(argv: list[str], said: str) -> None:
    with pytest.raises(BadUsage) as error:
        app_server.run(argv, [])
    assert said in str(error.value)


def test_schemas_are_written(tmp_path: Path) -> None:
    assert app_server.run(["generate-json-schema", "--out", str(tmp_path)], []) == 0
    assert "threadId" in json.loads((tmp_path / "v2" / "TurnStartParams.json").read_text())["properties"]
    assert app_server.run(["generate-ts", "--out", str(tmp_path / "ts"), "--experimental"], []) == 0
    assert any((tmp_path / "ts").rglob("*.ts"))


def test_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert app_server.run(["--help"], []) == 0
    assert "--listen <URL>" in capfd.readouterr().out
    assert app_server.run(["generate-ts", "--help"], []) == 0
    assert "--experimental" in capfd.readouterr().out
