"""Code of ours comes from where we were loaded."""

import subprocess
import sys
from pathlib import Path

import pycodex.supervisor.import_root as module
from pycodex.supervisor.import_root import import_root
from support.interpreter import MINIMAL_ENV


def test_code_comes_from_where_we_were_loaded() -> None:
    assert Path(import_root(), "pycodex", "supervisor", "import_root.py").samefile(module.__file__)


def test_folder_of_our_name_that_comes_first_is_not_taken_for_us(tmp_path: Path) -> None:
    """We are a package without a file of its own: folders of the same name count as parts of it."""
    (tmp_path / "pycodex").mkdir()
    imports = "import pycodex; from pycodex.supervisor.import_root import import_root"
    code = f"{imports}; print(pycodex.__path__[0], import_root())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=MINIMAL_ENV, capture_output=True, text=True, check=True
    )
    first, root = done.stdout.split()
    assert Path(first).samefile(tmp_path / "pycodex")
    assert Path(root, "pycodex").samefile(Path(import_root(), "pycodex"))
