"""`fuzzyFileSearch` and its sessions as a client sees them."""

import pytest

from pycodex.protocol.app import file_search
from support.app_server import Client, Refused, Scratch
from support.engine import Place


@pytest.fixture(autouse=True)
def tree(place: Place) -> None:
    for name in ("camelCase/FooBar123/fooBar.py", "camelCase/foo_bar.py", "other"):
        path = place.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def expected(place: Place) -> list[dict[str, object]]:
    root = str(place.workspace)
    return [
        {
            "root": root,
            "path": "camelCase/FooBar123/fooBar.py",
            "file_name": "fooBar.py",
            "score": 134,
            "indices": [20, 21, 22, 23, 24],
        },
        {
            "root": root,
            "path": "camelCase/foo_bar.py",
            "file_name": "foo_bar.py",
            "score": 129,
            "indices": [10, 11, 12, 14, 15],
        },
    ]


async def test_files_are_found_by_parts_of_their_paths(client: Client, place: Place) -> None:
    answer = await client.call("fuzzyFileSearch", query="fooba", roots=[str(place.workspace)])
    file_search.FuzzyFileSearchResponse.model_validate(answer)
    assert answer == {"files": expected(place)}


@pytest.mark.parametrize("params", [{"query": "", "roots": ["/"]}, {"query": "a", "roots": []}])
async def test_nothing_is_searched_for_nothing(client: Client, params: dict[str, object]) -> None:
    assert await client.call("fuzzyFileSearch", **params) == {"files": []}


async def test_of_searches_with_one_token_the_last_is_answered(client: Client, place: Place) -> None:
    roots = [str(place.workspace)]
    first = await client.ask("fuzzyFileSearch", query="fooba", roots=roots, cancellationToken="t")
    second = await client.ask("fuzzyFileSearch", query="fooba", roots=roots, cancellationToken="t")
    answers: dict[int, object] = {}
    while answers.keys() != {first, second}:
        message = await client.hear()
        if message.get("id") in (first, second):
            answers[message["id"]] = message["result"]["files"]
    assert answers[second] == expected(place)


async def test_a_session_answers_every_query(client: Client, place: Place) -> None:
    await client.call("fuzzyFileSearch/sessionStart", sessionId="s", roots=[str(place.workspace)])
    assert await client.until("fuzzyFileSearch/sessionUpdated") == {"sessionId": "s", "query": "", "files": []}
    assert await client.until("fuzzyFileSearch/sessionCompleted") == {"sessionId": "s"}
    await client.call("fuzzyFileSearch/sessionUpdate", sessionId="s", query="fooba")
    update = await client.until("fuzzyFileSearch/sessionUpdated")
    file_search.FuzzyFileSearchSessionUpdatedNotification.model_validate(update)
    assert update == {"sessionId": "s", "query": "fooba", "files": expected(place)}
    await client.until("fuzzyFileSearch/sessionCompleted")
    assert await client.call("fuzzyFileSearch/sessionStop", sessionId="s") == {}
    assert await client.call("fuzzyFileSearch/sessionStop", sessionId="s") == {}
    with pytest.raises(Refused, match="fuzzy file search session not found: s"):
        await client.call("fuzzyFileSearch/sessionUpdate", sessionId="s", query="x")


async def test_a_session_that_is_started_anew_forgets_the_old_one(client: Client, place: Place) -> None:
    await client.call("fuzzyFileSearch/sessionStart", sessionId="s", roots=["/nowhere"])
    await client.call("fuzzyFileSearch/sessionStart", sessionId="s", roots=[str(place.workspace)])
    await client.call("fuzzyFileSearch/sessionUpdate", sessionId="s", query="fooba")
    while (await client.until("fuzzyFileSearch/sessionUpdated"))["files"] != expected(place):
        pass


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sessionId": "", "roots": ["/"]}, "sessionId must not be empty"),
        (
            {"sessionId": "s", "roots": []},
            "failed to start fuzzy file search session: at least one search directory is required",
        ),
        ({"sessionId": "s", "roots": ["/"] * 101}, "101 roots are more than 100"),
    ],
)
async def test_sessions_that_are_not_started(client: Client, params: dict[str, object], message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("fuzzyFileSearch/sessionStart", **params)
    assert raised.value.message == message


async def test_sessions_are_bounded(client: Client) -> None:
    for number in range(16):
        await client.call("fuzzyFileSearch/sessionStart", sessionId=f"{number}", roots=["/nowhere"])
    with pytest.raises(Refused, match="16 fuzzy file search sessions are open"):
        await client.call("fuzzyFileSearch/sessionStart", sessionId="x", roots=["/nowhere"])


async def test_sessions_are_experimental(scratch: Scratch) -> None:
    client = await scratch.connect().hello(experimental=False)
    with pytest.raises(Refused, match="fuzzyFileSearch/sessionStop requires experimentalApi capability"):
        await client.call("fuzzyFileSearch/sessionStop", sessionId="s")
