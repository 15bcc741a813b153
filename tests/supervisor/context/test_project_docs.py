"""Which AGENTS.md files are read. The expectations were seen on the reference, but for those named as ours."""

import os
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.supervisor.context.project_docs import DocSettings, user_instructions
from pycodex.supervisor.prompts import load

File = str | bytes | tuple[str, str]
FIFO = ("fifo", "")


def link(target: str) -> File:
    return ("link", target)


def place(base: Path, files: dict[str, File]) -> None:
    for name, content in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == FIFO:
            os.mkfifo(path)
        elif isinstance(content, tuple):
            path.symlink_to(content[1])
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


class Project:
    def __init__(self, base: Path) -> None:
        self.top, self.home = base / "top", base / "home"
        self.top.mkdir()
        self.home.mkdir()
        self.warnings: list[str] = []

    def instructions(self, cwd: str = "", **settings: Any) -> str | None:
        return user_instructions(
            os.path.realpath(self.top / cwd),
            DocSettings(**settings),
            codex_home=str(self.home),
            warn=self.warnings.append,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("files", "cwd", "text"),
    [
        pytest.param({}, "", None, id="nothing"),
        pytest.param({"AGENTS.md": "a\n"}, "", "a\n", id="verbatim"),
        pytest.param({"AGENTS.md": "a\r\nb\r\n"}, "", "a\r\nb\r\n", id="line ends kept"),
        pytest.param({"AGENTS.md": "\ufeffhi"}, "", "\ufeffhi", id="byte order mark kept"),
        pytest.param({"agents.md": "a"}, "", None, id="case matters"),
        pytest.param({"AGENTS.md": "a\n", "s/AGENTS.md": "s\n"}, "s", "a\n\n\ns\n", id="root first"),
        pytest.param({"AGENTS.md": "a\n", "s/AGENTS.md": "s\n"}, "", "a\n", id="not below"),
        pytest.param({"AGENTS.md": "a", "AGENTS.override.md": "o"}, "", "o", id="override wins"),
        pytest.param({"AGENTS.md": "a", "AGENTS.override.md": ""}, "", None, id="empty override hides"),
        pytest.param({"AGENTS.md": "a\n", "AGENTS.override.md/x": ""}, "", "a\n", id="directory does not count"),
        pytest.param({"AGENTS.md": "a", "AGENTS.override.md": link("no")}, "", None, id="dangling link hides"),
        pytest.param(
            {"AGENTS.md": "a", "AGENTS.override.md": link("no"), "s/AGENTS.md": "s"}, "s", "s", id="and only there"
        ),
        pytest.param({"AGENTS.md": link("real.md"), "real.md": "r"}, "", "r", id="link followed"),
        pytest.param({"AGENTS.md": " \n\t", "s/AGENTS.md": "s"}, "s", "s", id="blank dropped"),
        pytest.param({"AGENTS.md": "\u3000\u00a0\x85"}, "", None, id="blank in Unicode"),
        pytest.param({"AGENTS.md": "\x1f"}, "", "\x1f", id="separators are not blank"),
        pytest.param({"AGENTS.md": b"a\xff\xfeb\xe2\x82c\xe2\x82\x00z\xf0\x9f"}, "", "a��b�c�\x00z�", id="lossy"),
        pytest.param({"real/AGENTS.md": "r", "AGENTS.md": "a", "l": link("real")}, "l", "a\n\nr", id="canonical"),
        # The reference hangs on these.
        pytest.param({"AGENTS.override.md": FIFO, "AGENTS.md": "a"}, "", "a", id="ours: FIFO does not count"),
    ],
)
def test_choice_of_documents(project: Project, files: dict[str, File], cwd: str, text: str | None) -> None:
    place(project.top, {".git/HEAD": "", **files})
    assert project.instructions(cwd) == text
    assert project.warnings == []


@pytest.mark.parametrize(
    ("override", "why"),
    [(link("AGENTS.override.md"), "symbolic links"), (link("d"), "directory"), (link("pipe"), "regular file")],
)
def test_an_unreadable_document_drops_those_of_the_project_and_says_so(
    project: Project, override: File, why: str
) -> None:
    place(project.top, {".git/HEAD": "", "d/x": "", "pipe": FIFO, "AGENTS.override.md": override, "s/AGENTS.md": "s"})
    place(project.home, {"AGENTS.md": "home"})
    assert project.instructions("s") == "home"
    (warning,) = project.warnings
    assert "AGENTS.override.md" in warning
    assert why in warning


def test_no_link_leads_to_what_the_home_keeps(project: Project) -> None:
    place(project.home, {"auth.json": "secret", "AGENTS.md": "home"})
    place(project.top, {".git/HEAD": "", "AGENTS.md": link(str(project.home / "auth.json")), "s/x": ""})
    assert project.instructions("s") == "home"
    (warning,) = project.warnings
    assert str(project.top / "AGENTS.md") in warning


