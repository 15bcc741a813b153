"""Imports go one way: the table below says which folder may know which."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.tree import Import, Module, imports_of, modules, pyproject, python_files, top_packages

BACKENDS = ("linux_sandbox", "seatbelt", "windows_sandbox")


@dataclass(frozen=True)
class Allowed:
    """What a folder may import besides itself and the standard library. `late`: only inside a function."""

    ours: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


# Where a library is imported by another name than it is installed by.
IMPORT_NAMES = {
    "pillow": "PIL",
    "pyyaml": "yaml",
    "pyzmq": "zmq",
    "starlark-pyo3": "starlark",
    "tree-sitter": "tree_sitter",
    "tree-sitter-bash": "tree_sitter_bash",
    "trio-websocket": "trio_websocket",
}

LEAN_WORDS = ("protocol.confinement", "protocol.record")

FOLDERS = {
    "protocol": Allowed(libraries=("pydantic", "msgpack")),
    "sandbox": Allowed(ours=("protocol",), late=BACKENDS),
    **{backend: Allowed(ours=LEAN_WORDS) for backend in BACKENDS},
    "worker": Allowed(
        ours=(
            *LEAN_WORDS,
            *(f"protocol.{name}" for name in ("errors", "frames", "ids", "patch", "picture_scaling", "pictures")),
            "sandbox.backend",
        ),
        libraries=("msgpack",),
    ),
    "supervisor": Allowed(
        ours=(
            "protocol",
            *(f"sandbox.{name}" for name in ("plan", "survey", "denial", "diagnosis", "oneshot", "backend")),
        ),
        libraries=(
            *("starlark", "tree_sitter", "tree_sitter_bash"),
            *("PIL", "httpcore", "httpx", "keyring", "lark", "msgpack", "outcome", "psutil", "pydantic", "tomlkit"),
            "trio",
            *("trio_websocket", "yaml", "zmq"),
        ),
    ),
}

# Modules that deserve less, or more, than their folder.
MODULES = {
    **{
        f"protocol.{name}": Allowed(libraries=("msgpack",))
        for name in (
            *("confinement", "errors", "frames", "git_syntax", "ids", "patch", "permissions", "pictures", "record"),
        )
    },
    "protocol.picture_scaling": Allowed(libraries=("PIL",)),
    "linux_sandbox.seccomp_build": Allowed(ours=LEAN_WORDS, libraries=("pyseccomp",)),
}

# Outside in: a layer imports only from layers below its own; folders of one layer do not know each other.
SUPERVISOR_LAYERS = (
    ("__main__",),
    ("cli",),
    ("frontends",),
    ("threads", "commands"),
    ("session",),
    ("context", "tools", "model", "rollout"),
    ("policy", "workers", "mcp", "workspace"),
    ("config", "auth", "net", "text", "prompts"),
    ("version", "import_root"),
)
RANK = {name: rank for rank, layer in enumerate(SUPERVISOR_LAYERS) for name in layer}


def is_below(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def allowed_for(module: Module) -> Allowed:
    parts = module.name.split(".")
    for length in range(len(parts), 0, -1):
        special = MODULES.get(".".join(parts[:length]))
        if special:
            return special
    return FOLDERS[module.folder]


def objection(module: Module, imported: Import) -> str | None:
    """Why this import is wrong, or None."""
    allowed = allowed_for(module)
    name = imported.name
    if name.startswith("."):
        return "relative import"
    if not is_below(name, ("pycodex",)):
        library = name.partition(".")[0]
        if library in sys.stdlib_module_names or library in allowed.libraries:
            return None
        return f"{module.folder} may not use {library}"
    ours = name.removeprefix("pycodex.")
    if is_below(ours, (module.folder,)):
        return objection_inside_supervisor(module, ours) if module.folder == "supervisor" else None
    if is_below(ours, allowed.ours):
        return None
    if is_below(ours, allowed.late):
        return "only inside a function" if imported.at_load else None
    return f"{module.name} may not know {ours}"


def objection_inside_supervisor(module: Module, imported: str) -> str | None:
    mine, other = (name.split(".")[1] if "." in name else "" for name in (module.name, imported))
    if not mine or not other or mine == other:
        return None
    if mine not in RANK or other not in RANK:
        return f"{mine if mine not in RANK else other} has no layer"
    return None if RANK[other] > RANK[mine] else f"{mine} is not above {other}"


def objections() -> Iterator[str]:
    for module in modules():
        for imported in imports_of(module.tree):
            if why := objection(module, imported):
                yield f"{module.path}:{imported.line}: {imported.name}: {why}"


def test_every_import_is_in_the_table() -> None:
    assert list(objections()) == []


def test_every_folder_is_in_the_table() -> None:
    assert sorted(FOLDERS) == top_packages()


def test_every_supervisor_module_has_a_layer() -> None:
    names = {module.name.split(".")[1] for module in modules() if module.name.startswith("supervisor.")}
    assert names - RANK.keys() == set()


def test_libraries_of_the_table_are_declared_dependencies() -> None:
    declared = {
        IMPORT_NAMES.get(name := line.split(";")[0].split(">=")[0].strip(), name)
        for line in pyproject()["project"]["dependencies"]
    }
    used = {library for allowed in (*FOLDERS.values(), *MODULES.values()) for library in allowed.libraries}
    assert used <= declared


def test_nothing_is_imported_by_its_bare_folder_name() -> None:
    """It would work in a checkout and make a second copy of every class."""
    bare = [
        f"{path}:{imported.line}: {imported.name}"
        for path in [*(module.path for module in modules()), *python_files("tests", "bench")]
        for imported in imports_of(Module("", path).tree)
        if is_below(imported.name, tuple(top_packages()))
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("module", "imported", "at_load"),
    [
        ("protocol.frames", "pycodex.sandbox.plan", True),
        ("protocol.frames", "pydantic", True),
        ("protocol.frames", "trio", False),
        ("sandbox.backend", "pycodex.linux_sandbox.apply", True),
        ("sandbox.plan", "pycodex.supervisor.version", False),
        ("linux_sandbox.apply", "pycodex.sandbox.plan", False),
        ("linux_sandbox.apply", "pycodex.seatbelt.profile", False),
        ("linux_sandbox.seccomp_filter", "pyseccomp", False),
        ("worker.child", "pycodex.protocol.permissions", False),
        ("worker.child", "pycodex.sandbox.plan", False),
        ("worker.child", "zmq", False),
        ("supervisor.workers.pool", "pycodex.worker.child", False),
        ("supervisor.workers.pool", "pycodex.supervisor.cli.main", False),
        ("supervisor.workers.pool", "pycodex.supervisor.policy.rules", False),
        ("supervisor.cli.main", "requests", False),
        ("supervisor.cli.main", ".", True),
    ],
)
def test_the_table_refuses(module: str, imported: str, at_load: bool) -> None:
    subject = Module(module, next(iter(modules())).path)
    assert objection(subject, Import(imported, 1, at_load))


@pytest.mark.parametrize(
    ("module", "imported", "at_load"),
    [
        ("sandbox.backend", "pycodex.linux_sandbox.apply", False),
        ("worker.child", "pycodex.sandbox.backend.warm", True),
        ("supervisor.cli.sandbox", "pycodex.sandbox.oneshot.run_once", True),
        ("supervisor.cli.main", "pycodex.supervisor.workers.pool.Pool", False),
        ("linux_sandbox.seccomp_build", "pyseccomp", True),
    ],
)
def test_the_table_permits(module: str, imported: str, at_load: bool) -> None:
    subject = Module(module, next(iter(modules())).path)
    assert objection(subject, Import(imported, 1, at_load)) is None
