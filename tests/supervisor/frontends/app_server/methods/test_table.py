"""The table names every method, where it is."""

from pathlib import Path

from pycodex.supervisor.frontends.app_server import methods
from pycodex.supervisor.frontends.app_server.methods import table
from support.tree import ROOT

DOCUMENTATION = ROOT / "docs" / "app-server-methods.md"
NO_METHODS = {"__init__", "calls", "table"}


def test_table_and_files_agree() -> None:
    folder = Path(methods.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - NO_METHODS
    assert files == set(table.FILE_OF.values())
    found = {name: file for file in files for name in table.methods_in(file)}
    assert found == table.FILE_OF


def test_unknown_method_is_none() -> None:
    assert table.find("no/such") is None
    method = table.find("thread/start")
    assert method is not None
    assert method.name == "thread/start"


def test_the_documentation_names_every_method() -> None:
    rows = [line.split("|") for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| `")]
    named = {row[1].split("`")[1]: row for row in rows}
    assert list(named) == list(table.NAMES)
    starred = {name for name, row in named.items() if row[1].strip().endswith("*")}
    assert starred == {name for name in table.NAMES if (found := table.find(name)) and found.experimental}
    assert {row[2].strip() for row in rows} == {"supported", "in part", "answers only", "not supported"}
