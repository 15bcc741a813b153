"""Which tools are offered, in which order, and which answer unseen."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.dynamic_tools import declared
from pycodex.supervisor.tools.offered import Offer, offered
from pycodex.supervisor.tools.processes import Processes
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import Tool, ToolCall
from pycodex.supervisor.workers.late_pool import PoolSource
from support.tool_calls import FULL_ACCESS, make_turn

ON = frozenset({"shell_tool", "unified_exec"})
NO_UNIFIED_EXEC = frozenset({"shell_tool"})
EXEC = ["exec_command", "write_stdin"]
ALWAYS = ["update_plan", "request_user_input", "view_image"]
EXPERIMENTAL = ["grep_files", "read_file", "list_dir", "test_sync_tool"]
ALIASES = ["shell", "container.exec", "local_shell", "shell_command"]


def services(**fields: Any) -> ToolServices:
    nothing: dict[str, Any] = {"pool": cast(PoolSource, None), "processes": cast(Processes, None)}
    return ToolServices(codex_home="/h", env={}, **nothing, **fields)


def turn_of(features: Iterable[str] = ON, permissions: Any = None, **model: Any) -> TurnContext:
    turn = make_turn(features=frozenset(features))
    turn = replace(turn, model_info=replace(turn.model_info, **model))
    return turn if permissions is None else replace(turn, permissions=permissions)


def names(tools: Iterable[Tool]) -> list[str]:
    return [tool.name for tool in tools]


def shown(turn: TurnContext, **fields: Any) -> list[str]:
    return names(offered(turn, services(**fields)).shown)


def client_tools(*given: str, deferred: Iterable[str] = ()) -> tuple[dict[str, Any], ...]:
    return declared(
        {"name": name, "description": "D", "inputSchema": {}, "deferLoading": name in deferred} for name in given
    )


def test_all_of_them_in_their_order() -> None:
    turn = turn_of(
        apply_patch_tool_type="freeform", experimental_supported_tools=tuple(EXPERIMENTAL), supports_search_tool=True
    )
    given = client_tools("theirs", "searched", "b", deferred=["searched"])
    assert shown(turn, web_search_mode=lambda _: "cached", dynamic_tools=given) == [
        *EXEC,
        "update_plan",
        "request_user_input",
        "tool_search",
        "apply_patch",
        *EXPERIMENTAL,
        "web_search",
        "view_image",
        "theirs",
        "b",
    ]


def test_one_that_works_for_another_thread_asks_nobody() -> None:
    assert "request_user_input" in shown(turn_of())
    assert "request_user_input" not in shown(turn_of(), asks_person=False)


@pytest.mark.parametrize(
    ("features", "shell_type", "tools"),
    [
        (ON, "default", EXEC),
        (ON, "disabled", EXEC),
        (ON, "local", EXEC),
        (ON - {"shell_tool"}, "default", []),
        (ON | {"shell_zsh_fork"}, "default", ["shell_command"]),
        (NO_UNIFIED_EXEC, "default", ["shell"]),
        (NO_UNIFIED_EXEC, "local", ["local_shell"]),
        (NO_UNIFIED_EXEC, "unified_exec", EXEC),
        (NO_UNIFIED_EXEC, "shell_command", ["shell_command"]),
        (NO_UNIFIED_EXEC, "disabled", []),
        (NO_UNIFIED_EXEC, "unheard-of", ["shell"]),
    ],
)
def test_commands_are_run_as_features_and_then_the_model_say(
    features: frozenset[str], shell_type: str, tools: list[str]
) -> None:
    offer = offered(turn_of(features, shell_type=shell_type), services())
    assert names(offer.shown) == [*tools, *ALWAYS]
    assert names(offer.hidden) == (ALIASES if tools else [])


@pytest.mark.parametrize(
    ("features", "form", "kind"),
    [
        (ON, "freeform", "custom"),
        (ON, "function", "function"),
        (ON | {"apply_patch_freeform"}, "function", "function"),
        (ON | {"apply_patch_freeform"}, None, "custom"),
        (ON, None, None),
    ],
)
def test_form_of_patches_is_the_models_before_the_features(
    features: frozenset[str], form: str | None, kind: str | None
) -> None:
    turn = turn_of(features, apply_patch_tool_type=form)
    specs = [tool.spec(turn) for tool in offered(turn, services()).shown if tool.name == "apply_patch"]
    assert [spec["type"] for spec in specs] == ([] if kind is None else [kind])


@pytest.mark.parametrize("name", EXPERIMENTAL)
def test_experimental_tool_is_there_for_models_that_name_it(name: str) -> None:
    assert name not in shown(turn_of())
    assert shown(turn_of(experimental_supported_tools=("unknown", name))) == [*EXEC, *ALWAYS[:2], name, ALWAYS[2]]


@pytest.mark.parametrize(("mode", "access"), [("disabled", []), ("cached", [False]), ("live", [True])])
def test_web_search(mode: str, access: list[bool]) -> None:
    turn = turn_of()
    tools = offered(turn, services(web_search_mode=lambda _: mode)).shown
    specs = [tool.spec(turn) for tool in tools if tool.name == "web_search"]
    assert [spec["external_web_access"] for spec in specs] == access


def test_web_search_goes_by_the_sandbox_of_the_turn() -> None:
    turn = turn_of(permissions=FULL_ACCESS)
    modes = {"danger-full-access": "live", "read-only": "disabled"}
    assert "web_search" in shown(turn, web_search_mode=modes.__getitem__)
    assert "web_search" not in shown(turn_of(), web_search_mode=modes.__getitem__)


@pytest.mark.parametrize(
    ("supported", "deferred", "there"),
    [(True, ["a"], True), (True, [], False), (False, ["a"], False)],
)
def test_search_for_tools_needs_a_model_that_can_and_something_to_find(
    supported: bool, deferred: list[str], there: bool
) -> None:
    turn = turn_of(supports_search_tool=supported)
    offer = offered(turn, services(dynamic_tools=client_tools("a", deferred=deferred)))
    assert ("tool_search" in names(offer.shown)) == there
    # It can be called all the same: a model may have found it earlier.
    assert "a" in names((*offer.shown, *offer.hidden))
    assert ("a" in names(offer.hidden)) == bool(deferred)


@pytest.mark.parametrize("name", ["exec_command", "update_plan", "shell", "view_image"])
@pytest.mark.parametrize("deferred", [False, True])
def test_tool_of_the_client_takes_the_place_of_ours(name: str, deferred: bool) -> None:
    given = client_tools(name, deferred=[name] if deferred else [])
    offer = offered(turn_of(), services(dynamic_tools=given))
    known = [tool for tool in (*offer.shown, *offer.hidden) if tool.name == name]
    assert [type(tool).__name__ for tool in known] == ["DynamicTool"]
    assert (known[0] in offer.hidden) == deferred


def router(offer: Offer) -> Router:
    return Router(offer.shown, offer.hidden)


def test_what_is_not_shown_runs_alone() -> None:
    def parallel(turn: TurnContext) -> set[str]:
        routed = router(offered(turn, services()))
        called = [*EXEC, *ALIASES, *ALWAYS, *EXPERIMENTAL, "apply_patch"]
        return {name for name in called if routed.is_parallel(ToolCall(FUNCTION_CALL, "c", name, ""))}

    assert parallel(turn_of()) == {"exec_command", "view_image"}
    assert parallel(turn_of(NO_UNIFIED_EXEC, shell_type="shell_command")) == {"shell_command", "view_image"}
    assert parallel(turn_of(NO_UNIFIED_EXEC)) == {"shell", "view_image"}
    everything = turn_of(apply_patch_tool_type="freeform", experimental_supported_tools=tuple(EXPERIMENTAL))
    assert parallel(everything) == {"exec_command", "view_image", *EXPERIMENTAL}


def test_settings_reach_the_tools() -> None:
    for features, tool in ((ON, "exec_command"), (NO_UNIFIED_EXEC, "shell_command")):
        turn = turn_of(features, shell_type="shell_command")
        for allowed in (True, False):
            (spec,) = [
                each.spec(turn)
                for each in offered(turn, services(allow_login_shell=allowed)).shown
                if each.name == tool
            ]
            assert ("login" in spec["parameters"]["properties"]) == allowed


def test_functions_are_described_in_one_form() -> None:
    turn = turn_of(experimental_supported_tools=tuple(EXPERIMENTAL), apply_patch_tool_type="function")
    for tool in offered(turn, services()).shown:
        spec = tool.spec(turn)
        assert list(spec) == ["type", "name", "description", "strict", "parameters"]
        assert (spec["type"], spec["name"], spec["strict"]) == ("function", tool.name, False)
        parameters = spec["parameters"]
        # Left out where nothing is required.
        required = [] if tool.name == "test_sync_tool" else ["required"]
        assert list(parameters) == ["type", "properties", *required, "additionalProperties"]
        assert parameters["additionalProperties"] is False
        assert list(parameters["properties"]) == sorted(parameters["properties"])
        assert set(parameters.get("required", [])) <= set(parameters["properties"])
