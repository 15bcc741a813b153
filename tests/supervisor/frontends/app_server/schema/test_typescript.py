"""TypeScript types: where they lie, what they import, and how shapes are written."""

import re
from posixpath import join, normpath

import pytest

from pycodex.supervisor.frontends.app_server.schema.typescript import files

either = pytest.mark.parametrize("experimental", [False, True], ids=["stable", "experimental"])


def body(path: str, *, experimental: bool = False) -> str:
    source = files(experimental=experimental)[path]
    found = re.search(r"^export type \w+ = (.*);$", source, re.MULTILINE)
    assert found
    return found[1]


@either
def test_every_import_leads_to_a_file(experimental: bool) -> None:
    written = files(experimental=experimental)
    for path, source in written.items():
        folder = path.rpartition("/")[0]
        for name, target in re.findall(r'(?:import|export) type \{ (\w+) \} from "([^"]+)";', source):
            assert f"export type {name} = " in written[f"{normpath(join(folder, target))}.ts"], (path, target)


@either
def test_every_type_that_is_used_is_imported(experimental: bool) -> None:
    written = files(experimental=experimental)
    for path, source in written.items():
        if path.endswith("index.ts"):
            continue
        own = path.rpartition("/")[2].removesuffix(".ts")
        names = set(re.findall(r"\b[A-Z]\w+", re.sub(r'"[^"]*"', "", source.partition("export type ")[2])))
        imported = set(re.findall(r"import type \{ (\w+) \}", source))
        assert names - imported <= {own, "Array", "Record"}, path
        assert imported <= names, path


@either
def test_indexes_name_every_type(experimental: bool) -> None:
    written = files(experimental=experimental)
    for folder in ("", "v2/"):
        own = {path.removeprefix(folder)[:-3] for path in written if path.rpartition("/")[0] == folder.rstrip("/")}
        assert set(re.findall(r'from "\./(\w+)";', written[f"{folder}index.ts"])) >= own - {"index"}


def test_fields_that_may_be_left_out_are_marked() -> None:
    assert body("v2/TurnInterruptParams.ts") == "{ threadId: string, turnId: string }"
    assert body("v2/ModelListParams.ts") == (
        "{ cursor?: string | null, limit?: number | null, includeHidden?: boolean | null }"
    )
    assert body("FuzzyFileSearchParams.ts") == (
        "{ query: string, roots: Array<string>, cancellationToken: string | null }"
    )
    assert body("v2/ThreadNameUpdatedNotification.ts") == "{ threadId: string, threadName?: string }"


def test_unions_are_written_in_their_order() -> None:
    assert body("v2/SandboxMode.ts") == '"read-only" | "workspace-write" | "danger-full-access"'
    assert body("v2/AskForApproval.ts").startswith('"untrusted" | "on-failure" | "on-request" | { "granular": {')
    assert body("v2/PatchChangeKind.ts") == (
        '{ type: "add" } | { type: "delete" } | { type: "update", move_path: string | null }'
    )


def test_objects_without_fields_and_with_any() -> None:
    assert body("v2/ThreadArchiveResponse.ts") == "Record<string, never>"
    assert body("v2/Config.ts").endswith("} & { [key in string]?: JsonValue }")


def test_two_types_of_one_name_lie_apart() -> None:
    assert '"mcp"' in body("SessionSource.ts")
    assert '"appServer"' in body("v2/SessionSource.ts")
    assert body("ExecPolicyAmendment.ts") == body("v2/ExecPolicyAmendment.ts") == "Array<string>"


def test_what_is_experimental_is_only_told_to_those_who_ask() -> None:
    assert "dynamicTools" not in body("v2/ThreadStartParams.ts")
    assert "dynamicTools?: Array<DynamicToolSpec> | null" in body("v2/ThreadStartParams.ts", experimental=True)
    assert "thread/realtime/start" not in body("ClientRequest.ts")
    assert "thread/realtime/start" in body("ClientRequest.ts", experimental=True)
