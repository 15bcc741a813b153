"""The menu shows every feature once."""

from pycodex.supervisor.config import features
from pycodex.supervisor.config.feature_menu import ENTRIES, ORDER


def test_every_feature_has_its_place() -> None:
    assert sorted(ORDER) == sorted(features.NAMES)


def test_what_people_may_try_has_words() -> None:
    assert set(ENTRIES) == {name for name, stage in features.STAGES.items() if stage == features.EXPERIMENTAL}
