"""Questions that a client has put by itself, as it counts them."""

import pytest

from support.app_server import Client, Refused


async def test_they_are_counted_for_each_thread(client: Client) -> None:
    one, other = await client.start(), await client.start()
    assert await client.call("thread/increment_elicitation", threadId=one) == {"count": 1, "paused": True}
    assert await client.call("thread/increment_elicitation", threadId=one) == {"count": 2, "paused": True}
    assert await client.call("thread/increment_elicitation", threadId=other) == {"count": 1, "paused": True}
    assert await client.call("thread/decrement_elicitation", threadId=other) == {"count": 0, "paused": False}
    with pytest.raises(Refused, match="out-of-band elicitation count is already zero"):
        await client.call("thread/decrement_elicitation", threadId=other)
