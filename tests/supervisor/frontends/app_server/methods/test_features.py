"""`experimentalFeature/list` as a client sees it."""

from pycodex.protocol.app import catalogue
from support.app_server import Client
from support.engine import Place


async def test_every_feature_says_whether_it_is_on(client: Client, place: Place) -> None:
    with (place.home / "config.toml").open("a") as file:
        file.write("[features]\nundo = true\n")
    answer = await client.call("experimentalFeature/list")
    catalogue.ExperimentalFeatureListResponse.model_validate(answer)
    first, second, *_ = answer["data"]
    assert first == {
        "name": "undo",
        "stage": "stable",
        "displayName": None,
        "description": None,
        "announcement": None,
        "enabled": True,
        "defaultEnabled": False,
    }
    assert second["name"] == "shell_tool"
    assert answer["nextCursor"] is None
    (repl,) = [feature for feature in answer["data"] if feature["name"] == "js_repl"]
    assert (repl["stage"], repl["displayName"]) == ("beta", "JavaScript REPL")
