"""`thread/shellCommand`: who may have commands run, and what clients are told of them."""

import shlex
import sys
from functools import partial

import pytest

from pycodex.supervisor.frontends.app_server.listening import listen
from pycodex.supervisor.model.scripted import Hold, Reply, say
from support.app_server import Client, Refused, exactly, open_app_server, statuses, told
from support.engine import Place, run
from support.marked import Mark
from support.waiting import eventually_async

UNKNOWN = "01950000-0000-7000-8000-0000000000ff"

# Speaks enough of a WebSocket to ask for a command; prints how it was received.
INTRUDER = """
import base64, json, os, socket, sys
port, thread_id, command = sys.argv[1:]
def frame(message):
    data, mask = json.dumps(message).encode(), b"\\0\\0\\0\\0"
    size = bytes((0x80 | len(data),)) if len(data) < 126 else bytes((0x80 | 126,)) + len(data).to_bytes(2, "big")
    return b"\\x81" + size + mask + data
with socket.create_connection(("127.0.0.1", int(port))) as connection:
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(("GET / HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
        f"Sec-WebSocket-Key: {key}\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n").encode())
    status = connection.recv(4096).split(b" ")[1].decode()
    print("status", status)
    info = {"name": "intruder", "version": "1"}
    try:
        connection.sendall(frame({"id": 1, "method": "initialize", "params": {"clientInfo": info}}))
        connection.sendall(frame({"id": 2, "method": "thread/shellCommand",
            "params": {"threadId": thread_id, "command": command}}))
        heard = b""
        while status == "101" and b'"id":2' not in heard.replace(b" ", b"") and (more := connection.recv(1 << 16)):
            heard += more
    except OSError:
        pass
"""


async def typed(client: Client, thread_id: str, command: str) -> None:
    assert await client.call("thread/shellCommand", threadId=thread_id, command=command) == {}


async def test_command_is_told_as_an_item_of_a_turn(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello(experimental=False)
        thread_id = await client.start()
        start = len(client.heard)
        await typed(client, thread_id, "  echo hello ")
        await client.until("turn/completed", turn__status="completed")
        assert told(client.heard[start:]) == [
            "answer",
            "turn/started",
            "item/started commandExecution",
            "item/commandExecution/outputDelta",
            "item/completed commandExecution",
            "turn/completed",
        ]
        assert statuses(client.heard[start:]) == ["active", "idle"]
        (item,) = [each["params"]["item"] for each in client.heard if each.get("method") == "item/completed"]
        assert (item["source"], item["status"], item["exitCode"]) == ("userShell", "completed", 0)
        assert item["command"].endswith("'echo hello'")
        assert (item["aggregatedOutput"], item["cwd"]) == ("hello\n", str(place.workspace))


async def test_command_can_be_interrupted(place: Place) -> None:
    mark = Mark()
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await typed(client, thread_id, f"sleep {mark}")
        turn_id = (await client.until("turn/started"))["turn"]["id"]
        await eventually_async(mark.sleepers)
        text = {"type": "text", "text": "x"}
        with pytest.raises(Refused, match=exactly("cannot steer a shell command turn")):
            await client.call("turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[text])
        await client.call("turn/interrupt", threadId=thread_id, turnId=turn_id)
        await client.until("turn/completed", turn__id=turn_id, turn__status="interrupted")
        (item,) = [each["params"]["item"] for each in client.heard if each.get("method") == "item/completed"]
        assert (item["status"], item["exitCode"], item["aggregatedOutput"]) == ("failed", -1, "command aborted by user")
        await eventually_async(lambda: not mark.alive())


async def test_command_beside_a_turn_is_an_item_of_that_turn(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=[*say("half")[:2], Hold()])]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        text = {"type": "text", "text": "go"}
        turn = (await client.call("turn/start", threadId=thread_id, input=[text]))["turn"]
        await client.until("item/agentMessage/delta")
        await typed(client, thread_id, "echo beside")
        ended = await client.until("item/completed", item__type="commandExecution")
        assert (ended["turnId"], ended["item"]["source"]) == (turn["id"], "userShell")
        assert told(client.heard).count("turn/started") == 1


async def test_what_cannot_be_is_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        for command, text in (
            (" ", "command must not be empty"),
            ("a\0b", "command must not contain a NUL"),
            ("x" * (1 << 18), "command must be at most 131072 characters"),
        ):
            with pytest.raises(Refused, match=exactly(text)):
                await typed(client, thread_id, command)
        with pytest.raises(Refused, match=exactly(f"thread not found: {UNKNOWN}")):
            await typed(client, UNKNOWN, "true")


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")
@pytest.mark.parametrize("is_confined", [True, False])
async def test_confined_program_cannot_ask_for_one(place: Place, is_confined: bool) -> None:
    """The counterpart shows that the same program gets through where no sandbox is around it."""
    made = place.home.parent / "made"
    argv: list[str] = []
    script = [lambda: Reply(parts=run(shlex.join(argv), "c", yield_time_ms=20_000)), lambda: Reply(parts=say("tried"))]
    async with open_app_server(place, lambda _request: script.pop(0)()) as scratch:
        url: str = await scratch.nursery.start(partial(listen, "ws://127.0.0.1:0", scratch.server))
        client = await scratch.connect().hello()
        policy = {"type": "workspaceWrite", "networkAccess": True} if is_confined else {"type": "dangerFullAccess"}
        thread_id = await client.start()
        argv += [sys.executable, "-I", "-c", INTRUDER, url.rpartition(":")[2], thread_id, f"touch {made}"]
        heard = await client.turn(thread_id, "try it", sandboxPolicy=policy)
        ended = (each["params"]["item"] for each in heard if told([each]) == ["item/completed commandExecution"])
        tried = next(item for item in ended if item["id"] == "c")
        assert tried["aggregatedOutput"] == ("status 401\n" if is_confined else "status 101\n")
        if is_confined:
            assert not [each for each in heard if each.get("params", {}).get("item", {}).get("source") == "userShell"]
        else:
            await eventually_async(made.exists)
    assert made.exists() is not is_confined
