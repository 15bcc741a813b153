"""A model on this machine is there before it is asked, or the person is told what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model.oss import NO_LMS, NO_LMSTUDIO, NO_OLLAMA, Pulled, make_ready
from pycodex.supervisor.model.scripted import SIZED, Reply, Request, ScriptedServer, serve_script
from pycodex.supervisor.net.http import open_http

NOT_FOUND = Reply(status=404, body=b"{}", framing=SIZED)
PULLED = ({"status": "pulling manifest"}, {"status": "success"})


def answer(value: Any) -> Reply:
    return Reply(body=json.dumps(value).encode(), framing=SIZED)


def lines(*values: Any) -> Reply:
    return Reply(body="".join(f"{json.dumps(value)}\n" for value in values).encode(), framing=SIZED)


def ollama(**changes: Reply) -> Callable[[Request], Reply]:
    """A server that has the model `mine`, with some of its answers replaced."""
    answers = {
        "/v1/models": answer({"data": []}),
        "/api/version": answer({"version": "0.13.4"}),
        "/api/tags": answer({"models": [{"name": "mine"}, {"name": 3}, "odd"]}),
        "/api/pull": lines(*PULLED),
        **{f"/api/{name}": reply for name, reply in changes.items()},
    }
    return lambda request: answers.get(request.path, NOT_FOUND)


def paths(server: ScriptedServer) -> list[str]:
    return [request.path for request in server.requests]


async def ready(provider: str, base_url: str, model: str = "mine", **env: str) -> list[Pulled]:
    """What was reported on the way."""
    steps: list[Pulled] = []
    async with open_http({}) as http:
        entry = Provider(id=provider, name="gpt-oss", base_url=base_url)
        await make_ready(http, entry, model, env=env, report=steps.append)
    return steps


async def failure(provider: str, base_url: str, model: str = "mine", **env: str) -> str:
    with pytest.raises(UserFacing) as raised:
        await ready(provider, base_url, model, **env)
    return str(raised.value)


async def test_ollama_with_the_model_is_only_asked() -> None:
    async with serve_script(ollama()) as server:
        assert await ready("ollama", server.base_url) == []
        assert paths(server) == ["/v1/models", "/api/version", "/api/tags"]
        assert {request.method for request in server.requests} == {"GET"}


@pytest.mark.parametrize(("end", "probe"), [("/v1/", "/v1/models"), ("", "/api/tags"), ("/", "/api/tags")])
async def test_address_decides_what_ollama_is_asked_first(end: str, probe: str) -> None:
    async with serve_script(ollama()) as server:
        assert await ready("ollama", server.base_url.removesuffix("/v1") + end) == []
        assert paths(server)[0] == probe


@pytest.mark.parametrize("provider", ["ollama", "lmstudio"])
async def test_server_that_does_not_run_is_told(provider: str) -> None:
    async with serve_script([]) as server:
        base_url = server.base_url
    expected = {"ollama": NO_OLLAMA, "lmstudio": f"OSS setup failed: {NO_LMSTUDIO}"}
    assert await failure(provider, base_url) == f"OSS setup failed: {expected[provider]}"


async def test_something_else_at_that_port_is_no_ollama() -> None:
    async with serve_script(lambda _: NOT_FOUND) as server:
        assert await failure("ollama", server.base_url) == f"OSS setup failed: {NO_OLLAMA}"


@pytest.mark.parametrize("version", ["0.13.3", "v0.9.10", "0.12.99-rc1"])
async def test_ollama_that_is_too_old_is_told(version: str) -> None:
    async with serve_script(ollama(version=answer({"version": version}))) as server:
        expected = f"OSS setup failed: Ollama {version} is too old. Codex requires Ollama 0.13.4 or newer."
        assert await failure("ollama", server.base_url) == expected


@pytest.mark.parametrize(
    "reply",
    [
        answer({"version": "0.0.0"}),
        answer({"version": "junk"}),
        answer({"version": 3}),
        answer([]),
        NOT_FOUND,
        Reply(body=b"\xff{", framing=SIZED),
    ],
)
async def test_version_that_says_nothing_stops_nobody(reply: Reply) -> None:
    async with serve_script(ollama(version=reply)) as server:
        assert await ready("ollama", server.base_url) == []


async def test_ollama_that_does_not_list_its_models_is_believed() -> None:
    async with serve_script(ollama(tags=NOT_FOUND)) as server:
        assert await ready("ollama", server.base_url, "missing") == []


async def test_missing_model_is_pulled() -> None:
    pull = lines(
        {"status": "pulling manifest"},
        {"status": "pulling a", "digest": "a", "total": 200, "completed": 50},
        {"status": "pulling b", "digest": "b", "total": 100, "completed": 100},
        {"status": "pulling a", "digest": "a", "total": 200},
        "odd",
        {"status": "success"},
    )
    async with serve_script(ollama(pull=pull)) as server:
        steps = await ready("ollama", server.base_url, "missing")
        assert json.loads(server.requests[-1].raw) == {"model": "missing", "stream": True}
    assert steps == [
        Pulled("Pulling model missing...", 0, 0),
        Pulled("pulling manifest", 0, 0),
        Pulled("pulling a", 50, 200),
        Pulled("pulling b", 150, 300),
        Pulled("pulling a", 100, 300),
        Pulled("success", 0, 0),
    ]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lines({"error": "no such model"}), "Pull failed: no such model"),
        (lines({"status": "pulling manifest"}), "Pull stream ended unexpectedly without success."),
        (NOT_FOUND, "failed to start pull: HTTP 404 Not Found"),
        (
            Reply(body=b"x" * ((1 << 20) + 100_000), framing=SIZED),
            "Pull failed: a line of the answer is longer than 1048576 bytes",
        ),
    ],
)
async def test_pull_that_fails_is_told(reply: Reply, why: str) -> None:
    async with serve_script(ollama(pull=reply)) as server:
        message = await failure("ollama", server.base_url, "missing")
    assert message == f"OSS setup failed: OSS setup failed: {why}"


async def test_pull_that_is_cut_short_is_told() -> None:
    cut = Reply(body=lines(*PULLED).body, framing=SIZED, cut_at=10)
    async with serve_script(ollama(pull=cut)) as server:
        message = await failure("ollama", server.base_url, "missing")
    assert message.startswith("OSS setup failed: OSS setup failed: Pull failed: ")


# LM Studio


def lmstudio(*models: str) -> Callable[[Request], Reply]:
    listed = answer({"data": [{"id": model} for model in models]})
    return lambda request: listed if request.path == "/v1/models" else NOT_FOUND


def lms_at(path: Path, *, code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$@" > {path}.called\necho chatter\nexit {code}\n')
    path.chmod(0o755)
    return path


def called_with(lms: Path) -> str:
    return Path(f"{lms}.called").read_text()


async def test_lmstudio_with_the_model_is_only_asked() -> None:
    async with serve_script(lmstudio("mine")) as server:
        assert await ready("lmstudio", server.base_url) == []
        assert paths(server) == ["/v1/models"]


async def test_lmstudio_in_trouble_is_told() -> None:
    async with serve_script(lambda _: Reply(status=500, body=b"", framing=SIZED)) as server:
        message = await failure("lmstudio", server.base_url)
    why = f"Server returned error: 500 Internal Server Error {NO_LMSTUDIO}"
    assert message == f"OSS setup failed: OSS setup failed: {why}"


@pytest.mark.parametrize("place", ["bin/lms", "home/.lmstudio/bin/lms"])
async def test_missing_model_is_downloaded_by_their_program(
    place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lms = lms_at(tmp_path / place)
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    async with serve_script(lmstudio("other")) as server:
        assert await ready("lmstudio", server.base_url, **env) == [Pulled("Downloading model: mine", 0, 0)]
    assert called_with(lms) == "get --yes mine\n"
    assert capfd.readouterr() == ("", "chatter\n"), "it must not speak on stdout"


async def test_download_that_fails_is_told(tmp_path: Path) -> None:
    lms_at(tmp_path / "lms", code=3)
    async with serve_script(lmstudio()) as server:
        message = await failure("lmstudio", server.base_url, PATH=str(tmp_path))
    assert message == "OSS setup failed: OSS setup failed: Model download failed with exit code: 3"


async def test_without_their_program_nothing_is_downloaded(tmp_path: Path) -> None:
    async with serve_script(lmstudio()) as server:
        message = await failure("lmstudio", server.base_url, PATH=str(tmp_path), HOME=str(tmp_path))
    assert message == f"OSS setup failed: OSS setup failed: {NO_LMS}"


async def test_other_providers_are_not_asked() -> None:
    async with serve_script([]) as server:
        assert await ready("mine", server.base_url) == []
        assert server.requests == []
