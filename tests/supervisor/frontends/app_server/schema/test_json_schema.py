"""The schemas say what the reference's say, but for what is listed here, and recorded messages fit them."""

import json
from functools import cache
from typing import Any

import pytest

from pycodex.protocol.app.shape import Struct, shape_of
from pycodex.protocol.app.tables import (
    CLIENT_REQUESTS,
    NEWER_NOTIFICATIONS,
    NEWER_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from pycodex.supervisor.frontends.app_server.methods import table
from pycodex.supervisor.frontends.app_server.schema.definitions import LEGACY_METHODS, reachable
from pycodex.supervisor.frontends.app_server.schema.json_schema import files
from support.app_messages import messages, restored
from support.interop import INTEROP
from support.json_schemas import misfit, references, resolved
from support.tree import ROOT

REFERENCE = ROOT.parent / "shared" / "reference" / "app-server-schema-0.116"
BUNDLE = "codex_app_server_protocol.schemas.json"
FLAT_BUNDLE = "codex_app_server_protocol.v2.schemas.json"

# Definitions that differ on purpose, beyond the fields that newer clients look for.
DEPARTURES = {
    "ApprovalsReviewer": "newer clients have another word for the second",
    "ReasoningEffort": "newer clients know more of them",
    "ServiceTier": "newer clients know more of them",
    "ThreadListParams": "newer clients name several directories",
    "ThreadSortKey": "newer clients have another word for the second",
    "DynamicToolSpec": "newer clients put tools into groups, which have no schema of their own",
    "McpServerElicitationRequestParams": "the fields of both forms are told with each, not beside them",
    "AppsConfig": "what is kept by the names of apps has a shape",
    "AppToolsConfig": "what is kept by the names of tools has a shape",
}

# Only experimental methods use it, but the reference's stable bundle keeps it.
LEFT_BEHIND = {"v2/CollaborationModeMask"}
# What fields that newer clients look for are made of.
ADDED = {"v2/DynamicToolFunctionSpec", "v2/SortDirection", "v2/ThreadListCwdFilter"}

needs_reference = pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"no schemas of the reference at {REFERENCE}")
needs_recordings = pytest.mark.skipif(not INTEROP.is_dir(), reason=f"no recorded scenarios at {INTEROP}")
either = pytest.mark.parametrize("experimental", [False, True], ids=["stable", "experimental"])


@cache
def ours(*, experimental: bool) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(json.dumps(files(experimental=experimental)))
    return written


def theirs(name: str, *, experimental: bool) -> dict[str, Any]:
    folder = REFERENCE / ("experimental" if experimental else "stable")
    read: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return read


def definitions(bundle: dict[str, Any]) -> dict[str, Any]:
    """Those of both namespaces, by path."""
    outer = {name: schema for name, schema in bundle["definitions"].items() if name != "v2"}
    return outer | {f"v2/{name}": schema for name, schema in bundle["definitions"].get("v2", {}).items()}


def levelled(schema: Any) -> Any:
    """Without what two schemas of one meaning may differ in: texts, wrappers, the order of words."""
    if isinstance(schema, list):
        return [levelled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: levelled(part)
        for key, part in schema.items()
        if not (key in ("description", "$schema", "title") and isinstance(part, str)) and key != "writeOnly"
    }
    if "enum" in kept:
        kept["enum"] = sorted(kept["enum"])
    if kept.get("default", ...) is None:
        del kept["default"]
    if len(kept.get("allOf", ())) == 1:
        kept |= kept.pop("allOf")[0]
    for key in ("anyOf", "oneOf"):
        if key in kept:
            kept |= _levelled_choices(key, kept.pop(key))
    return kept or True


def _levelled_choices(key: str, choices: list[Any]) -> dict[str, Any]:
    flat = [inner for each in choices for inner in (each.get("anyOf", [each]) if isinstance(each, dict) else [each])]
    words = sorted(word for each in flat if set(each) == {"type", "enum"} for word in each["enum"])
    rest = [each for each in flat if set(each) != {"type", "enum"}]
    unique = [each for index, each in enumerate(rest) if each not in rest[:index]]
    if not unique:
        return {"type": "string", "enum": words}
    return {key: [{"type": "string", "enum": words}, *unique] if words else unique}


@cache
def newer_fields() -> frozenset[str]:
    models = [*SERVER_NOTIFICATIONS.values()]
    for each in (*CLIENT_REQUESTS.values(), *SERVER_REQUESTS.values()):
        models += [model for model in (each.params, each.result) if model is not None]
    shapes = reachable(shape_of(model) for model in models).values()
    structs = [shape for shape in shapes if isinstance(shape, Struct)]
    structs += [variant for shape in shapes for variant in getattr(shape, "variants", {}).values() if variant]
    return frozenset(f"{struct.title}.{field.name}" for struct in structs for field in struct.fields if field.is_newer)


def without_newer(schema: Any, name: str) -> Any:
    title = schema.get("title", name)
    kept = {**schema}
    if "properties" in schema:
        kept["properties"] = {
            key: part for key, part in schema["properties"].items() if f"{title}.{key}" not in newer_fields()
        }
    if "oneOf" in schema:
        parts = (part for part in schema["oneOf"] if not newer_methods() & methods_of(part))
        kept["oneOf"] = [without_newer(part, name) for part in parts]
    return kept


def methods_of(part: Any) -> set[str]:
    return set(part.get("properties", {}).get("method", {}).get("enum", ()))


@cache
def newer_methods() -> frozenset[str]:
    return frozenset((*NEWER_REQUESTS, *NEWER_NOTIFICATIONS))


