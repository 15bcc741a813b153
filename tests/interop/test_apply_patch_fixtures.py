"""The patch cases that the reference project ships, through the installed program under its patch name."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.interpreter import MINIMAL_ENV
from support.patches import snapshot

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "apply-patch-scenarios"


def case_names() -> Sequence[object]:
    names = sorted(path.parent.name for path in CASES.glob("*/patch.txt"))
    return names or [pytest.param("", marks=pytest.mark.skip(reason=f"no patch cases at {CASES}"))]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    installed = Path(sys.executable).parent / "pycodex"
    if not installed.is_file():
        pytest.skip(f"no program at {installed}")
    link = tmp_path / "apply_patch"
    link.symlink_to(installed)
    return link


def contents(folder: Path) -> dict[str, bytes]:
    return {path: content for path, (_, content) in snapshot(folder).items()}


@pytest.mark.parametrize("name", case_names())
def test_case_leaves_the_expected_tree(name: str, program: Path, tmp_path: Path) -> None:
    case, folder = CASES / name, tmp_path / "folder"
    if (case / "input").is_dir():
        shutil.copytree(case / "input", folder)
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    else:
        folder.mkdir()
    # As a shell would pass it: without the newlines at its end.
    patch = (case / "patch.txt").read_text(encoding="utf-8").rstrip("\n")
    subprocess.run([str(program), patch], cwd=folder, env=MINIMAL_ENV, capture_output=True, check=False)
    assert contents(folder) == (contents(case / "expected") if (case / "expected").is_dir() else {})
