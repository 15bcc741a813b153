"""Names of features."""

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.features import ALIASES, NAMES, checked_name


@pytest.mark.parametrize("name", ["use_legacy_landlock", "collab"])
def test_known_name_is_kept_as_given(name: str) -> None:
    assert checked_name(name) == name


def test_unknown_name_is_told() -> None:
    with pytest.raises(UserFacing) as caught:
        checked_name("nope")
    assert str(caught.value) == "Unknown feature flag: nope"


def test_every_alias_means_a_feature() -> None:
    assert set(ALIASES.values()) <= NAMES
    assert not NAMES & ALIASES.keys()
