"""The checkout as data: where it is, which folders are packages, which modules they hold.

Owns the one list of what counts as source; the structure tests ask questions of it. Reads files, imports none of them.
"""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOT_PACKAGES = {"bench", "build", "dist", "docs", "tests", "typings"}


@dataclass(frozen=True)
class Module:
    """One source file. `name` is the import name below `pycodex`, such as `worker.jobs.command`."""

    name: str
    path: Path

    @property
    def folder(self) -> str:
        return self.name.partition(".")[0]

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)


@dataclass(frozen=True)
class Import:
    """One imported module: its full name, the line, and whether it happens when the module is loaded."""

    name: str
    line: int
    at_load: bool


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=str(path))


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def top_packages() -> list[str]:
    """Folders of the checkout that are packages."""
    return sorted(path.parent.name for path in ROOT.glob("[!.]*/__init__.py") if path.parent.name not in NOT_PACKAGES)


def package_folders() -> list[Path]:
    """Every folder with Python in it, below the top packages."""
    found = {path.parent for package in top_packages() for path in (ROOT / package).rglob("*.py")}
    return sorted(found)


def modules() -> list[Module]:
    """Every module that is shipped."""
    return [
        Module(_dotted(path), path) for package in top_packages() for path in sorted((ROOT / package).rglob("*.py"))
    ]


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imports_of(tree: ast.Module) -> Iterator[Import]:
    """All imports, those inside functions marked as late, those for type checkers only left out.

    `from pycodex.a import b` is given as `pycodex.a.b`: whether `b` is a module cannot be seen from here.
    """
    yield from _imports(tree.body, at_load=True)


def _imports(body: list[ast.stmt], *, at_load: bool) -> Iterator[Import]:
    for statement in body:
        match statement:
            case ast.Import(names=names):
                yield from (Import(alias.name, statement.lineno, at_load) for alias in names)
            case ast.ImportFrom(level=level) if level:
                yield Import("." * level, statement.lineno, at_load)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (Import(f"{module}.{alias.name}", statement.lineno, at_load) for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                yield from _imports(orelse, at_load=at_load)
            case ast.FunctionDef(body=inner) | ast.AsyncFunctionDef(body=inner):
                yield from _imports(inner, at_load=False)
            case _:
                yield from _imports(_blocks(statement), at_load=at_load)


def _blocks(statement: ast.stmt) -> list[ast.stmt]:
    blocks: list[ast.stmt] = []
    for child in ast.iter_child_nodes(statement):
        match child:
            case ast.stmt():
                blocks.append(child)
            case ast.ExceptHandler(body=body) | ast.match_case(body=body):
                blocks.extend(body)
    return blocks


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
