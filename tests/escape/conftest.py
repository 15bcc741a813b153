"""One fresh world for each test of the battery; see support/escape."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]
else:
    from support.escape.descendants import adopt_orphans
    from support.escape.world import World, make_repository

    @pytest.fixture(scope="session", autouse=True)
    def adopted_orphans() -> Iterator[None]:
        """Nothing that a call leaves running can hide from the tests."""
        adopt_orphans(wanted=True)
        yield
        adopt_orphans(wanted=False)

    @pytest.fixture(scope="session")
    def repository_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("escape") / "repository"
        make_repository(path)
        return path

    @pytest.fixture
    def world(repository_template: Path) -> Iterator[World]:
        made = World.make(repository_template)
        yield made
        made.close()
