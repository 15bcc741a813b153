"""`hooks/list`."""

from support.app_server import Client
from support.engine import Place


async def test_there_are_none_anywhere(client: Client, place: Place) -> None:
    nothing: dict[str, list[str]] = {"hooks": [], "warnings": [], "errors": []}
    assert await client.call("hooks/list") == {"data": [{"cwd": str(place.workspace), **nothing}]}
    told = await client.call("hooks/list", cwds=["/tmp", "/no/such/place"])
    assert told == {"data": [{"cwd": "/tmp", **nothing}, {"cwd": "/no/such/place", **nothing}]}


async def test_configuration_that_cannot_be_read_is_named(client: Client, place: Place) -> None:
    (place.home / "config.toml").write_text("model = 3\n")
    (entry,) = (await client.call("hooks/list"))["data"]
    assert entry["hooks"] == []
    (error,) = entry["errors"]
    assert error["path"] == str(place.workspace)
    assert "model" in error["message"]
