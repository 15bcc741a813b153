"""`pycodex login` and `pycodex logout` as a person and as scripts call them."""

import json
import re
import stat
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.model.scripted import refuse
from support.cli import Ended, cli_argv, run_cli
from support.engine import Place, open_place
from support.exec_runs import run_exec
from support.interpreter import MINIMAL_ENV
from support.issuer import API_KEY, CODE, Issuer, callback, jwt, open_issuer, sign_in, store, stored_login, visit
from support.waiting import eventually_async

URL = re.compile(r"^http://\S+/oauth/authorize\S+$", re.MULTILINE)


class Running:
    """A login that waits for a person."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self.err = ""

    @property
    def pid(self) -> int:
        return self._process.pid

    async def url(self) -> str:
        """Where the person is sent."""
        assert self._process.stderr is not None
        while not (found := URL.search(self.err)) or "On a remote" not in self.err:
            data = await self._process.stderr.receive_some()
            assert data, self.err
            self.err += data.decode()
        return found[0]

    async def ended(self) -> Ended:
        assert self._process.stderr is not None
        assert self._process.stdout is not None
        self.err += b"".join([bytes(data) async for data in self._process.stderr]).decode()
        out = b"".join([bytes(data) async for data in self._process.stdout]).decode()
        return Ended(await self._process.wait(), out, self.err)


@asynccontextmanager
async def running_login(home: Path, *arguments: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Running]:
    process = await trio.lowlevel.open_process(
        cli_argv("login", *arguments),
        env={**MINIMAL_ENV, "CODEX_HOME": str(home), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Running(process)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "codex-home"
    path.mkdir()
    return path


def call(home: Path, *arguments: str, stdin: str | None = None) -> Ended:
    return run_cli(*arguments, env={"CODEX_HOME": str(home)}, stdin=stdin)


def logged(home: Path) -> str:
    return "".join(path.read_text() for path in (home / "log").glob("*")) if (home / "log").is_dir() else ""


async def test_a_browser_login_from_the_first_line_to_the_last(home: Path, login_port: int) -> None:
    async with open_issuer() as issuer, running_login(home, "--experimental_issuer", f"{issuer.url}/") as login:
        url = await login.url()
        assert url.startswith(f"{issuer.url}/oauth/authorize?")
        assert "logged in" in (await sign_in(issuer, url)).text
        ended = await login.ended()
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        f"Starting local login server on http://localhost:{login_port}.\n"
        f"If your browser did not open, navigate to this URL to authenticate:\n\n{url}\n\n"
        "On a remote or headless machine? Use `pycodex login --device-auth` instead.\n"
        "Successfully logged in\n"
    )
    path = home / "auth.json"
    stored = json.loads(path.read_text())
    assert (stored["OPENAI_API_KEY"], stored["tokens"]["refresh_token"]) == (API_KEY, "rt-0-secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in ended.err + logged(home)
    status = call(home, "login", "status")
    assert (status.code, status.err, status.out) == (0, "Logged in using ChatGPT\n", "")


async def test_a_browser_is_opened_where_there_is_one(home: Path, tmp_path: Path, login_port: int) -> None:
    del login_port
    seen, script = tmp_path / "seen", tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.part\nmv {seen}.part {seen}\n')
    script.chmod(0o755)
    async with open_issuer() as issuer:
        arguments = ("--experimental_issuer", issuer.url)
        async with running_login(home, *arguments, env={"BROWSER": str(script)}) as login:
            url = await login.url()
            await eventually_async(seen.exists, what="the browser")
            assert seen.read_text() == url
            await sign_in(issuer, url)
            assert (await login.ended()).code == 0


async def test_a_login_that_is_refused_ends_with_one_line(home: Path, login_port: int) -> None:
    del login_port
    async with open_issuer() as issuer, running_login(home, "--experimental_issuer", issuer.url) as login:
        url = await login.url()
        assert (await visit(callback(url, code=CODE, state="wrong"))).text == "State mismatch"
        await visit(callback(url, error="access_denied"))
        ended = await login.ended()
    assert (ended.code, ended.err.splitlines()[-1]) == (1, "Error logging in: Sign-in failed: access_denied")
    assert not (home / "auth.json").exists()


async def test_the_last_login_has_the_port(home: Path, login_port: int) -> None:
    del login_port
    async with open_issuer() as issuer, running_login(home, "--experimental_issuer", issuer.url) as first:
        await first.url()
        async with running_login(home, "--experimental_issuer", issuer.url) as second:
            url = await second.url()
            ended = await first.ended()
            assert (ended.code, ended.err.splitlines()[-1]) == (1, "Error logging in: Login cancelled")
            await sign_in(issuer, url)
            assert (await second.ended()).code == 0


async def test_a_port_that_nobody_gives_up_is_named(home: Path, login_port: int) -> None:
    heard: list[bytes] = []

    async def ignore(stream: trio.SocketStream) -> None:
        heard.append(bytes(await stream.receive_some()))

    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, ignore, login_port, host="127.0.0.1"))
        async with running_login(home) as login:
            ended = await login.ended()
        nursery.cancel_scope.cancel()
    assert (ended.code, ended.err) == (1, f"Error logging in: Port 127.0.0.1:{login_port} is already in use\n")
    assert [data.split(b"\r\n")[0] for data in heard] == [b"GET /cancel HTTP/1.1"]


async def test_a_device_login_tells_where_to_go_and_what_to_type(home: Path) -> None:
    async with open_issuer() as issuer:
        issuer.polls_before_grant = 1
        async with running_login(home, "--device-auth", "--experimental_issuer", issuer.url) as login:
            ended = await login.ended()
    assert (ended.code, ended.err) == (0, "Successfully logged in\n")
    assert f"{issuer.url}/codex/device" in ended.out
    assert "ABCD-1234" in ended.out
    assert "secret" not in ended.out
    stored = json.loads((home / "auth.json").read_text())
    assert (stored["auth_mode"], stored["tokens"]["id_token"]) == ("chatgpt", jwt())


async def test_a_device_login_that_is_not_offered(home: Path) -> None:
    async with open_issuer() as issuer:
        issuer.instead["/api/accounts/deviceauth/usercode"] = lambda _: refuse(404, "no")
        async with running_login(home, "--device-auth", "--experimental_issuer", issuer.url) as login:
            ended = await login.ended()
    assert ended.code == 1
    assert ended.err == (
        "Error logging in with device code: device code login is not enabled for this Codex server. Use the browser "
        "login or verify the server URL.\n"
    )


def test_keys_come_by_standard_input_and_are_shown_in_part(home: Path) -> None:
    assert call(home, "login", "status") == Ended(1, "", "Not logged in\n")
    said = "Reading API key from stdin...\n"
    done = call(home, "login", "--with-api-key", stdin="sk-proj-1234567890ABCDE\n")
    assert done == Ended(0, "", f"{said}Successfully logged in\n")
    shown = "Logged in using an API key - sk-proj-***ABCDE\n"
    assert call(home, "login", "status") == Ended(0, "", shown)
    assert call(home, "login", "--with-api-key", stdin=" \n") == Ended(1, "", f"{said}No API key provided via stdin.\n")
    assert call(home, "logout") == Ended(0, "", "Successfully logged out\n")
    assert call(home, "logout") == Ended(0, "", "Not logged in\n")


def test_a_broken_file_is_told_and_can_be_forgotten(home: Path) -> None:
    (home / "auth.json").write_text('{"OPENAI_API_KEY": "sk-secret"')
    status = call(home, "login", "status")
    assert (status.code, status.err.startswith("Error checking login status: ")) == (1, True)
    assert "secret" not in status.err
    assert call(home, "logout").err == "Successfully logged out\n"


@pytest.mark.parametrize(
    ("config", "arguments", "stdin", "error"),
    [
        ("forced_login_method = 'api'", ("login",), None, "ChatGPT login is disabled. Use API key login instead."),
        (
            "forced_login_method = 'api'",
            ("login", "--device-auth"),
            None,
            "ChatGPT login is disabled. Use API key login instead.",
        ),
        (
            "forced_login_method = 'chatgpt'",
            ("login", "--with-api-key"),
            "sk-1",
            "API key login is disabled. Use ChatGPT login instead.",
        ),
        (
            "cli_auth_credentials_store = 'ephemeral'",
            ("login", "--with-api-key"),
            "sk-1",
            'Error logging in: cli_auth_credentials_store = "ephemeral" keeps a login only as long as',
        ),
        ("model = 5", ("login", "status"), None, "Error loading configuration: "),
    ],
)
def test_what_the_configuration_forbids(
    home: Path, config: str, arguments: tuple[str, ...], stdin: str | None, error: str
) -> None:
    (home / "config.toml").write_text(f"{config}\n")
    ended = call(home, *arguments, stdin=stdin)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(error) or error in ended.err
    assert not (home / "auth.json").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("login", "nope"), "error: unrecognized subcommand 'nope'"),
        (("login", "status", "x"), "error: unexpected argument 'x' found"),
        (("logout", "x"), "error: unexpected argument 'x' found"),
    ],
)
def test_a_wrong_word_is_named(home: Path, arguments: tuple[str, ...], error: str) -> None:
    ended = call(home, *arguments)
    assert (ended.code, ended.err.splitlines()[0]) == (2, error)


@pytest.mark.parametrize("arguments", [("login", "--help"), ("login", "help"), ("logout", "-h"), ("help", "login")])
def test_help(home: Path, arguments: tuple[str, ...]) -> None:
    ended = call(home, *arguments)
    assert (ended.code, ended.err) == (0, "")
    assert "Usage: pycodex log" in ended.out


# What a login is good for


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with open_issuer() as opened:
        yield opened


@asynccontextmanager
async def open_logged_in(tmp_path: Path, issuer: Issuer, **document: str) -> AsyncIterator[Place]:
    with open_place(tmp_path) as place:
        place.point_at(issuer.model_url, requires_openai_auth=True)
        store(place.home, stored_login(**document))
        yield place


async def test_two_processes_renew_old_tokens_once(tmp_path: Path, issuer: Issuer) -> None:
    async with open_logged_in(tmp_path, issuer, last_refresh="2020-01-01T00:00:00Z") as place:
        codes = []

        async def run() -> None:
            codes.append((await run_exec(place, "go", env=issuer.env)).code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            nursery.start_soon(run)
        assert (codes, issuer.renewals) == ([0, 0], 1)
        assert json.loads((place.home / "auth.json").read_text())["tokens"]["refresh_token"] == "rt-1-secret"


async def test_a_turn_goes_on_with_new_tokens(tmp_path: Path, issuer: Issuer) -> None:
    async with open_logged_in(tmp_path, issuer, access="at-expired-secret") as place:
        ran = await run_exec(place, "go", env=issuer.env)
        assert (ran.code, ran.kinds[-1], ran.errors) == (0, "turn.completed", [])
        sent = [request.headers["authorization"] for request in issuer.asked("/v1/responses")]
        assert sent == ["Bearer at-expired-secret", "Bearer at-1-secret"]
        written = "".join(path.read_text() for path in place.sessions()) + logged(place.home)
        assert "secret" not in ran.err + ran.out.decode() + written


async def test_a_login_that_is_of_no_use_any_more_is_one_clear_line(tmp_path: Path, issuer: Issuer) -> None:
    async with open_logged_in(tmp_path, issuer, access="at-expired-secret", refresh="rt-used-secret") as place:
        ran = await run_exec(place, "go", env=issuer.env)
        assert ran.code == 1
        assert ran.failure == (
            "Your access token could not be refreshed because your refresh token was already used. Please log out and "
            "sign in again."
        )
        assert len(issuer.asked("/v1/responses")) == 1
        assert "secret" not in ran.err + ran.out.decode() + logged(place.home)


async def test_new_tokens_that_are_refused_as_well_end_the_turn(tmp_path: Path, issuer: Issuer) -> None:
    async with open_logged_in(tmp_path, issuer) as place:
        issuer.instead["/v1/responses"] = lambda _: refuse(401, "not you")
        place.point_at(issuer.model_url, requires_openai_auth=True, stream_max_retries=3)
        ran = await run_exec(place, "go", env=issuer.env)
        assert ran.failure.startswith("unexpected status 401 Unauthorized: not you, url: ")
        assert (len(issuer.asked("/v1/responses")), issuer.renewals) == (2, 1)


@pytest.mark.parametrize(
    ("config", "document", "error"),
    [
        (
            "forced_login_method = 'api'",
            stored_login(),
            "API key login is required, but ChatGPT is currently being used. Logging out.",
        ),
        (
            "forced_chatgpt_workspace_id = 'ws-1'",
            stored_login(),
            "Login is restricted to workspace ws-1, but current credentials belong to acct-1. Logging out.",
        ),
        (
            "forced_login_method = 'chatgpt'",
            {"auth_mode": "apikey", "OPENAI_API_KEY": "sk-secret"},
            "ChatGPT login is required, but an API key is currently being used. Logging out.",
        ),
    ],
)
async def test_exec_forgets_a_login_that_must_not_be(
    tmp_path: Path, issuer: Issuer, config: str, document: dict[str, object], error: str
) -> None:
    async with open_logged_in(tmp_path, issuer) as place:
        path = place.home / "config.toml"
        path.write_text(f"{config}\n{path.read_text()}")
        auth = store(place.home, document)
        ran = await run_exec(place, "go", env=issuer.env)
        assert (ran.code, ran.err, ran.out) == (1, f"{error}\n", b"")
        assert not auth.exists()
        assert issuer.server.requests == []
