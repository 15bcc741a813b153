"""Parameters are read, and refused, as the reference does: the texts below were seen there."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.app.account import ApiKeyLoginAccountParams, LoginAccountParams
from pycodex.protocol.app.config import ConfigValueWriteParams
from pycodex.protocol.app.names import EXPERIMENTAL_METHODS
from pycodex.protocol.app.response_items import OtherResponseItem
from pycodex.protocol.app.shape import (
    Anything,
    Boolean,
    External,
    Integer,
    ListOf,
    MapOf,
    Nullable,
    Real,
    Shape,
    Struct,
    Tagged,
    Text,
    Untagged,
    Words,
    shape_of,
)
from pycodex.protocol.app.tables import CLIENT_REQUESTS, NEWER_REQUESTS
from pycodex.protocol.app.thread_starts import ThreadResumeParams, ThreadStartParams
from pycodex.protocol.app.thread_store import ThreadListParams, ThreadMetadataUpdateParams, ThreadReadParams
from pycodex.protocol.app.turns import TurnStartParams
from pycodex.supervisor.frontends.app_server.method import INVALID_REQUEST, RpcError
from pycodex.supervisor.frontends.app_server.params import check_absent, check_stable, checked
from support.reference import reference_binary

TURN = {"threadId": "t", "input": []}
GRANULAR = {"granular": {"sandbox_approval": True, "rules": True, "mcp_elicitations": True}}


def refusal(method: str, params: object) -> str | None:
    model = CLIENT_REQUESTS[method].params
    try:
        if model is None:
            check_absent(params)
        else:
            checked(model, params)
    except RpcError as error:
        return error.message if error.code == INVALID_REQUEST else f"another code: {error.code}"
    return None


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("thread/read", {}, "missing field `threadId`"),
        ("thread/read", None, "missing field `params`"),
        ("thread/read", {"threadId": 5}, "invalid type: integer `5`, expected a string"),
        ("thread/read", {"threadId": None}, "invalid type: null, expected a string"),
        ("thread/read", {"threadId": {}}, "invalid type: map, expected a string"),
        ("thread/read", {"threadId": "t", "includeTurns": 1}, "invalid type: integer `1`, expected a boolean"),
        ("thread/read", {"threadId": "t", "includeTurns": None}, "invalid type: null, expected a boolean"),
        ("thread/read", "x", 'invalid type: string "x", expected struct ThreadReadParams'),
        ("thread/read", [], "invalid length 0, expected struct ThreadReadParams with 2 elements"),
        ("thread/read", ["t", True, 5], "invalid length 3, expected 2 elements in sequence"),
        ("collaborationMode/list", [1], "invalid length 1, expected 0 elements in sequence"),
        ("thread/start", {"model": 1.0}, "invalid type: floating point `1.0`, expected a string"),
        ("thread/start", {"cwd": True}, "invalid type: boolean `true`, expected a string"),
        ("thread/start", {"config": []}, "invalid type: sequence, expected a map"),
        ("turn/start", {**TURN, "cwd": 5}, "invalid type: integer `5`, expected path string"),
        ("fs/readFile", {"path": "a"}, "AbsolutePathBuf deserialized without a base path"),
        ("config/value/write", {"keyPath": "a", "mergeStrategy": "replace"}, "missing field `value`"),
        ("account/logout", 5, "invalid type: integer `5`, expected unit"),
        ("account/logout", {"a": 1}, "invalid type: map, expected unit"),
        (
            "getConversationSummary",
            {},
            "data did not match any variant of untagged enum GetConversationSummaryParams",
        ),
    ],
)
def test_wrong_types_are_told(method: str, params: object, text: str) -> None:
    assert refusal(method, params) == f"Invalid request: {text}"


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (-1, "invalid value: integer `-1`, expected u32"),
        (1 << 40, "invalid value: integer `1099511627776`, expected u32"),
        ((1 << 64) - 1, "invalid value: integer `18446744073709551615`, expected u32"),
        (1 << 64, "invalid type: floating point `1.8446744073709552e+19`, expected u32"),
        (1.5, "invalid type: floating point `1.5`, expected u32"),
        (1e20, "invalid type: floating point `1e+20`, expected u32"),
        (True, "invalid type: boolean `true`, expected u32"),
        ('a"\\\n\x01é', 'invalid type: string "a\\"\\\\\\n\\u{1}é", expected u32'),
    ],
)
def test_numbers_have_a_range(limit: object, text: str) -> None:
    assert refusal("thread/list", {"limit": limit}) == f"Invalid request: {text}"


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("x", "unknown variant `x`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`"),
        (5, "invalid type: integer `5`, expected string or map"),
        ([], "invalid type: sequence, expected string or map"),
        ({}, "invalid value: map, expected map with a single key"),
        ({"granular": {}, "b": 1}, "invalid value: map, expected map with a single key"),
        ({"granular": {}}, "missing field `sandbox_approval`"),
        ({"granular": 5}, "invalid type: integer `5`, expected struct variant"),
        ({"granular": [True]}, "invalid length 1, expected struct variant AskForApproval::Granular with 5 elements"),
        ("granular", "invalid type: unit variant, expected struct variant"),
        ({"never": 5}, "invalid type: integer `5`, expected unit"),
    ],
)
def test_words_and_single_keys(policy: object, text: str) -> None:
    assert refusal("thread/start", {"approvalPolicy": policy}) == f"Invalid request: {text}"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (5, "invalid type: integer `5`, expected internally tagged enum UserInput"),
        ({}, "missing field `type`"),
        ([], "missing field `type`"),
        ({"type": "x"}, "unknown variant `x`, expected one of `text`, `image`, `localImage`, `skill`, `mention`"),
        ({"type": 5}, "invalid value: integer `5`, expected variant index 0 <= i < 5"),
        ({"type": None}, "invalid type: null, expected variant identifier"),
        ({"type": "text"}, "missing field `text`"),
        ({"type": "text", "text": "a", "text_elements": [{}]}, "missing field `byteRange`"),
        (["text"], "invalid length 0, expected struct variant UserInput::Text with 2 elements"),
    ],
)
def test_variants_are_told_apart(item: object, text: str) -> None:
    assert refusal("turn/start", {"threadId": "t", "input": [item]}) == f"Invalid request: {text}"


def test_two_words_are_joined_otherwise_than_three() -> None:
    value = {"keyPath": "a", "value": 1, "mergeStrategy": "x"}
    assert (
        refusal("config/value/write", value) == "Invalid request: unknown variant `x`, expected `replace` or `upsert`"
    )


def test_the_first_wrong_key_is_told_and_missing_ones_last() -> None:
    assert refusal("thread/read", {"includeTurns": 5}) == (
        "Invalid request: invalid type: integer `5`, expected a boolean"
    )
    assert refusal("turn/start", {"input": 5, "threadId": 6}) == (
        "Invalid request: invalid type: integer `5`, expected a sequence"
    )


def test_unknown_fields_are_passed_over() -> None:
    assert checked(ThreadReadParams, {"threadId": "t", "later": {"a": 1}}) == ThreadReadParams(thread_id="t")


def test_lists_of_fields_and_words_as_keys_are_understood() -> None:
    assert checked(ThreadReadParams, ["t"]) == ThreadReadParams(thread_id="t")
    assert checked(ThreadStartParams, {"sandbox": {"read-only": None}}).sandbox == "read-only"
    login = checked(LoginAccountParams, ["apiKey", "secret"]).root
    assert login == ApiKeyLoginAccountParams(api_key="secret")


def test_null_and_absence_can_be_told_apart() -> None:
    cleared = checked(ThreadMetadataUpdateParams, {"threadId": "t", "gitInfo": {"sha": None}}).git_info
    assert cleared is not None
    assert cleared.model_fields_set == {"sha"}


def test_null_is_a_value_where_anything_is_one() -> None:
    written = checked(ConfigValueWriteParams, {"keyPath": "a", "value": None, "mergeStrategy": "replace"})
    assert written.value is None


def test_items_that_nobody_knows_are_kept_as_other() -> None:
    resumed = checked(ThreadResumeParams, {"threadId": "t", "history": [{"type": "brand_new", "a": 1}]})
    assert resumed.history == [OtherResponseItem()]


def test_earlier_names_of_modes_are_understood() -> None:
    mode = {"mode": "code", "settings": {"model": "m"}}
    read = checked(TurnStartParams, {**TURN, "collaborationMode": mode}).collaboration_mode
    assert read is not None
    assert read.mode == "default"


def test_what_newer_clients_send_is_taken() -> None:
    started = checked(ThreadStartParams, {"approvalsReviewer": "auto_review", "serviceTier": "priority"})
    assert (started.approvals_reviewer, started.service_tier) == ("auto_review", "priority")
    turn = checked(TurnStartParams, {**TURN, "clientUserMessageId": "c", "effort": "max"})
    assert (turn.client_user_message_id, turn.effort) == ("c", "max")


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("thread/start", {"dynamicTools": [{"name": "a", "description": "b", "inputSchema": {}}]}, "dynamicTools"),
        ("thread/start", {"mockExperimentalField": "x"}, "mockExperimentalField"),
        ("thread/start", {"experimentalRawEvents": True}, "experimentalRawEvents"),
        ("thread/start", {"persistExtendedHistory": True}, "persistFullHistory"),
        ("thread/resume", {"threadId": "t", "history": [{"type": "other"}]}, "history"),
        ("thread/resume", {"threadId": "t", "path": "p"}, "path"),
        ("thread/resume", {"threadId": "t", "persistExtendedHistory": True}, "persistFullHistory"),
        ("thread/fork", {"threadId": "t", "path": "p"}, "path"),
        (
            "turn/start",
            {**TURN, "collaborationMode": {"mode": "plan", "settings": {"model": "m"}}},
            "collaborationMode",
        ),
    ],
)
def test_experimental_fields_are_for_those_who_asked(method: str, params: object, name: str) -> None:
    with pytest.raises(RpcError) as raised:
        check_stable(checked(CLIENT_REQUESTS[method].params, params))
    assert raised.value.message == f"{method}.{name} requires experimentalApi capability"


def test_experimental_variants_are_for_those_who_asked() -> None:
    with pytest.raises(RpcError, match=r"askForApproval\.granular requires experimentalApi capability"):
        check_stable(checked(TurnStartParams, {**TURN, "approvalPolicy": GRANULAR}))
    tokens = {"type": "chatgptAuthTokens", "accessToken": "a", "chatgptAccountId": "b"}
    with pytest.raises(RpcError, match=r"login/start\.chatgptAuthTokens requires experimentalApi capability"):
        check_stable(checked(LoginAccountParams, tokens))


def test_the_first_experimental_field_is_told() -> None:
    with pytest.raises(RpcError, match="askForApproval"):
        check_stable(checked(ThreadStartParams, {"persistExtendedHistory": True, "approvalPolicy": GRANULAR}))


@pytest.mark.parametrize("params", [{}, {"dynamicTools": []}, {"dynamicTools": None, "persistExtendedHistory": False}])
def test_what_is_empty_is_not_experimental(params: object) -> None:
    check_stable(checked(ThreadStartParams, params))


def test_stable_parameters_pass() -> None:
    check_stable(checked(ThreadListParams, {"limit": 3}))


# Against the reference itself

WRONG = [None, 5, -1, 70000, 1 << 40, 1.5, True, "x", "", [], ["x"], {}, {"x": 1}, {"a": 1, "b": 2}, [5]]
# What is fulfilled would reach for the network, or for programs.
LEFT_OUT = {"initialize", "feedback/upload", "account/login/start", "plugin/install", "mcpServer/oauth/login"}
# Our own departures, by the field that they are in.
WIDER = (
    "serviceTier",
    "approvalsReviewer",
    "dynamicTools",
    "effort",
    "collaborationMode",
    "thread/list.cwd",
    "thread/list.sortKey",
)


def sample(shape: Shape) -> Any:
    match shape:
        case Anything() | Integer():
            return 1
        case Nullable():
            return sample(shape.inner)
        case Text():
            return "/no/such/x" if shape.kind else "no-such"
        case Boolean():
            return False
        case Real():
            return 1.5
        case ListOf():
            return [sample(shape.item)]
        case MapOf():
            return {"k": sample(shape.value)}
        case Words():
            return shape.words[0]
        case Struct():
            return {each.name: sample(each.shape) for each in shape.fields if not each.is_newer}
        case Tagged():
            return sample(list(shape.variants.values())[0 if shape.fallback else -1])
        case External():
            return sample(next(each for each in shape.variants.values() if each is not None))
        case Untagged():
            return sample(shape.members[0])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def wrong_requests() -> list[tuple[str, Any]]:
    """A value of another kind in each place of each method's parameters."""
    found = []
    for method, models in CLIENT_REQUESTS.items():
        if models.params is None or method in LEFT_OUT:
            continue
        given = sample(shape_of(models.params)).items()
        base = {key: value for key, value in given if key not in WIDER and f"{method}.{key}" not in WIDER}
        found += [(method, replaced(base, path, wrong)) for path in places(base) for wrong in WRONG if path]
    return [(method, params) for method, params in found if refusal(method, params) is not None]


