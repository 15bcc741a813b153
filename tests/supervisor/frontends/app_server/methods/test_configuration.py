"""`config/*` as a client sees them."""

import pytest

from pycodex.protocol.app import config
from support.app_server import Client, Refused, Scratch
from support.engine import MODEL, Place


async def test_every_key_has_a_value_and_every_value_an_origin(client: Client, place: Place) -> None:
    answer = await client.call("config/read", includeLayers=True)
    config.ConfigReadResponse.model_validate(answer)
    assert answer["config"]["model"] == MODEL
    assert answer["config"]["review_model"] is None
    user = {"type": "user", "file": f"{place.home}/config.toml"}
    assert answer["origins"]["model"]["name"] == user
    assert [layer["name"]["type"] for layer in answer["layers"]] == ["user", "system"]
    assert "layers" not in await client.call("config/read")


async def test_a_directory_has_layers_of_its_own(client: Client, place: Place) -> None:
    (place.workspace / ".codex").mkdir()
    (place.workspace / ".codex" / "config.toml").write_text('model_verbosity = "low"\n')
    answer = await client.call("config/read", includeLayers=True, cwd=str(place.workspace))
    (project,) = [layer for layer in answer["layers"] if layer["name"]["type"] == "project"]
    assert project["disabledReason"].startswith("To load config.toml, add ")
    assert answer["config"]["model_verbosity"] is None


async def test_a_broken_file_is_told(client: Client, place: Place) -> None:
    (place.home / "config.toml").write_text("model = 5\n")
    with pytest.raises(Refused) as raised:
        await client.call("config/read")
    assert raised.value.code == -32603
    assert "invalid type: integer `5`" in raised.value.message


async def test_what_is_written_is_read_with_its_version(client: Client, place: Place) -> None:
    written = await client.call("config/value/write", keyPath="model_verbosity", value="high", mergeStrategy="replace")
    config.ConfigWriteResponse.model_validate(written)
    assert written["status"] == "ok"
    answer = await client.call("config/read")
    assert answer["config"]["model_verbosity"] == "high"
    assert answer["origins"]["model_verbosity"]["version"] == written["version"]
    edits = [{"keyPath": "model_verbosity", "value": None, "mergeStrategy": "replace"}]
    await client.call("config/batchWrite", edits=edits, expectedVersion=written["version"], reloadUserConfig=True)
    assert "model_verbosity" not in (place.home / "config.toml").read_text()


async def test_a_refusal_carries_its_code(client: Client) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("config/value/write", keyPath="model", value=5, mergeStrategy="replace")
    assert raised.value.code == -32600
    assert raised.value.data == {"config_write_error_code": "configValidationError"}


async def test_what_a_flag_overrules_is_told(scratch: Scratch) -> None:
    scratch.server.overrides = ("model=flag",)
    client = await scratch.connect().hello()
    written = await client.call("config/value/write", keyPath="model", value="n", mergeStrategy="replace")
    config.ConfigWriteResponse.model_validate(written)
    assert written["status"] == "okOverridden"
    assert written["overriddenMetadata"]["effectiveValue"] == "flag"


async def test_nothing_is_required_here(client: Client) -> None:
    assert await client.call("configRequirements/read") == {"requirements": None}
