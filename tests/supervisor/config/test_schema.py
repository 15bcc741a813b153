"""Every key has its kind; the texts are those that the reference printed for the same files."""

import tomllib

import pytest

from pycodex.supervisor.config.kinds import first_mismatch
from pycodex.supervisor.config.schema import ROOT

EFFORTS = "`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, `ultra`"


def complaint(text: str) -> tuple[str, str] | None:
    """The message and the place it names."""
    found = first_mismatch(ROOT, tomllib.loads(text))
    return None if found is None else (found.message, ".".join(found.place))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", "3", "invalid type: integer `3`, expected a string"),
        ("model", "-3", "invalid type: integer `-3`, expected a string"),
        ("model", "1.0", "invalid type: floating point `1.0`, expected a string"),
        ("model", "1e20", "invalid type: floating point `100000000000000000000.0`, expected a string"),
        ("model", "1e-7", "invalid type: floating point `0.0000001`, expected a string"),
        ("model", "nan", "invalid type: floating point `NaN`, expected a string"),
        ("model", "-inf", "invalid type: floating point `-inf`, expected a string"),
        ("model", "true", "invalid type: boolean `true`, expected a string"),
        ("model", "[1]", "invalid type: sequence, expected a string"),
        ("model", "{}", "invalid type: map, expected a string"),
        ("allow_login_shell", '"zz"', 'invalid type: string "zz", expected a boolean'),
        (
            "allow_login_shell",
            r'"a\"b\né\u0001"',
            'invalid type: string "a\\"b\\né\\u{1}", expected a boolean',
        ),
        ("log_dir", "3", "invalid type: integer `3`, expected path string"),
        ("notify", "3", "invalid type: integer `3`, expected a sequence"),
        ("notify", "[1]", "invalid type: integer `1`, expected a string"),
        ("js_repl_node_module_dirs", "[1]", "invalid type: integer `1`, expected path string"),
        ("model_context_window", "1.5", "invalid type: floating point `1.5`, expected i64"),
        ("project_doc_max_bytes", "-3", "invalid value: integer `-3`, expected usize"),
        ("background_terminal_max_timeout", "-3", "invalid value: integer `-3`, expected u64"),
        ("mcp_oauth_callback_port", "70000", "invalid value: integer `70000`, expected u16"),
        ("sandbox_mode", "3", "invalid type: unit variant, expected string only"),
        ("sandbox_mode", "[]", "invalid type: unit variant, expected string only"),
        (
            "sandbox_mode",
            '"x"',
            "unknown variant `x`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
        ),
        ("sandbox_mode", "{}", "wanted exactly 1 element, found 0 elements"),
        ("service_tier", '"x"', "unknown variant `x`, expected `fast` or `flex`"),
        ("service_tier", "{a=1}", "unknown variant `a`, expected `fast` or `flex`"),
        ("model_reasoning_effort", '"x"', f"unknown variant `x`, expected one of {EFFORTS}"),
        (
            "approval_policy",
            '"sometimes"',
            "unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`",
        ),
        ("approval_policy", '"granular"', "invalid type: unit variant, expected newtype variant"),
        ("approval_policy", "{granular={}}", "missing field `sandbox_approval`"),
        ("approval_policy", "{granular=3}", "invalid type: integer `3`, expected struct GranularApprovalConfig"),
        ("approval_policy", "{granular={}, never={}}", "wanted exactly 1 element, more than 1 element"),
        ("tui", "3", "invalid type: integer `3`, expected struct Tui"),
        ("features", "3", "invalid type: integer `3`, expected struct FeaturesToml"),
        ("features", "{a=1}", "invalid type: integer `1`, expected a boolean"),
        ("agents", "{a=1}", "invalid type: integer `1`, expected struct AgentRoleToml"),
        ("profiles", "3", "invalid type: integer `3`, expected a map"),
        ("history", "{}", "missing field `persistence`"),
        (
            "model_providers",
            '{openai={name="x"}, ollama={name="x"}}',
            (
                "model_providers contains reserved built-in provider IDs: `ollama`, `openai`. "
                "Built-in providers cannot be "
                "overridden. Rename your custom provider (for example, `openai-custom`)."
            ),
        ),
    ],
)
def test_wrong_value_is_told_as_the_reference_does(key: str, value: str, message: str) -> None:
    assert complaint(f"{key} = {value}\n") == (message, key)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("[profiles.a]\nmodel = 3", "invalid type: integer `3`, expected a string", "profiles.a.model"),
        ("[profiles.a.features]\nundo = 3", "invalid type: integer `3`, expected a boolean", "profiles.a.features"),
        (
            "approval_policy = {granular={sandbox_approval=1,rules=true,mcp_elicitations=true}}",
            "invalid type: integer `1`, expected a boolean",
            "approval_policy.sandbox_approval",
        ),
        ("[model_providers.a]\nbase_url = 'x'", "missing field `name`", "model_providers.a"),
        (
            "[model_providers.a]\nname = 'x'\nwire_api = 'grpc'",
            "unknown variant `grpc`, expected `responses`",
            "model_providers.a.wire_api",
        ),
        (
            "[model_providers.a]\nname = 'x'\nwire_api = 'chat'",
            (
                '`wire_api = "chat"` is no longer supported.\n'
                'How to fix: set `wire_api = "responses"` in your provider config.\n'
                "More info: https://github.com/openai/codex/discussions/7782"
            ),
            "model_providers.a.wire_api",
        ),
        (
            "[model_providers.a]\nname = 'x'\nhttp_headers = {h = 1}",
            "invalid type: integer `1`, expected a string",
            "model_providers.a.http_headers.h",
        ),
        ("[mcp_servers.a]\nfoo = 1", "invalid transport", "mcp_servers.a"),
        ("[mcp_servers.a]\ncommand = 'x'\nurl = 'y'", "url is not supported for stdio", "mcp_servers.a"),
        ("[mcp_servers.a]\nurl = 'y'\nargs = ['a']", "args is not supported for streamable_http", "mcp_servers.a"),
        (
            "[mcp_servers.a]\nurl = 'y'\nbearer_token = 'x'",
            "bearer_token is not supported for streamable_http",
            "mcp_servers.a",
        ),
        (
            "[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = -3",
            "cannot convert float seconds to Duration: value is negative",
            "mcp_servers.a.tool_timeout_sec",
        ),
        ("[agents.foo]\ndescription = 3", "invalid type: integer `3`, expected a string", "agents"),
        ("[agents]\nmax_depth = 'x'", 'invalid type: string "x", expected i32', "agents.max_depth"),
        ("[apps.foo]\ndefault_tools_approval_mode = 3", "invalid type: integer `3`, expected string or map", "apps"),
        ("[apps._default]\nenabled = 3", "invalid type: integer `3`, expected a boolean", "apps._default.enabled"),
        (
            "[permissions.a.filesystem]\n'/x' = 3",
            "data did not match any variant of untagged enum FilesystemPermissionToml",
            "permissions",
        ),
        ("[permissions.a.network]\nmode = 'x'", "unknown variant `x`, expected `limited` or `full`", "permissions"),
        (
            "[tools.web_search]\ncontext_size = 'x'",
            "data did not match any variant of untagged enum WebSearchToolConfigInput",
            "tools.web_search",
        ),
        (
            "[tui]\nnotifications = 3",
            "data did not match any variant of untagged enum Notifications",
            "tui.notifications",
        ),
        (
            "[tui.model_availability_nux]\na = -3",
            "invalid value: integer `-3`, expected u32",
            "tui.model_availability_nux",
        ),
        ("[otel]\nexporter = 'otlp-http'", "invalid type: unit variant, expected struct variant", "otel.exporter"),
        ("[otel]\nexporter = {otlp-http={}}", "missing field `endpoint`", "otel.exporter"),
        (
            "[otel]\nexporter = {otlp-http=3}",
            "invalid type: integer `3`, expected struct variant OtelExporterKind::OtlpHttp",
            "otel.exporter",
        ),
        (
            "[otel]\nexporter = {otlp-http={endpoint='e',protocol='json',tls={ca-certificate=3}}}",
            "invalid type: integer `3`, expected path string",
            "otel.exporter.tls.ca-certificate",
        ),
        ("[[skills.config]]\npath = 'x'", "missing field `enabled`", "skills.config"),
        (
            "[[skills.config]]\npath = 3\nenabled = true",
            "invalid type: integer `3`, expected path string",
            "skills.config.path",
        ),
        (
            "[[tool_suggest.discoverables]]\ntype = 'x'\nid = 'a'",
            "unknown variant `x`, expected `connector` or `plugin`",
            "tool_suggest.discoverables.type",
        ),
        (
            "[projects.a]\ntrust_level = 'x'",
            "unknown variant `x`, expected `trusted` or `untrusted`",
            "projects.a.trust_level",
        ),
    ],
)
def test_wrong_value_further_down_is_named_as_the_reference_does(text: str, message: str, place: str) -> None:
    assert complaint(text) == (message, place)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unknown = 1\n[unknown_table]\na = 1",
        "model_reasoning_effort = 'ultra'",
        "model_reasoning_effort = 'max'",
        "approval_policy = {granular={sandbox_approval=true,rules=true,mcp_elicitations=true,later=1}}",
        "[tools]\nweb_search = true",
        "[tools.web_search]\nlocation = {city = 'x'}",
        "[tui]\nnotifications = ['a']\nlater = 1",
        "[agents]\nmax_depth = -3\n[agents.role]\ndescription = 'x'",
        "[mcp_servers.a]\nurl = 'x'\nscopes = ['a']\nstartup_timeout_sec = 1.5\ntool_timeout_sec = 3",
        "[otel]\nexporter = 'none'\ntrace_exporter = {otlp-grpc={endpoint='e'}}",
        "[features]\nunheard_of = true",
        "[permissions.a.filesystem]\n':root' = 'read'\n':project_roots' = {'.' = 'write'}",
    ],
)
def test_right_values_and_unknown_keys_pass(text: str) -> None:
    assert complaint(text) is None


def test_first_mistake_in_the_order_of_keys_is_told() -> None:
    assert complaint("model = 3\nallow_login_shell = 3\n") == (
        "invalid type: integer `3`, expected a boolean",
        "allow_login_shell",
    )


def test_mistake_in_a_value_comes_before_a_missing_one() -> None:
    assert complaint("[model_providers.openai]\nbase_url = 3\n") == (
        "invalid type: integer `3`, expected a string",
        "model_providers.openai.base_url",
    )
