"""`gitDiffToRemote` and `getConversationSummary` as a client sees them."""

import json
import subprocess

import pytest

from pycodex.protocol.app import legacy
from support.app_server import Client, Refused
from support.engine import Place

THREAD = "019b0000-0000-7000-8000-00000000000a"


def git(place: Place, *arguments: str) -> None:
    argv = ("git", "-C", str(place.workspace), "-c", "user.name=t", "-c", "user.email=t@t", *arguments)
    subprocess.run(argv, check=True, env=place.env, capture_output=True)


async def test_the_difference_to_the_remote(client: Client, place: Place) -> None:
    git(place, "checkout", "-q", "-b", "main")
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    git(place, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(place, "remote", "add", "origin", "/nowhere")
    (place.workspace / "new").write_text("x\n")
    answer = await client.call("gitDiffToRemote", cwd=str(place.workspace))
    legacy.GitDiffToRemoteResponse.model_validate(answer)
    assert "+x\n" in answer["diff"]


async def test_without_a_remote_there_is_none(client: Client, place: Place) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("gitDiffToRemote", cwd=str(place.workspace))
    assert raised.value.message == f'failed to compute git diff to remote for cwd: "{place.workspace}"'


def write_session(place: Place, *events: object) -> str:
    folder = place.home / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-01-02T03-04-05-{THREAD}.jsonl"
    stamp = "2026-01-02T03:04:05.000Z"
    git_facts = {"commit_hash": "abc", "branch": "main", "repository_url": "u"}
    meta = {"id": THREAD, "timestamp": stamp, "cwd": "/w", "originator": "x", "cli_version": "0.1", "git": git_facts}
    lines = [("session_meta", meta), *(("event_msg", event) for event in events)]
    path.write_text("".join(json.dumps({"timestamp": stamp, "type": kind, "payload": p}) + "\n" for kind, p in lines))
    return str(path)


async def test_a_session_in_short(client: Client, place: Place) -> None:
    path = write_session(place, {"type": "user_message", "message": "hello there"})
    answer = await client.call("getConversationSummary", conversationId=THREAD)
    legacy.GetConversationSummaryResponse.model_validate(answer)
    summary = answer["summary"]
    assert summary.pop("updatedAt").endswith("Z")
    assert summary == {
        "conversationId": THREAD,
        "path": path,
        "preview": "hello there",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "modelProvider": "mock",
        "cwd": "/w",
        "cliVersion": "0.1",
        "source": "vscode",
        "gitInfo": {"sha": "abc", "branch": "main", "origin_url": "u"},
    }
    relative = path.removeprefix(f"{place.home}/")
    assert (await client.call("getConversationSummary", rolloutPath=relative))["summary"]["preview"] == "hello there"


async def test_a_session_in_which_nobody_spoke_has_no_preview(client: Client, place: Place) -> None:
    path = write_session(place)
    answer = await client.call("getConversationSummary", rolloutPath=path)
    assert answer["summary"]["preview"] == ""


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"conversationId": THREAD}, -32600, f"no rollout found for conversation id {THREAD}"),
        ({"rolloutPath": "none"}, -32603, "No such file or directory (os error 2)"),
        ({"rolloutPath": "/dev/null"}, -32603, "rollout at /dev/null is not a regular file"),
        ({"rolloutPath": "config.toml"}, -32603, "does not start with session metadata"),
    ],
)
async def test_what_is_no_session(client: Client, params: dict[str, str], code: int, message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("getConversationSummary", **params)
    assert raised.value.code == code
    assert raised.value.message.endswith(message)
