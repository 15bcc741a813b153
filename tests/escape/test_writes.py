"""Nothing outside the writable roots changes: no content, name, mode, owner, time or attribute."""

import pytest

from support.escape.attack import Attack, attacker_argv, confined, prove, run, stop
from support.escape.world import READ_ONLY, WITH_NETWORK, WORKSPACE_WRITE, Mode, World

FAMILY = "writes"
PLACES = [
    (READ_ONLY, "out"),
    (READ_ONLY, "ws"),
    (READ_ONLY, "tmp"),
    (WORKSPACE_WRITE, "out"),
    (WITH_NETWORK, "out"),
]
ATTACKS = [
    Attack("create", "W01"),
    Attack("write_existing", "W01"),
    Attack("through_symlink", "W02"),
    Attack("create_through_directory_symlink", "W02"),
    Attack("through_path_aliases", "W02"),
    Attack("through_init_root", "W02", never="the host's pid 1 is not ours to touch"),
    Attack("hardlink_in_and_write", "W03"),
    Attack("hardlink_by_descriptor", "W03"),
    Attack("hardlink_out", "W03"),
    Attack("rename_out", "W05"),
    Attack("rename_over", "W05"),
    Attack("rename_in", "W06"),
    Attack("rename_exchange", "W06"),
    Attack("rename_whiteout", "W06", may_be_missing=True),
    Attack("rename_directory", "W06"),
    Attack("truncate", "W07"),
    Attack("mapped_write", "W07"),
    Attack("through_read_only_descriptor", "W07", never="the kernel refuses it everywhere"),
    Attack("change_mode", "W10"),
    Attack("change_owner", "W11"),
    Attack("change_times", "W12"),
    Attack("change_attributes", "W13", may_be_missing=True),
    Attack("change_inode_flags", "W13", may_be_missing=True),
    Attack("lock", "W14", by_report=True, harmless_inside=True),
    Attack("make_fifo", "W15"),
    Attack("device_nodes", "W16", root_only=True),
    Attack("whiteout_node", "W17", may_be_missing=True),
    Attack("remove_file", "W18"),
    Attack("remove_directory", "W18"),
    Attack("make_directory", "W19"),
    Attack("make_symlink", "W20"),
    Attack("bind_socket", "W21"),
    Attack("reopen_descriptor", "W22"),
    Attack("unnamed_file_given_a_name", "W23", may_be_missing=True),
    Attack("kernel_copies", "W26"),
    Attack("by_file_handle", "W27", root_only=True, may_be_missing=True),
    Attack("swapped_symlink_race", "W28"),
    Attack("system_directories", "W29", never="it would litter the machine"),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(world: World, attack: Attack) -> None:
    world.aim("out")
    prove(world, FAMILY, attack)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize(("mode", "place"), PLACES, ids=[f"{mode}-{place}" for mode, place in PLACES])
def test_is_stopped(world: World, attack: Attack, mode: Mode, place: str) -> None:
    world.aim(place)
    stop(world, FAMILY, attack, mode)


def test_no_ancestor_of_the_workspace_can_be_renamed(world: World) -> None:
    world.aim("ws")
    attack = Attack("rename_ancestor")
    stop(world, FAMILY, attack, WORKSPACE_WRITE)
    prove(world, FAMILY, attack)


@pytest.mark.parametrize("place", ["ws", "tmp"])
def test_the_writable_roots_are_writable(world: World, place: str) -> None:
    """The counterpart without which a sandbox that forbids everything would pass."""
    world.aim(place)
    outcome = run(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "create", world)))
    assert outcome.achieved, outcome
