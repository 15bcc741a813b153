"""Shapes as TypeScript, and the files that `generate-ts` writes: one a type, with an index in each folder.

Owns the notation and the layout. Takes nothing but whether the experimental part is wanted, gives sources by path.
Writes no file: the command line does.
"""

from collections.abc import Iterable, Iterator

from pycodex.protocol.app.shape import (
    Anything,
    Boolean,
    External,
    Field,
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
from pycodex.protocol.app.wire import SHOWN, SPARSE
from pycodex.supervisor.frontends.app_server.schema import definitions
from pycodex.supervisor.frontends.app_server.schema.definitions import ENVELOPE, Message, name_of, reachable

JSON_VALUE = "serde_json/JsonValue"
V2 = "v2/"

# Types outside of `v2`: those of the first version, and those that are no invention of this interface.
ROOT_TYPES = frozenset(
    """
    AbsolutePathBuf ApplyPatchApprovalParams ApplyPatchApprovalResponse AuthMode ClientInfo CollaborationMode
    ContentItem ConversationGitInfo ConversationSource ConversationSummary ExecCommandApprovalParams
    ExecCommandApprovalResponse FileChange ForcedLoginMethod FunctionCallOutputBody FunctionCallOutputContentItem
    FuzzyFileSearchParams FuzzyFileSearchResponse FuzzyFileSearchResult FuzzyFileSearchSessionCompletedNotification
    FuzzyFileSearchSessionStartParams FuzzyFileSearchSessionStartResponse FuzzyFileSearchSessionStopParams
    FuzzyFileSearchSessionStopResponse FuzzyFileSearchSessionUpdateParams FuzzyFileSearchSessionUpdateResponse
    FuzzyFileSearchSessionUpdatedNotification GetAuthStatusParams GetAuthStatusResponse GetConversationSummaryParams
    GetConversationSummaryResponse GhostCommit GitDiffToRemoteParams GitDiffToRemoteResponse GitSha ImageDetail
    InitializeCapabilities InitializeParams InitializeResponse InputModality LocalShellAction LocalShellStatus
    MacOsAutomationPermission MacOsContactsPermission MacOsPreferencesPermission MessagePhase ModeKind ParsedCommand
    Personality PlanType RealtimeConversationVersion ReasoningEffort ReasoningItemContent
    ReasoningItemReasoningSummary ReasoningSummary RequestId Resource ResourceTemplate ResponseItem
    ResponsesApiWebSearchAction ReviewDecision ServiceTier Settings SubAgentSource ThreadId Tool Verbosity
    WebSearchContextSize WebSearchLocation WebSearchMode WebSearchToolConfig
    """.split()
)
# In both places: each folder uses its own.
DOUBLE_TYPES = frozenset({"ExecPolicyAmendment", "NetworkPolicyAmendment", "NetworkPolicyRuleAction"})
# Two types of one name are apart in TypeScript by their folders.
RENAMED = {"ConversationSource": "SessionSource", "ResponsesApiWebSearchAction": "WebSearchAction"}


class Source:
    """The text of one type, and the types that it uses."""

    def __init__(self, folder: str, *, experimental: bool) -> None:
        self.folder = folder
        self.used: set[str] = set()
        self._experimental = experimental

    def use(self, shape: Shape) -> str:
        """The type where it is used: by its name if it has one."""
        name = name_of(shape)
        if name is None:
            return self.body(shape)
        place = _place(name, self.folder)
        self.used.add(place)
        return place.rpartition("/")[2]

    def body(self, shape: Shape) -> str:
        match shape:
            case Anything():
                self.used.add(JSON_VALUE)
                return "JsonValue"
            case Boolean():
                return "boolean"
            case Real() | Integer():
                return "number"
            case Text():
                return "string"
            case Nullable():
                return f"{self.use(shape.inner)} | null"
            case ListOf():
                return f"Array<{self.use(shape.item)}>"
            case MapOf():
                return f"{{ [key in string]?: {self.use(shape.value)} }}"
            case Words():
                return _words(shape.words)
            case Struct():
                return self._struct(shape)
            case Tagged():
                return " | ".join(self._struct(struct, shape.tag) for struct in shape.old_variants.values())
            case External():
                return self._external(shape)
            case Untagged():
                return " | ".join(self.use(member) for member in shape.members)

    def _struct(self, shape: Struct, tag: str | None = None) -> str:
        fields = [field for field in shape.fields if self._experimental or field.experimental is None]
        if not fields:
            return "Record<string, never>"
        shown = sorted(fields, key=lambda field: field.name != tag)
        text = "{ " + ", ".join(self._field(field, shape) for field in shown) + " }"
        if shape.rest is None:
            return text
        return f"{text} & {{ [key in string]?: {self.use(shape.rest)} }}"

    def _field(self, field: Field, owner: Struct) -> str:
        name = field.name if field.name.isidentifier() else f'"{field.name}"'
        shape = field.shape
        sparse = SPARSE in field.marks
        if sparse and isinstance(shape, Nullable) and not owner.is_params:
            return f"{name}?: {self.use(shape.inner)}"
        may_be_left_out = owner.is_params and field.default is None and SHOWN not in field.marks
        return f"{name}{'?' if sparse or may_be_left_out else ''}: {self.use(shape)}"

    def _external(self, shape: External) -> str:
        return " | ".join(
            f'"{word}"' if struct is None else f'{{ "{word}": {self.use(struct.fields[0].shape)} }}'
            for word, struct in shape.variants.items()
        )

    def messages(self, messages: Iterable[Message], *, with_id: bool) -> str:
        return " | ".join(self._message(message, with_id=with_id) for message in messages)

    def _message(self, message: Message, *, with_id: bool) -> str:
        parts = [f'"method": "{message.method}"']
        if with_id:
            parts.append(f"id: {self.use(shape_of(ENVELOPE[0]))}")
        if message.params is not None:
            parts.append(f"params: {self.use(message.params)}")
        elif with_id:
            parts.append("params: undefined")
        return "{ " + ", ".join(parts) + " }"

    def text(self, name: str, body: str) -> str:
        imports = "".join(
            f'import type {{ {place.rpartition("/")[2]} }} from "{_way(self.folder, place)}";\n'
            for place in sorted(self.used)
            if place != f"{self.folder}{name}"
        )
        gap = "\n" if imports else ""
        return f"{imports}{gap}export type {name} = {body};\n"


def _words(words: Iterable[str]) -> str:
    return " | ".join(f'"{word}"' for word in words)


def _place(name: str, folder: str) -> str:
    """The path of a type as seen from a folder, without the suffix."""
    if name in DOUBLE_TYPES:
        return f"{folder}{name}"
    return f"{'' if name in ROOT_TYPES else V2}{RENAMED.get(name, name)}"


def _way(folder: str, place: str) -> str:
    if not folder:
        return f"./{place}"
    return f"./{place.removeprefix(folder)}" if place.startswith(folder) else f"../{place}"


# Files


def files(*, experimental: bool) -> dict[str, str]:
    """Sources by path below the directory."""
    written = {f"{JSON_VALUE}.ts": Source("serde_json/", experimental=experimental).text("JsonValue", _json_value())}
    for name, shape in reachable(_tops(experimental=experimental)).items():
        for place in _places(name):
            folder, _, own = place.rpartition("/")
            source = Source(f"{folder}/" if folder else "", experimental=experimental)
            written[f"{place}.ts"] = source.text(own, source.body(shape))
    written |= _unions(experimental=experimental)
    written["v2/index.ts"] = _index(path.removeprefix(V2) for path in written if path.startswith(V2))
    written["index.ts"] = _index(path for path in written if "/" not in path) + 'export * as v2 from "./v2";\n'
    return dict(sorted(written.items()))


def _tops(*, experimental: bool) -> Iterator[Shape]:
    yield shape_of(ENVELOPE[0])
    yield from definitions.carried(definitions.client_requests(experimental=experimental))
    yield from definitions.carried(definitions.server_requests())
    yield from definitions.carried(definitions.server_notifications())


def _places(name: str) -> list[str]:
    return [name, f"{V2}{name}"] if name in DOUBLE_TYPES else [_place(name, "")]


def _unions(*, experimental: bool) -> dict[str, str]:
    groups = {
        "ClientRequest": definitions.client_requests(experimental=experimental),
        "ServerRequest": definitions.server_requests(),
        "ServerNotification": definitions.server_notifications(),
        "ClientNotification": [Message("initialized", params=None)],
    }
    written = {}
    for name, messages in groups.items():
        source = Source("", experimental=experimental)
        written[f"{name}.ts"] = source.text(name, source.messages(messages, with_id=name.endswith("Request")))
    return written


def _index(paths: Iterable[str]) -> str:
    names = sorted(path.removesuffix(".ts") for path in paths)
    return "".join(f'export type {{ {name} }} from "./{name}";\n' for name in names)


def _json_value() -> str:
    return "number | string | boolean | Array<JsonValue> | { [key in string]?: JsonValue } | null"
