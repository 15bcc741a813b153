"""What is shipped equals what is in the tree, and the shipped thing starts."""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from pycodex.supervisor.version import VERSION
from support.tree import ROOT, modules, package_folders, pyproject, top_packages

DATA_SUFFIXES = {".bpf", ".sbpl", ".md", ".lark", ".json", ".toml", ".txt", ".typed"}


def setuptools_table() -> dict[str, object]:
    table: dict[str, object] = pyproject()["tool"]["setuptools"]
    return table


def data_files() -> list[Path]:
    return sorted(
        path.relative_to(ROOT)
        for package in top_packages()
        for path in (ROOT / package).rglob("*")
        if path.suffix in DATA_SUFFIXES
    )


def test_listed_packages_are_the_folders_of_the_tree() -> None:
    folders = ["pycodex." + ".".join(folder.relative_to(ROOT).parts) for folder in package_folders()]
    assert setuptools_table()["packages"] == folders


def test_every_package_folder_has_an_init() -> None:
    assert [folder for folder in package_folders() if not (folder / "__init__.py").is_file()] == []


def test_every_top_package_says_that_it_is_typed() -> None:
    assert [name for name in top_packages() if not (ROOT / name / "py.typed").is_file()] == []


def test_every_data_file_is_matched_by_package_data() -> None:
    declared = setuptools_table()["package-data"]
    assert isinstance(declared, dict)
    matched = {
        path.relative_to(ROOT)
        for package, patterns in declared.items()
        for pattern in patterns
        for path in (ROOT / package.removeprefix("pycodex.").replace(".", "/")).glob(pattern)
    }
    assert matched == set(data_files())


def test_types_are_checked_in_every_folder() -> None:
    assert pyproject()["tool"]["mypy"]["files"] == [
        *(f"typings/pycodex/{name}" for name in top_packages()),
        "tests",
        "bench",
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the checkout: building leaves files behind in the tree it builds from."""
    pytest.importorskip("setuptools", minversion="77")
    source = tmp_path_factory.mktemp("source") / "checkout"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info", "tests", "typings", "bench")
    shutil.copytree(ROOT, source, ignore=ignored, symlinks=True)
    code = "import setuptools.build_meta, sys; print(setuptools.build_meta.build_wheel(sys.argv[1]))"
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", code, str(target)], cwd=source, check=True, capture_output=True, text=True)
    (built,) = target.glob("*.whl")
    return built


def test_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {f"pycodex/{module.path.relative_to(ROOT)}" for module in modules()}
    expected |= {f"pycodex/{path}" for path in data_files()}
    assert names == {*expected, f"pycodex-{VERSION}.data/scripts/pycodex"}


@pytest.mark.skipif(os.name != "posix", reason="needs a script with an interpreter line")
def test_command_of_an_installed_wheel_prints_the_version(wheel: Path, tmp_path: Path) -> None:
    """Installed as an installer would: a virtual environment of its own, which sees no checkout."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    purelib = sysconfig.get_path("purelib", "venv", {"base": str(tmp_path / "venv")})
    zipfile.ZipFile(wheel).extractall(purelib)
    packed = Path(purelib) / f"pycodex-{VERSION}.data" / "scripts" / "pycodex"
    command = python.parent / "pycodex"
    first, _, rest = packed.read_text().partition("\n")
    assert first == "#!python"
    command.write_text(f"#!{python}\n{rest}")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run([command, "--version"], cwd=tmp_path, env={}, check=True, capture_output=True, text=True)
    assert done.stdout.split()[-1] == VERSION
