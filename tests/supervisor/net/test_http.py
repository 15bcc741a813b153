"""The way to a server: straight, through a proxy, and only to one whose certificate is believed."""

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.model.scripted import SIZED, Reply, serve_script
from pycodex.supervisor.net.http import LANES, NetworkFailure, open_http
from support.interpreter import modules_loaded_by

HELLO = Reply(body=b"hello", framing=SIZED)


async def body_of(url: str, env: dict[str, str]) -> str:
    async with open_http(env) as http:
        answer = await http.post(url, [("x-a", "ü")], b"{}")
        return await answer.text(most_bytes=100, seconds=10)


async def test_straight() -> None:
    async with serve_script([HELLO]) as server:
        assert await body_of(f"{server.base_url}/x?a=b", {}) == "hello"
        (request,) = server.requests
    assert (request.method, request.path, request.raw) == ("POST", "/v1/x?a=b", b"{}")


@pytest.mark.parametrize("value", ["Bearer secret\nsecret", "secret\r", "x secret\0y", "secret\fy", "secret\vy"])
async def test_refused_header_is_named_and_its_value_is_not(value: str) -> None:
    async with serve_script([HELLO]) as server, open_http({}) as http:
        with pytest.raises(NetworkFailure, match="authorization") as caught:
            await http.post(server.base_url, [("authorization", f"{value}end")], b"")
    assert caught.value.is_permanent
    assert "secret" not in caught.value.reason


async def test_plain_requests_go_through_the_proxy() -> None:
    async with serve_script([HELLO]) as proxy:
        env = {"http_proxy": proxy.base_url.removesuffix("/v1").replace("://", "://us%20er:pw@")}
        assert await body_of("http://model.invalid/v1", env) == "hello"
        (request,) = proxy.requests
    assert request.path == "http://model.invalid/v1"
    assert request.headers["host"] == "model.invalid"
    assert request.headers["proxy-authorization"] == "Basic dXMgZXI6cHc="


async def test_exempt_host_is_asked_straight() -> None:
    async with serve_script([HELLO]) as server:
        env = {"http_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.0/8"}
        assert await body_of(server.base_url, env) == "hello"


async def test_a_proxy_that_refuses_the_tunnel_is_a_failure() -> None:
    async with serve_script([Reply(status=407, body=b"", framing=SIZED)]) as proxy:
        with pytest.raises(NetworkFailure) as caught:
            await body_of("https://model.invalid/v1", {"https_proxy": proxy.base_url})
        (request,) = proxy.requests
    assert (request.method, request.path) == ("CONNECT", "model.invalid:443")
    assert "407" in caught.value.reason
    assert not caught.value.is_permanent


async def test_a_proxy_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(NetworkFailure, match=r"socks5://127\.0\.0\.1:9 is not supported") as caught:
        await body_of("http://model.invalid/v1", {"all_proxy": "socks5://me:secret@127.0.0.1:9"})
    assert caught.value.is_permanent


async def test_refused_connection_says_so() -> None:
    async with serve_script([]) as server:
        url = server.base_url
    with pytest.raises(NetworkFailure, match="refused") as caught:
        await body_of(url, {})
    assert not caught.value.is_permanent


async def test_a_body_in_tiny_pieces_keeps_nobody_waiting() -> None:
    """Between two of them everybody else has a turn."""
    taken = most = 0

    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        await stream.send_all(b"1\r\nx\r\n" * 2000 + b"0\r\n\r\n")

    async def watch() -> None:
        nonlocal most
        while True:
            before = taken
            await trio.lowlevel.checkpoint()
            most = max(most, taken - before)

    async with trio.open_nursery() as nursery, open_http({}) as http:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        nursery.start_soon(watch)
        answer = await http.get(f"http://127.0.0.1:{listener.socket.getsockname()[1]}/")
        while await answer.chunk() is not None:
            taken += 1
        nursery.cancel_scope.cancel()
    assert taken == 2000
    assert most < 10


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of its own for 127.0.0.1, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("makes its certificate with openssl")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-out", paths[0], "-keyout", paths[1], "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    return paths


@asynccontextmanager
async def tls_front(certificate: tuple[Path, Path], port: int) -> AsyncIterator[str]:
    """Speaks TLS and passes what it hears to the plain server behind it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    async def copy(source: trio.abc.ReceiveStream, target: trio.abc.SendStream) -> None:
        while data := await source.receive_some(65536):
            await target.send_all(data)

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            async with await trio.open_tcp_stream("127.0.0.1", port) as behind, trio.open_nursery() as nursery:
                nursery.start_soon(copy, behind, stream)
                await copy(stream, behind)
                nursery.cancel_scope.cancel()
        except* trio.BrokenResourceError:
            # A client that does not believe us hangs up.
            pass

    async with trio.open_nursery() as nursery:
        start = partial(trio.serve_ssl_over_tcp, serve, 0, context, host="127.0.0.1")
        listeners = await nursery.start(start)
        yield f"https://127.0.0.1:{listeners[0].transport_listener.socket.getsockname()[1]}/v1"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("variable", ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"])
async def test_certificate_of_the_named_file_is_believed(certificate: tuple[Path, Path], variable: str) -> None:
    async with serve_script([HELLO]) as server:
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
        async with tls_front(certificate, port) as url:
            assert await body_of(url, {variable: str(certificate[0])}) == "hello"


async def test_unknown_certificate_is_not_believed(certificate: tuple[Path, Path]) -> None:
    async with serve_script([HELLO]) as server:
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
        async with tls_front(certificate, port) as url:
            with pytest.raises(NetworkFailure, match="certificate verify failed"):
                await body_of(url, {})
        assert server.requests == []


async def test_bad_certificate_file_is_named() -> None:
    with pytest.raises(NetworkFailure, match="CODEX_CA_CERTIFICATE names /nonexistent") as caught:
        await body_of("https://127.0.0.1:9/v1", {"CODEX_CA_CERTIFICATE": "/nonexistent"})
    assert caught.value.is_permanent


async def test_many_first_requests_share_one_pool() -> None:
    async with serve_script(lambda _: HELLO) as server, open_http({}) as http:

        async def one() -> None:
            answer = await http.post(server.base_url, [], b"")
            await answer.text(most_bytes=10, seconds=10)

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(one)
        first = {request.connection for request in server.requests}
        await one()
    assert server.requests[-1].connection in first


def test_the_half_of_httpx_that_we_do_not_need_is_not_loaded() -> None:
    loaded = modules_loaded_by("import pycodex.supervisor.model.client, pycodex.supervisor.model.catalog, httpcore")
    unwanted = {"httpx", "http.cookiejar", "urllib.request", "email.message", "pydantic", "rich", "click", "pygments"}
    assert unwanted & loaded == set()
    assert "httpcore" not in modules_loaded_by("import pycodex.supervisor.model.client")


async def test_requests_of_one_lane_share_a_connection_and_those_of_others_do_not() -> None:
    async with serve_script(lambda _: HELLO) as server, open_http({}) as http:
        lanes = [http.lane() for _ in range(LANES + 1)]
        assert sorted(lanes[:LANES]) == list(range(LANES))
        assert lanes[LANES] == lanes[0]
        for lane in (1, 1, 2, 1):
            answer = await http.post(f"{server.base_url}/responses", [], b"{}", lane=lane)
            await answer.text(most_bytes=1000, seconds=60)
        assert [request.connection for request in server.requests] == [0, 0, 1, 0]
