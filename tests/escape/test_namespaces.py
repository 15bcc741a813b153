"""No namespace, mount or root of one's own, and none of another's."""

import platform

import pytest

from support.escape.attack import Attack, prove, stop
from support.escape.world import MODES, Mode, World

FAMILY = "namespaces"
MOUNTS_ON_HOST = "it would mount on the host"
ATTACKS = [
    Attack("unshare_user_and_remount", "N03"),
    Attack("unshare_each", "N04", by_report=True),
    Attack("unshare_each_alone", "N04", by_report=True, root_only=True),
    Attack("clone_each", "N05", by_report=True),
    Attack("clone_each_alone", "N05", by_report=True, root_only=True),
    Attack("clone3_each", "N05", by_report=True),
    Attack("flags_in_upper_half", "N05", by_report=True, may_be_missing=True),
    Attack("change_root", "N06", by_report=True, root_only=True),
    Attack("mounts", "N07", never=MOUNTS_ON_HOST),
    Attack("identity_maps", "N07", never="the kernel refuses it everywhere"),
    Attack("join_victim", "N08", by_report=True, root_only=True),
    Attack("join_own_and_init", "N08", never="the host's pid 1 is not ours to touch"),
    Attack("through_victim_links", "N09"),
    Attack("through_init_links", "N10", never="the host's pid 1 is not ours to touch"),
]
if platform.machine() == "x86_64":
    ATTACKS.append(Attack("foreign_abi", "N05", by_report=True, may_be_missing=True))


@pytest.fixture
def haunted(world: World) -> World:
    world.add_victim()
    return world


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(haunted: World, attack: Attack) -> None:
    prove(haunted, FAMILY, attack)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_is_stopped(haunted: World, attack: Attack, mode: Mode) -> None:
    stop(haunted, FAMILY, attack, mode)
