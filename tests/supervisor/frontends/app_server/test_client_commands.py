"""What clients may do with the commands that they run, whichever way they started them."""

from collections.abc import AsyncIterator

import pytest

from support.app_server import Client, Refused, exactly, open_app_server
from support.engine import Place

IDS = {"processId": "p", "processHandle": "p"}


@pytest.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    async with open_app_server(place, []) as scratch:
        yield await scratch.connect().hello()


@pytest.mark.parametrize("method", ["command/exec/write", "process/writeStdin"])
async def test_input_is_checked_before_anybody_looks_for_the_command(client: Client, method: str) -> None:
    with pytest.raises(Refused, match=exactly(f"{method} requires deltaBase64 or closeStdin")) as refusal:
        await client.call(method, **IDS)
    assert refusal.value.code == -32602
    with pytest.raises(Refused, match=r"^invalid deltaBase64: "):
        await client.call(method, **IDS, deltaBase64="?")


@pytest.mark.parametrize(
    ("method", "what"), [("command/exec/resize", "command/exec"), ("process/resizePty", "process")]
)
@pytest.mark.parametrize("size", [{"rows": 0, "cols": 80}, {"rows": 24, "cols": 0}])
async def test_terminal_has_rows_and_columns(client: Client, method: str, what: str, size: dict[str, int]) -> None:
    with pytest.raises(Refused, match=exactly(f"{what} size rows and cols must be greater than 0")):
        await client.call(method, **IDS, size=size)
