"""`feedback/upload` as a client sees it."""

import json
import stat

import pytest

from support.app_server import Client, Refused
from support.engine import Place


async def test_what_is_said_is_kept_here_for_the_user_alone(client: Client, place: Place) -> None:
    answer = await client.call("feedback/upload", classification="bug", reason="it broke", includeLogs=False)
    (kept,) = (place.home / "feedback").iterdir()
    told = json.loads(kept.read_text())
    assert (told["classification"], told["reason"], told["log_files"]) == ("bug", "it broke", [])
    assert told["thread_id"] == answer["threadId"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_logs_are_named_not_copied(client: Client, place: Place) -> None:
    await client.call(
        "feedback/upload", classification="bug", includeLogs=True, threadId="t", extraLogFiles=["/etc/shadow"]
    )
    (kept,) = (place.home / "feedback").iterdir()
    assert json.loads(kept.read_text())["log_files"] == [str(place.home / "log"), "/etc/shadow"]


async def test_configuration_can_forbid_it(client: Client, place: Place) -> None:
    config = place.home / "config.toml"
    config.write_text(f"{config.read_text()}\n[feedback]\nenabled = false\n")
    with pytest.raises(Refused, match="sending feedback is disabled by configuration"):
        await client.call("feedback/upload", classification="bug", includeLogs=True)
    assert not (place.home / "feedback").exists()


async def test_endless_feedback_is_refused(client: Client) -> None:
    with pytest.raises(Refused, match="longer than 65536 bytes"):
        await client.call("feedback/upload", classification="bug", reason="x" * 70_000, includeLogs=False)
