"""`process/*` as a client sees it: real programs in real workers."""

import base64
from typing import Any

import pytest

from support.app_server import Client, Refused, Scratch, exactly, told
from support.engine import Place
from support.marked import Mark
from support.waiting import eventually_async


async def spawn(client: Client, place: Place, *command: str, **params: Any) -> None:
    given = {"command": list(command), "processHandle": "p", "cwd": str(place.workspace), **params}
    assert await client.call("process/spawn", **given) == {}


def shell(script: str) -> tuple[str, ...]:
    return "sh", "-c", script


async def test_program_is_outside_of_the_sandbox_and_its_end_is_told(client: Client, place: Place) -> None:
    outside = place.home.parent / "made"
    start = len(client.heard)
    await spawn(client, place, *shell(f"touch {outside}; pwd; echo err >&2; echo $X; exit 3"), env={"X": "set"})
    assert await client.until("process/exited") == {
        "processHandle": "p",
        "exitCode": 3,
        "stdout": f"{place.workspace}\nset\n",
        "stdoutCapReached": False,
        "stderr": "err\n",
        "stderrCapReached": False,
    }
    assert outside.exists()
    assert told(client.heard[start:]) == ["answer", "process/exited"]
    # The handle is free again.
    await spawn(client, place, "true")
    await client.until("process/exited", exitCode=0)


async def test_streams_are_told_piece_by_piece_up_to_their_cap(client: Client, place: Place) -> None:
    await spawn(client, place, *shell("printf 12345678"), streamStdoutStderr=True, outputBytesCap=5)
    delta = await client.until("process/outputDelta")
    assert (delta["stream"], base64.b64decode(delta["deltaBase64"]), delta["capReached"]) == ("stdout", b"12345", True)
    exited = await client.until("process/exited")
    assert (exited["stdout"], exited["stdoutCapReached"], exited["stderrCapReached"]) == ("", True, False)


async def test_program_is_written_to(client: Client, place: Place) -> None:
    await spawn(client, place, "cat", streamStdin=True, timeoutMs=None, outputBytesCap=None)
    text = base64.b64encode(b"hello").decode()
    await client.call("process/writeStdin", processHandle="p", deltaBase64=text)
    await client.call("process/writeStdin", processHandle="p", closeStdin=True)
    assert (await client.until("process/exited"))["stdout"] == "hello"


async def test_terminal_is_resized(client: Client, place: Place) -> None:
    script = shell("read x; stty size; read x")
    await spawn(client, place, *script, tty=True, size={"rows": 10, "cols": 20}, timeoutMs=None)
    await client.call("process/resizePty", processHandle="p", size={"rows": 33, "cols": 44})
    enter = base64.b64encode(b"\n").decode()
    await client.call("process/writeStdin", processHandle="p", deltaBase64=enter)
    said = b""
    while b"33 44" not in said:
        said += base64.b64decode((await client.until("process/outputDelta"))["deltaBase64"])
    await client.call("process/kill", processHandle="p")
    await client.until("process/exited")


async def test_kill_ends_the_tree(client: Client, place: Place) -> None:
    mark = Mark()
    await spawn(client, place, *shell(f"sleep {mark} & sleep {mark}"), timeoutMs=None)
    await eventually_async(lambda: len(mark.sleepers()) == 2)
    assert await client.call("process/kill", processHandle="p") == {}
    assert (await client.until("process/exited"))["exitCode"] != 0
    await eventually_async(lambda: not mark.alive())


@pytest.mark.parametrize("timeout_ms", [100, 0])
async def test_timeout_is_told_by_its_code(client: Client, place: Place, timeout_ms: int) -> None:
    """Also one that is over before the program has begun."""
    await spawn(client, place, "sleep", "1000", timeoutMs=timeout_ms)
    assert (await client.until("process/exited"))["exitCode"] == 124


async def test_program_ends_with_its_connection(scratch: Scratch, place: Place) -> None:
    mark = Mark()
    client, other = [await scratch.connect().hello() for _ in range(2)]
    await spawn(client, place, "sleep", str(mark), timeoutMs=None)
    with pytest.raises(Refused, match=exactly('no active process for process handle "p"')):
        await other.call("process/kill", processHandle="p")
    await eventually_async(mark.sleepers)
    await client.stream.aclose()
    await eventually_async(lambda: not mark.alive())


async def test_it_is_for_experimental_clients(scratch: Scratch, place: Place) -> None:
    client = await scratch.connect().hello(experimental=False)
    with pytest.raises(Refused, match=exactly("process/spawn requires experimentalApi capability")):
        await spawn(client, place, "true")


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"command": []}, -32600, "command must not be empty"),
        ({"processHandle": ""}, -32600, "processHandle must not be empty"),
        ({"size": {"rows": 1, "cols": 1}}, -32602, "process/spawn size requires tty: true"),
        ({"timeoutMs": -1}, -32602, "process/spawn timeoutMs must be non-negative, got -1"),
        (
            {"tty": True, "size": {"rows": 0, "cols": 1}},
            -32602,
            "process size rows and cols must be greater than 0",
        ),
        ({"command": ["/nowhere"]}, -32603, "failed to spawn process: No such file or directory (os error 2)"),
        ({"command": ["a\0b"]}, -32603, "failed to spawn process: nul byte found in provided data"),
    ],
)
async def test_what_cannot_be_is_refused(
    client: Client, place: Place, params: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(Refused, match=exactly(message)) as refusal:
        await client.call(
            "process/spawn", **{"command": ["true"], "processHandle": "p", "cwd": str(place.workspace), **params}
        )
    assert refusal.value.code == code
    # Nothing of it is left.
    await spawn(client, place, "true")


async def test_what_a_running_program_cannot_take_is_refused(client: Client, place: Place) -> None:
    await spawn(client, place, "sleep", "1000", timeoutMs=None)
    for method, params, message in (
        ("process/writeStdin", {}, "process/writeStdin requires deltaBase64 or closeStdin"),
        ("process/writeStdin", {"closeStdin": True}, "stdin streaming is not enabled for this process"),
        (
            "process/resizePty",
            {"size": {"rows": 1, "cols": 1}},
            "failed to resize PTY: process is not attached to a PTY",
        ),
    ):
        with pytest.raises(Refused, match=exactly(message)):
            await client.call(method, processHandle="p", **params)
    with pytest.raises(Refused, match=exactly('duplicate active process handle: "p"')):
        await spawn(client, place, "true")
