"""`command/exec` as a client sees it: real commands in real workers."""

import base64
import os
from typing import Any

import psutil
import pytest

from pycodex.protocol.app import command_exec
from pycodex.supervisor.config.requirements import Allowed, Requirements
from pycodex.supervisor.frontends.app_server.client_commands import MAX_DELTA_BYTES
from pycodex.supervisor.frontends.app_server.methods import command_exec as methods
from support.app_server import Client, Refused, Scratch
from support.engine import Place
from support.waiting import eventually_async

FULL = {"type": "dangerFullAccess"}


async def test_a_command_is_run_in_the_directory_of_the_server(client: Client, place: Place) -> None:
    answer = await client.call("command/exec", command=["sh", "-c", "pwd; echo err >&2; exit 3"])
    command_exec.CommandExecResponse.model_validate(answer)
    assert answer == {"exitCode": 3, "stdout": f"{place.workspace}\n", "stderr": "err\n"}


async def test_the_configured_sandbox_holds_unless_another_is_asked_for(client: Client, place: Place) -> None:
    command = ["touch", str(place.workspace / "made")]
    assert (await client.call("command/exec", command=command))["exitCode"] != 0
    assert not (place.workspace / "made").exists()
    policy = {"type": "workspaceWrite"}
    assert (await client.call("command/exec", command=command, sandboxPolicy=policy))["exitCode"] == 0


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"command": []}, -32600, "command must not be empty"),
        ({"size": {"rows": 1, "cols": 1}}, -32602, "command/exec size requires tty: true"),
        (
            {"outputBytesCap": 1, "disableOutputCap": True},
            -32602,
            "command/exec cannot set both outputBytesCap and disableOutputCap",
        ),
        (
            {"timeoutMs": 1, "disableTimeout": True},
            -32602,
            "command/exec cannot set both timeoutMs and disableTimeout",
        ),
        ({"timeoutMs": -1}, -32602, "command/exec timeoutMs must be non-negative, got -1"),
        (
            {"tty": True, "processId": "p", "size": {"rows": 0, "cols": 1}},
            -32602,
            "command/exec size rows and cols must be greater than 0",
        ),
        ({"tty": True}, -32600, "command/exec tty or streaming requires a client-supplied processId"),
        (
            {"command": ["/nowhere"]},
            -32603,
            "failed to spawn command: No such file or directory (os error 2)",
        ),
        ({"env": {"A": "x" * (9 << 20)}}, -32603, "exec failed: "),
    ],
)
async def test_wishes_that_make_no_sense(client: Client, params: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("command/exec", **{"command": ["true"], **params})
    assert raised.value.code == code
    assert raised.value.message.startswith(message)


async def test_a_conversation_with_a_command(client: Client) -> None:
    request = await client.ask(
        "command/exec", command=["cat"], processId="p", streamStdin=True, streamStdoutStderr=True, disableTimeout=True
    )
    # Without waiting: the write is behind the command, however soon it comes.
    assert await client.call("command/exec/write", processId="p", deltaBase64="aGV5Cg==") == {}
    delta = await client.until("command/exec/outputDelta")
    command_exec.CommandExecOutputDeltaNotification.model_validate(delta)
    assert delta == {"processId": "p", "stream": "stdout", "deltaBase64": "aGV5Cg==", "capReached": False}
    with pytest.raises(Refused, match='duplicate active command/exec process id: "p"'):
        await client.call("command/exec", command=["cat"], processId="p")
    with pytest.raises(Refused, match="invalid deltaBase64: Invalid symbol 33, offset 0"):
        await client.call("command/exec/write", processId="p", deltaBase64="!!")
    with pytest.raises(Refused, match="requires deltaBase64 or closeStdin"):
        await client.call("command/exec/write", processId="p")
    with pytest.raises(Refused, match="not attached to a PTY"):
        await client.call("command/exec/resize", processId="p", size={"rows": 1, "cols": 1})
    await client.call("command/exec/write", processId="p", closeStdin=True)
    assert await answer_to(client, request) == {"exitCode": 0, "stdout": "", "stderr": ""}
    with pytest.raises(Refused, match='no active command/exec for process id "p"'):
        await client.call("command/exec/write", processId="p", closeStdin=True)


async def answer_to(client: Client, request: int) -> Any:
    """Also if it came before what was asked last."""
    while True:
        for message in client.heard:
            if message.get("id") == request and "method" not in message:
                return message["result"]
        await client.hear()


async def test_a_terminal_is_resized_and_ended(client: Client) -> None:
    script = "stty size; trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done"
    request = await client.ask(
        "command/exec", command=["bash", "-c", script], processId="t", tty=True, size={"rows": 5, "cols": 7}
    )
    await said_so(client, "5 7\r\nready")
    assert await client.call("command/exec/resize", processId="t", size={"rows": 9, "cols": 11}) == {}
    await said_so(client, "9 11")
    assert await client.call("command/exec/terminate", processId="t") == {}
    assert (await answer_to(client, request))["exitCode"] == 1


async def said_so(client: Client, text: str) -> None:
    while text not in "".join(
        base64.b64decode(message["params"]["deltaBase64"]).decode()
        for message in client.heard
        if message.get("method") == "command/exec/outputDelta"
    ):
        await client.hear()


async def test_much_output_comes_in_small_pieces_and_all_of_it(client: Client) -> None:
    command = ["head", "-c", "100000", "/dev/zero"]
    params = {"processId": "ö", "streamStdoutStderr": True, "outputBytesCap": 50_000}
    answer = await client.call("command/exec", command=command, **params)
    assert answer == {"exitCode": 0, "stdout": "", "stderr": ""}
    deltas = [each["params"] for each in client.heard if each.get("method") == "command/exec/outputDelta"]
    sizes = [len(base64.b64decode(delta["deltaBase64"])) for delta in deltas]
    assert sum(sizes) == 50_000
    assert max(sizes) <= MAX_DELTA_BYTES
    assert [delta["capReached"] for delta in deltas] == [False] * (len(deltas) - 1) + [True]


async def test_without_streaming_there_is_no_writing(client: Client) -> None:
    request = await client.ask("command/exec", command=["sleep", "60"], processId="p", disableTimeout=True)
    with pytest.raises(Refused, match="stdin streaming is not enabled for this command/exec"):
        await client.call("command/exec/write", processId="p", deltaBase64="YQ==")
    await client.call("command/exec/terminate", processId="p")
    assert (await answer_to(client, request))["exitCode"] == -1


async def test_process_ids_are_those_of_one_connection(scratch: Scratch, client: Client) -> None:
    other = await scratch.connect().hello()
    request = await client.ask("command/exec", command=["cat"], processId="p", streamStdin=True, disableTimeout=True)
    with pytest.raises(Refused, match="no active command/exec"):
        await other.call("command/exec/terminate", processId="p")
    await client.call("command/exec/terminate", processId="p")
    await answer_to(client, request)


async def test_the_end_of_the_connection_is_that_of_its_commands(scratch: Scratch, client: Client) -> None:
    script = "echo $$; exec sleep 1000"
    await client.ask(
        "command/exec",
        command=["sh", "-c", script],
        processId="p",
        streamStdoutStderr=True,
        disableTimeout=True,
        sandboxPolicy=FULL,
    )
    delta = await client.until("command/exec/outputDelta")
    process = int(base64.b64decode(delta["deltaBase64"]))
    os.kill(process, 0)
    await client.stream.aclose()
    await eventually_async(lambda: not psutil.pid_exists(process))


async def test_an_administrators_word_holds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    demanded = Requirements(sandbox_modes=Allowed(("read-only",), "/etc/codex/requirements.toml"))
    monkeypatch.setattr(methods, "demanded_here", lambda _: demanded)
    with pytest.raises(Refused, match=r"invalid sandbox policy: .*DangerFullAccess.* is not in the allowed set"):
        await client.call("command/exec", command=["true"], sandboxPolicy=FULL)