def test_the_documents_of_the_home_may_be_linked_to(project: Project) -> None:
    place(project.home, {"AGENTS.override.md": "over", "AGENTS.md": "shared"})
    place(project.top, {".git/HEAD": "", "AGENTS.md": link(str(project.home / "AGENTS.md"))})
    assert project.instructions() == "over\n\n--- project-doc ---\n\nshared"
    assert project.warnings == []


@pytest.mark.parametrize(
    ("files", "limit", "text"),
    [
        ({"AGENTS.md": "12345"}, 5, "12345"),
        ({"AGENTS.md": "12345", "s/AGENTS.md": "67890", "s/t/AGENTS.md": "zz"}, 8, "12345\n\n678"),
        ({"AGENTS.md": "12345", "s/AGENTS.md": "67890"}, 5, "12345"),
        ({"AGENTS.md": "aaé"}, 3, "aa�"),
        ({"AGENTS.md": "a😀b"}, 4, "a�"),
        ({"AGENTS.md": "   \n\n\n", "s/AGENTS.md": "6789012345"}, 8, "67890123"),
        ({"AGENTS.md": "      x", "s/AGENTS.md": "6789012345"}, 5, "67890"),
        ({"AGENTS.md": "12345"}, 0, None),
    ],
)
def test_budget_is_shared(project: Project, files: dict[str, File], limit: int, text: str | None) -> None:
    place(project.top, {".git/HEAD": "", "s/t/x": "", **files})
    assert project.instructions("s/t", max_bytes=limit) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("docs/T.md",), "docs"),
        (("", "T.md", "U.md"), "t"),
        ((" T.md ",), "t"),
        (("../T.md",), "above"),
        (("\0",), None),
        (("missing.md",), None),
    ],
)
def test_fallback_names(project: Project, names: tuple[str, ...], text: str | None) -> None:
    place(project.top, {"T.md": "above", "s/.git/HEAD": "", "s/T.md": "t", "s/U.md": "u", "s/docs/T.md": "docs"})
    assert project.instructions("s", fallback_names=names) == text


@pytest.mark.parametrize(
    ("files", "markers", "text"),
    [
        ({}, (".git",), "s"),
        ({".git/HEAD": ""}, (".git",), "a\n\ns"),
        ({".git": "gitdir: x"}, (".git",), "a\n\ns"),
        ({".git": link("no")}, (".git",), "s"),
        ({".git/HEAD": "", "s/.git": ""}, (".git",), "s"),
        ({".git/HEAD": ""}, (), "s"),
        ({".git/HEAD": "", "here": ""}, ("here",), "a\n\ns"),
        ({"x/y": ""}, ("x/y",), "a\n\ns"),
        ({}, ("",), "s"),
    ],
)
def test_project_begins_at_the_nearest_marker(
    project: Project, files: dict[str, File], markers: tuple[str, ...], text: str
) -> None:
    place(project.top, {"AGENTS.md": "a", "s/AGENTS.md": "s", **files})
    assert project.instructions("s", root_markers=markers) == text


def test_a_placeholder_of_the_sandbox_is_no_marker(project: Project) -> None:
    place(project.top, {"AGENTS.md": "a", "s/AGENTS.md": "s"})
    (project.top / ".git").mkdir()
    (project.top / ".git").chmod(PLACEHOLDER_MODE)
    assert project.instructions("s") == "s"


@pytest.mark.parametrize(
    ("files", "text", "warned"),
    [
        ({"AGENTS.md": "  home \u3000\n"}, "home", False),
        ({"AGENTS.override.md": "over", "AGENTS.md": "home"}, "over", False),
        ({"AGENTS.override.md": " \n", "AGENTS.md": "home"}, "home", False),
        ({"AGENTS.override.md": b"\xff", "AGENTS.md": "home"}, "home", True),
        ({"AGENTS.override.md/x": "", "AGENTS.md": "home"}, "home", True),
        ({"AGENTS.override.md": FIFO, "AGENTS.md": "home"}, "home", True),
        ({"AGENTS.md": b"\xff"}, None, True),
        ({"AGENTS.md": "x" * 40_000}, "x" * 40_000, False),
        ({}, None, False),
    ],
)
def test_home_level(project: Project, files: dict[str, File], text: str | None, warned: bool) -> None:
    place(project.home, files)
    assert project.instructions(max_bytes=10) == text
    assert bool(project.warnings) == warned


def test_home_and_project_are_joined_by_a_separator(project: Project) -> None:
    place(project.home, {"AGENTS.md": "home\n"})
    place(project.top, {"AGENTS.md": "project\n"})
    assert project.instructions() == "home\n\n--- project-doc ---\n\nproject\n"


def test_note_on_documents_elsewhere(project: Project) -> None:
    note = load.text("child-agents")
    assert project.instructions(note_on_children=True) == note
    place(project.top, {"AGENTS.md": "a\n"})
    assert project.instructions(note_on_children=True) == f"a\n\n\n{note}"
