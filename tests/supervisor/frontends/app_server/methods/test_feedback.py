"""`feedback/upload` as a client sees it."""

import pytest

from support.app_server import Client, Refused


async def test_nothing_is_ever_sent(client: Client) -> None:
    with pytest.raises(Refused, match="sending feedback is disabled by configuration"):
        await client.call("feedback/upload", classification="bug", includeLogs=True)
