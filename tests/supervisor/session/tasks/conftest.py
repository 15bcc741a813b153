"""A home and a workspace for the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engine import Place, open_place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as opened:
        yield opened
