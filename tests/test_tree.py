"""A stranger finds things where the tree says they are."""

import ast
import re
from pathlib import Path

from support.tree import ROOT, Module, modules, package_folders, python_files, top_packages

# Folders below tests/ that follow behaviour, not modules.
BEHAVIOUR_FOLDERS = {"escape", "faults", "interop", "support"}
STRUCTURE_TESTS = {"conftest.py", "test_imports.py", "test_layers.py", "test_packages.py", "test_tree.py"}
BANNED_WORDS = {"common", "handler", "helper", "helpers", "manager", "misc", "util", "utils"}
MAX_MODULE_LINES = 600
# A table of cases is read by looking up, not from the top.
MAX_TEST_LINES = 900


def own_files() -> list[Path]:
    return [*(module.path for module in modules()), *python_files("tests", "bench")]


def most_lines(path: Path) -> int:
    return MAX_TEST_LINES if path.is_relative_to(ROOT / "tests") else MAX_MODULE_LINES


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_claimed_by(test: Path) -> Path:
    """The module that a test file claims to test; a package stands for its folder."""
    folder = ROOT / test.relative_to(ROOT / "tests").parent
    name = test.stem.removeprefix("test_")
    package = folder / name
    return package if package.is_dir() else package.with_suffix(".py")


def test_every_test_file_names_an_existing_module() -> None:
    mirrored = [path for name in (*top_packages(), "bench") for path in (ROOT / "tests" / name).rglob("test_*.py")]
    assert [relative(path) for path in mirrored if not module_claimed_by(path).exists()] == []


def test_tests_lie_in_folders_of_the_tree() -> None:
    known = {folder.relative_to(ROOT) for folder in package_folders()} | {Path("bench")}
    strange = []
    for path in python_files("tests"):
        place = path.relative_to(ROOT / "tests")
        if len(place.parts) == 1:
            if place.name not in STRUCTURE_TESTS:
                strange.append(relative(path))
        elif place.parts[0] not in BEHAVIOUR_FOLDERS and place.parent not in known:
            strange.append(relative(path))
    assert strange == []


def test_no_test_folder_is_a_package() -> None:
    """In importlib mode they would shadow each other; only the shared modules are imported by name."""
    inits = [relative(path) for path in (ROOT / "tests").rglob("__init__.py")]
    assert [path for path in inits if not path.startswith("tests/support/")] == []


def test_names_say_something() -> None:
    # One file per tool lies in supervisor/tools/handlers; the folder's name is the exception.
    empty = [relative(path) for path in own_files() if BANNED_WORDS & set(path.stem.split("_"))]
    empty += [relative(folder) for folder in package_folders() if BANNED_WORDS & set(folder.name.split("_"))]
    assert empty == []


def test_every_module_that_is_not_empty_has_a_docstring() -> None:
    bare = [
        relative(path) for path in own_files() if path.stat().st_size and not ast.get_docstring(Module("", path).tree)
    ]
    assert bare == []


def test_no_module_is_too_long_to_read() -> None:
    long = [relative(path) for path in own_files() if len(path.read_bytes().splitlines()) > most_lines(path)]
    assert long == []


def test_the_type_checkers_link_points_at_the_checkout() -> None:
    link = ROOT / "typings" / "pycodex"
    assert link.is_symlink()
    assert link.resolve() == ROOT


def test_architecture_names_files_that_exist() -> None:
    named = re.findall(r"`([a-z_]+(?:/[a-z_.]+)*)/?`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    paths = {name for name in named if name.partition("/")[0] in top_packages() and "/" in name}
    missing = [name for name in paths if not any((ROOT / f"{name}{suffix}").exists() for suffix in ("", ".py"))]
    assert sorted(missing) == []
