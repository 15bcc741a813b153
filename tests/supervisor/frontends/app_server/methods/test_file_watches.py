"""`fs/watch` as a client sees it."""

import os
import sys

import pytest

from pycodex.supervisor.frontends.app_server.methods.file_watches import MAX_WATCHES
from support.app_server import Client, Refused, Scratch, exactly
from support.engine import Place
from support.waiting import eventually_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


def instances() -> int:
    """How many descriptors of this process tell of changes."""
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum("inotify" in os.readlink(link) for link in links if os.path.islink(link))


async def test_changes_are_told_to_whoever_watches_until_they_do_not(scratch: Scratch, place: Place) -> None:
    client, other = [await scratch.connect().hello(experimental=False) for _ in range(2)]
    watched = str(place.workspace)
    assert await client.call("fs/watch", watchId="w", path=watched) == {"path": watched}
    (place.workspace / "made").write_text("x")
    changed = await client.until("fs/changed")
    assert changed == {"watchId": "w", "changedPaths": [str(place.workspace / "made")]}
    with pytest.raises(Refused, match=exactly("watchId already exists: w")):
        await client.call("fs/watch", watchId="w", path=watched)
    # What is another connection's cannot be ended.
    assert await other.call("fs/unwatch", watchId="w") == {}
    (place.workspace / "again").write_text("x")
    await client.until("fs/changed")
    assert await client.call("fs/unwatch", watchId="w") == {}
    await client.call("fs/watch", watchId="last", path=str(place.home / "config.toml"))
    (place.workspace / "unheard").write_text("x")
    (place.home / "config.toml").touch()
    assert (await client.until("fs/changed"))["watchId"] == "last"
    assert not [each for each in other.heard if each.get("method") == "fs/changed"]


async def test_watches_end_with_their_connection(scratch: Scratch, place: Place) -> None:
    before = instances()
    client = await scratch.connect().hello()
    await client.call("fs/watch", watchId="w", path=str(place.workspace))
    assert instances() == before + 1
    await client.stream.aclose()
    await eventually_async(lambda: instances() == before, what="the descriptor is closed")


async def test_what_cannot_be_watched_is_refused(client: Client, place: Place) -> None:
    with pytest.raises(Refused, match=exactly("No such file or directory (os error 2)")) as refusal:
        await client.call("fs/watch", watchId="w", path="/no/such/place")
    assert refusal.value.code == -32603
    with pytest.raises(Refused, match=exactly("file name contained an unexpected NUL byte")):
        await client.call("fs/watch", watchId="w", path="/a\0b")
    for number in range(MAX_WATCHES):
        await client.call("fs/watch", watchId=str(number), path=str(place.workspace))
    with pytest.raises(Refused, match="paths are watched by this connection"):
        await client.call("fs/watch", watchId="more", path=str(place.workspace))