@cache
def added() -> frozenset[str]:
    """What the messages of newer versions are made of, and fields that newer clients look for."""
    models = [*NEWER_NOTIFICATIONS.values()]
    for each in NEWER_REQUESTS.values():
        models += [each.params, each.result]
    return frozenset((*ADDED, *(f"v2/{name}" for name in reachable(shape_of(model) for model in models))))


@needs_reference
@either
def test_definitions_are_those_of_the_reference(experimental: bool) -> None:
    found = definitions(ours(experimental=experimental)[BUNDLE])
    wanted = definitions(theirs(BUNDLE, experimental=experimental))
    assert set(wanted) - set(found) <= LEFT_BEHIND
    assert set(found) - set(wanted) <= added()
    different = [
        path
        for path, schema in found.items()
        if (name := path.rpartition("/")[2]) not in DEPARTURES
        and path in wanted
        and levelled(without_newer(schema, name)) != levelled(wanted[path])
    ]
    assert different == []


@needs_reference
@either
def test_the_flat_bundle_has_the_names_of_the_reference(experimental: bool) -> None:
    found = ours(experimental=experimental)[FLAT_BUNDLE]["definitions"]
    wanted = theirs(FLAT_BUNDLE, experimental=experimental)["definitions"]
    assert {f"v2/{name}" for name in set(wanted) - set(found)} <= LEFT_BEHIND
    assert {f"v2/{name}" for name in set(found) - set(wanted)} <= added()


@needs_reference
@either
def test_parameters_have_the_fields_of_the_reference(experimental: bool) -> None:
    found = definitions(ours(experimental=experimental)[BUNDLE])
    wanted = definitions(theirs(BUNDLE, experimental=experimental))
    added: dict[str, list[str]] = {}
    for path, schema in wanted.items():
        if path.endswith("Params") and path not in DEPARTURES and "properties" in schema:
            assert found[path].get("required", []) == schema.get("required", []), path
            assert set(schema["properties"]) <= set(found[path]["properties"]), path
            more = sorted(set(found[path]["properties"]) - set(schema["properties"]))
            added |= {path: more} if more else {}
    assert added == {
        "DynamicToolCallParams": ["namespace"],
        "v2/ThreadForkParams": ["excludeTurns", "lastTurnId"],
        "v2/ThreadListParams": ["sortDirection"],
        "v2/ThreadResumeParams": ["excludeTurns"],
        "v2/TurnStartParams": ["clientUserMessageId"],
        "v2/TurnSteerParams": ["clientUserMessageId"],
    }


@needs_reference
def test_departures_are_still_needed() -> None:
    found = definitions(ours(experimental=True)[BUNDLE])
    wanted = definitions(theirs(BUNDLE, experimental=True))
    different = {
        path.rpartition("/")[2] for path, schema in found.items() if levelled(schema) != levelled(wanted.get(path))
    }
    assert set(DEPARTURES) <= different


@either
def test_every_reference_leads_somewhere(experimental: bool) -> None:
    for schema in ours(experimental=experimental).values():
        for reference in references(schema):
            assert resolved(reference, schema) is not None


@either
def test_files_have_a_title_and_lie_where_clients_look(experimental: bool) -> None:
    written = ours(experimental=experimental)
    for path in ("v1/InitializeParams", "v2/TurnStartParams", "v2/ThreadResumeParams", "DynamicToolCallParams"):
        assert written[f"{path}.json"]["title"] == path.rpartition("/")[2]
    assert "threadId" in written["v2/ThreadForkParams.json"]["properties"]


def test_what_is_experimental_is_only_told_to_those_who_ask() -> None:
    stable, everything = ours(experimental=False), ours(experimental=True)
    assert len(everything) - len(stable) == 32
    field = "dynamicTools"
    assert field not in stable["v2/ThreadStartParams.json"]["properties"]
    assert field in everything["v2/ThreadStartParams.json"]["properties"]
    assert "thread/realtime/start" not in json.dumps(stable["ClientRequest.json"])


@either
def test_messages_of_newer_versions_are_told_if_they_are_served(experimental: bool) -> None:
    written = ours(experimental=experimental)
    for union, newer in (("ClientRequest", NEWER_REQUESTS), ("ServerNotification", NEWER_NOTIFICATIONS)):
        methods = set().union(*map(methods_of, written[f"{union}.json"]["oneOf"]))
        served = {name for name in newer if union == "ServerNotification" or name in table.FILE_OF}
        missing = served - methods
        assert missing == (set() if experimental or union != "ClientRequest" else set(filter(is_process, served)))
    assert written["v2/ThreadShellCommandParams.json"]["required"] == ["command", "threadId"]
    assert written["v2/FsChangedNotification.json"]["required"] == ["changedPaths", "watchId"]


def is_process(method: str) -> bool:
    return method.startswith("process/")


@needs_recordings
def test_recorded_messages_fit_the_schemas() -> None:
    bundle = ours(experimental=True)[BUNDLE]
    checked = 0
    wrong = []
    for each in messages():
        if each.kind == "answer" or each.scenario == "rpc-lines" or not _has_schema(each.method):
            continue
        shape = shape_of(each.model)
        name = shape.name if hasattr(shape, "name") else None
        where = bundle["definitions"]["v2"].get(name) or bundle["definitions"].get(name)
        found = misfit(restored(each.value, shape, each.dropped), where, bundle)
        checked += 1
        wrong += [(each.scenario, each.kind, each.method, found)] if found else []
    assert wrong == []
    assert checked > 1500


def _has_schema(method: str) -> bool:
    models = CLIENT_REQUESTS.get(method)
    if models is not None:
        return models.params is not None and method not in LEGACY_METHODS
    return method in SERVER_REQUESTS or method in SERVER_NOTIFICATIONS
