"""What the reference was seen to do, we do, but for the deviations that are listed with their reasons."""

import shutil
import sys
from pathlib import Path

import pytest

from support.interop import INTEROP, applying, deviations, differences, known_scenarios, not_built

pytestmark = [
    pytest.mark.skipif(not INTEROP.is_dir(), reason=f"no recorded scenarios at {INTEROP}"),
    pytest.mark.skipif(not Path(sys.executable).with_name("pycodex").exists(), reason="pycodex is not installed here"),
    pytest.mark.skipif(shutil.which("git") is None, reason="the scenarios need git"),
]


@pytest.mark.parametrize("name", applying())
def test_behaves_as_recorded(name: str) -> None:
    found = differences(name)
    assert not found, found


def test_every_listed_scenario_exists() -> None:
    assert {*not_built("scenarios"), *deviations()} - set(known_scenarios()) == set()


def test_what_is_not_built_has_no_deviation() -> None:
    assert set(not_built("scenarios")) & set(deviations()) == set()
