"""`.env`: the reference's answers to the same lines, and where ours are better."""

import json
from pathlib import Path

import pytest

from pycodex.supervisor.config.dotenv import parse, read_dotenv, with_dotenv

ENV = {"A1": "outer", "HOME": "/h"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1", {"A": "1"}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A = 1\nB =2\nC= 3\n", {"A": "1", "B": "2", "C": "3"}),
        ("  A=1\n", {"A": "1"}),
        ("A=\nB=3\n", {"A": "", "B": "3"}),
        ("A=a=b=c\n", {"A": "a=b=c"}),
        ("# c\n\n  # d\nA=1\n", {"A": "1"}),
        ("A=x # c\nB=3 #d\nC=#x\nD=a#b\nE= # only\n", {"A": "x", "B": "3", "C": "", "D": "a#b", "E": ""}),
        ("export A=1\nexport  B=2\nexport=3\nexportC=4\n", {"A": "1", "B": "2", "export": "3", "exportC": "4"}),
        ("export A\nB=1\n", {"B": "1"}),
        ("A='s $A1 \\n'\n", {"A": "s $A1 \\n"}),
        ('A="d \\" \\n \\\\ \\$x"\n', {"A": 'd " \n \\ $x'}),
        ('A="a\nb"\nB=1\n', {"A": "a\nb", "B": "1"}),
        ("A='a\nb'\nB=1\n", {"A": "a\nb", "B": "1"}),
        ('A="x\nB=y"\nC=4\n', {"A": "x\nB=y", "C": "4"}),
        ("A=a\"b c\"d'e f'g\n", {"A": "ab cde fg"}),
        ("A=e\\ f\\ng\n", {"A": "e f\ng"}),
        ('A="a"  # c\n', {"A": "a"}),
        ("A=${NOPE}x${A1}y\nB=$A\n", {"A": "xoutery", "B": "xoutery"}),
        ("A1=new\nB=$A1\n", {"A1": "new", "B": "new"}),
        ('A=\\$A1\nB="\\$A1"\n', {"A": "$A1", "B": "$A1"}),
        ("A=$(ls)\nB=$\n", {"A": "(ls)", "B": ""}),
        ("A=$HOME $A1\n", {"A": "/h outer"}),
        ('A="$A1_y"\n', {"A": "outer_y"}),
        ("A.B=1\n_a=2\n", {"A.B": "1", "_a": "2"}),
        ("A=1;B=2\n", {"A": "1;B=2"}),
        ("A=é\n", {"A": "é"}),
        # The reference loses the next one: it takes the quote behind a bare name for a part of the value.
        ('A="${A1} $A1"\n', {"A": "outer outer"}),
    ],
)
def test_lines_that_set_something(text: str, expected: dict[str, str]) -> None:
    assert parse(text, ENV) == expected


@pytest.mark.parametrize(
    "line",
    [
        "1BAD=x",
        "A-B=1",
        "A B=1",
        "é=1",
        "=x",
        "A",
        "A: yaml",
        "A=x y",
        "A='x' y",
        'A="bad \\q"',
        "A=a\\tb",
        "A=${A1",
        "A=a\0b",
        "A=\ufffd",
    ],
)
def test_line_that_makes_no_sense_sets_nothing_and_harms_no_other(line: str) -> None:
    assert parse(f"B=1\n{line}\nC=3\n", ENV) == {"B": "1", "C": "3"}


def test_open_quote_swallows_the_rest(tmp_path: Path) -> None:
    assert parse('B=1\nA="open\nC=3\n', ENV) == {"B": "1"}


@pytest.mark.parametrize("name", ["CODEX_HOME", "Codex_x", "codex_"])
def test_our_own_names_are_not_for_the_file(name: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{name}=1\nXCODEX_=2\n")
    assert read_dotenv(str(tmp_path)) == {"XCODEX_": "2"}


def test_file_beats_the_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A1=file\nNEW=$HOME\n")
    assert with_dotenv(ENV, str(tmp_path)) == {"A1": "file", "HOME": "/h", "NEW": "/h"}


def test_missing_file_and_a_directory_in_its_place_set_nothing(tmp_path: Path) -> None:
    assert read_dotenv(str(tmp_path)) == {}
    (tmp_path / ".env").mkdir()
    assert read_dotenv(str(tmp_path)) == {}


def test_recorded_scenario(shared_dir: Path, tmp_path: Path) -> None:
    scenario = json.loads((shared_dir / "interop/scenarios/config-env-file.json").read_text())
    recorded = json.loads((shared_dir / "interop/expected/config-env-file.json").read_text())
    (tmp_path / ".env").write_text(scenario["home"][".env"])
    env = with_dotenv(scenario["env"], str(tmp_path))
    printed = f"{env['FROM_ENV_FILE']} {env.get('CODEX_HIDDEN', 'unset')}\n"
    assert recorded["model"]["outputs"][0].endswith(f"Output:\n{printed}")
