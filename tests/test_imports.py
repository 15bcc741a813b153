"""What a process loads is part of its promise: the one-shot starts fast, a worker holds nothing it does not need."""

import sys
from pathlib import Path

import pytest

from support.interpreter import MINIMAL_ENV, modules_loaded_by
from support.tree import Import, Module, imports_of, modules

APP_SERVER = "pycodex.supervisor.frontends.app_server"
CLI = "from pycodex.supervisor.cli.main import main; sys.exit(main())"

# Modules whose load is part of `pycodex sandbox linux -- COMMAND`, or comes before the first process of `pycodex exec`.
LEAN_MODULES = (
    "protocol.record",
    "protocol.confinement",
    "protocol.git_syntax",
    "protocol.permissions",
    "protocol.errors",
    "sandbox.disk",
    "sandbox.survey",
    "sandbox.plan",
    "sandbox.oneshot",
    "sandbox.backend",
    "supervisor.cli.exec",
    "supervisor.cli.exec_flags",
    "supervisor.cli.grammar",
    "supervisor.cli.main",
    "supervisor.cli.options",
    "supervisor.cli.root_flags",
    "supervisor.cli.sandbox",
    "supervisor.cli.terminal",
    "supervisor.config.early",
    "supervisor.config.features",
    "supervisor.config.sandbox_settings",
    "supervisor.frontends.exec.request",
    "supervisor.version",
)
LEAN_FOLDERS = ("linux_sandbox",)
NOT_LEAN = ("linux_sandbox.seccomp_build",)
LEAN_STDLIB = {"os", "sys", "errno", "stat", "posix", "time", "ctypes", "struct", "fcntl"}

# Each costs a good part of the interpreter's own start-up, or is a library that a worker must not hold.
HEAVY = {
    *("argparse", "ast", "asyncio", "collections", "contextlib", "dataclasses", "enum", "functools", "inspect", "json"),
    *("importlib.metadata", "locale", "logging", "multiprocessing", "pathlib", "pickle", "random", "re", "selectors"),
    *("shutil", "signal", "socket", "subprocess", "tempfile", "threading", "tomllib", "traceback", "typing", "urllib"),
    *("httpx", "landlock", "lark", "psutil", "pydantic", "pyseccomp", "trio", "zmq"),
}

OF_LOGINS = {
    *("keyring", "webbrowser", "http.server"),
    *(f"pycodex.supervisor.auth.{name}" for name in ("browser_login", "device_login", "oauth", "stores", "web")),
    *(f"pycodex.supervisor.{name}" for name in ("cli.login", "model.web", "frontends.app_server.client_tokens")),
}

# What only some turns need: reviews, full contexts, and commands that the person types.
OF_SOME_TURNS = {
    *("pycodex.protocol.review", "pycodex.supervisor.context.compaction", "pycodex.supervisor.model.compacted"),
    *(f"pycodex.supervisor.session.{name}" for name in ("children", "compaction", "goals_on_disk", "tasks")),
}


def is_lean(module: Module) -> bool:
    return (module.name in LEAN_MODULES or module.folder in LEAN_FOLDERS) and module.name not in NOT_LEAN


def is_light(imported: Import) -> bool:
    name = imported.name
    if name.startswith("pycodex."):
        return any(is_lean(module) and f"{name}.".startswith(f"pycodex.{module.name}.") for module in modules())
    return name.partition(".")[0] in LEAN_STDLIB or name.partition(".")[0] in sys.builtin_module_names


def heavy(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_lean_modules_load_only_light_ones() -> None:
    wrong = [
        f"{module.path}:{imported.line}: {imported.name}"
        for module in modules()
        if is_lean(module)
        for imported in imports_of(module.tree)
        if imported.at_load and not is_light(imported)
    ]
    assert wrong == []


def test_lean_modules_exist() -> None:
    assert set(LEAN_MODULES) | set(NOT_LEAN) <= {module.name for module in modules()}


def test_version_loads_next_to_nothing() -> None:
    loaded = modules_loaded_by(CLI, "--version")
    assert loaded == {
        "pycodex",
        "pycodex.supervisor",
        "pycodex.supervisor.cli",
        "pycodex.supervisor.cli.main",
        "pycodex.supervisor.version",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="the one-shot of this platform is another one")
def test_one_shot_loads_nothing_heavy(tmp_path: Path) -> None:
    arguments = ("sandbox", "linux", "--full-auto", "--", "true")
    loaded = modules_loaded_by(CLI, *arguments, env={**MINIMAL_ENV, "HOME": str(tmp_path)}, cwd=str(tmp_path))
    assert heavy(loaded) == set()


@pytest.mark.parametrize("module", ["sandbox.oneshot", "supervisor.cli.exec", "supervisor.cli.sandbox"])
def test_one_shot_modules_load_nothing_heavy(module: str) -> None:
    assert heavy(modules_loaded_by(f"import pycodex.{module}")) == set()


def test_engine_of_exec_loads_only_what_its_first_request_needs() -> None:
    loaded = modules_loaded_by("import pycodex.supervisor.frontends.exec.task, httpcore")
    libraries = {name.partition(".")[0] for name in loaded}
    assert libraries & {"PIL", "asyncio", "httpx", "lark", "psutil", "pydantic", "tomlkit", "yaml", "zmq"} == set()
    # What only some requests need, or none before the first answer.
    later = ("frontends.exec.human", "frontends.exec.progress", "rollout.listing", "rollout.reader", "workers.pool")
    assert loaded & {f"pycodex.supervisor.{name}" for name in later} == set()
    assert loaded & (OF_LOGINS | OF_SOME_TURNS) == set()


def test_app_server_says_hello_without_what_only_some_methods_need() -> None:
    modules = ("run", "server", "methods.initialize", "methods.table")
    loaded = modules_loaded_by("; ".join(f"import {APP_SERVER}.{name}" for name in modules))
    later = {f"{APP_SERVER}.login_attempts", "pycodex.supervisor.workspace.watches"}
    assert loaded & (OF_LOGINS | OF_SOME_TURNS | later) == set()


@pytest.mark.parametrize("module", sorted(m.name for m in modules() if m.folder == "worker"))
def test_worker_loads_neither_supervisor_nor_its_libraries(module: str) -> None:
    loaded = modules_loaded_by(f"import pycodex.{module}")
    # msgpack is all that a worker adds; it brings what it needs itself.
    brought = modules_loaded_by("import msgpack")
    assert heavy(loaded - brought) == set()
    assert {name for name in loaded if name.startswith(("pycodex.supervisor", "pycodex.sandbox.plan"))} == set()


def test_engine_starts_without_the_parsers_of_policy() -> None:
    """They are loaded with the first command, and with the first file of rules."""
    loaded = modules_loaded_by("import pycodex.supervisor.frontends.exec.task")
    assert "pycodex.supervisor.tools.orchestrator" in loaded
    assert loaded & {"pycodex.supervisor.mcp", "pycodex.supervisor.config.mcp_servers"} == set()
    assert loaded & {"tree_sitter", "tree_sitter_bash", "starlark", "pycodex.supervisor.policy.decision"} == set()


def test_engine_of_the_app_server_starts_without_the_client_of_mcp() -> None:
    """It is loaded with the first server that is configured."""
    loaded = modules_loaded_by("import pycodex.supervisor.frontends.app_server.server")
    assert {name for name in loaded if name.startswith("pycodex.supervisor.mcp")} == set()
