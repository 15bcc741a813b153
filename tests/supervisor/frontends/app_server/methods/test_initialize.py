"""The first request of a connection."""

import pytest

from support.app_server import Refused, exactly, open_app_server
from support.engine import Place


async def test_client_and_server_say_who_they_are(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = scratch.connect()
        result = await client.call("initialize", clientInfo={"name": "probe", "title": "P", "version": "1.2"})
        assert result["userAgent"].startswith("probe/0.116.0 (")
        assert "(probe; 1.2)" in result["userAgent"]
        assert result["platformFamily"] == "unix"
        assert result["codexHome"] == str(place.home)


async def test_name_that_no_header_can_hold_is_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = scratch.connect()
        wrong = "Invalid clientInfo.name: 'a\nb'. Must be a valid HTTP header value."
        with pytest.raises(Refused, match=exactly(wrong)):
            await client.call("initialize", clientInfo={"name": "a\nb", "version": "1"})
        # It may try again.
        await client.hello()


async def test_what_is_wrong_with_the_configuration_is_told_afterwards(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        (place.home / "config.toml").write_text("model = 1\n")
        client = await scratch.connect().hello()
        warning = await client.until("configWarning")
        assert warning["summary"] == "Invalid configuration; using defaults."
        assert "config.toml" in warning["details"]