def answers(binary: str, home: Path, requests: list[tuple[str, Any]]) -> list[str]:
    """What the reference says to each, one after the other."""
    hello = {"clientInfo": {"name": "t", "version": "1"}, "capabilities": {"experimentalApi": True}}
    environment = {"CODEX_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
    said = []
    with subprocess.Popen(
        [binary, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (method, params) in enumerate([("initialize", hello), *requests]):
            server.stdin.write(json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n")
            server.stdin.flush()
            answer: dict[str, Any] = {}
            while answer.get("id") != number:
                answer = json.loads(server.stdout.readline())
            said.append(answer.get("error", {}).get("message", "accepted"))
        server.stdin.close()
    return said[1:]


@pytest.mark.skipif(reference_binary() is None, reason="the reference program is not installed")
def test_refusals_are_word_for_word_those_of_the_reference(tmp_path: Path) -> None:
    binary = reference_binary()
    assert binary is not None
    requests = wrong_requests()
    assert len(requests) > 3000
    ours = [refusal(method, params) for method, params in requests]
    theirs = answers(binary, tmp_path, requests)
    assert [each for each in zip(requests, ours, theirs, strict=True) if each[1] != each[2]] == []


def test_experimental_methods_have_parameters() -> None:
    requests = CLIENT_REQUESTS | NEWER_REQUESTS
    assert all(requests[method].params is not None for method in EXPERIMENTAL_METHODS)
