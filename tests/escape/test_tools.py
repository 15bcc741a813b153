"""What a hostile workspace can do to the supervisor through the tools: make it neither slow, nor large, nor a liar."""

import random

from pycodex.supervisor.tools.patching import apply_patch, tell_turn_diff
from pycodex.supervisor.workers.launch import launch
from pycodex.supervisor.workspace.turn_diff import MOST_BYTES, MOST_FILE_BYTES, FileState, TurnChanges
from support.escape.world import World
from support.pools import Pools, short_base
from support.tool_calls import WORKSPACE_WRITE, make_turn, open_bench

MODE = 0o100644


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def shuffled(lines: list[str], seed: int) -> FileState:
    return FileState(MODE, "".join(random.Random(seed).sample(lines, len(lines))).encode())


def test_diff_of_many_files_that_are_hard_to_compare_comes_to_its_end() -> None:
    """One of them takes half a second; a thousand would keep the supervisor from hearing an interrupt."""
    lines = [f"{number}\n" for number in range(2000)]
    changes = TurnChanges()
    names = [f"/ws/{number}" for number in range(1000)]
    plain = FileState(MODE, "".join(lines).encode())
    changes.patched(dict.fromkeys(names, plain), {name: shuffled(lines, seed) for seed, name in enumerate(names)}, {})
    assert changes.diff().count("diff --git") == len(names)


def test_files_are_found_by_name_however_many_a_turn_has_patched() -> None:
    count = 60_000
    old, new = (FileState(MODE, text) for text in (b"old", b"new"))
    changes = TurnChanges()
    for first, last in (("a", "b"), ("b", "c")):
        moves = {f"/ws/{first}{number}": f"/ws/{last}{number}" for number in range(count)}
        changes.patched(dict.fromkeys(moves, old), dict.fromkeys(moves.values(), new), moves)
    assert changes.paths == tuple(f"/ws/c{number}" for number in range(count))


def test_kept_contents_are_bounded_and_what_is_not_kept_is_still_told() -> None:
    changes = TurnChanges()
    large = FileState(MODE, b"x" * MOST_FILE_BYTES)
    too_large = FileState(MODE, b"x" * (MOST_FILE_BYTES + 1))
    changes.patched({"/ws/huge": too_large}, {"/ws/huge": None}, {})
    count = MOST_BYTES // MOST_FILE_BYTES
    for number in range(count + 1):
        changes.patched({f"/ws/{number}": large}, {f"/ws/{number}": None}, {})
    told = changes.diff().split("diff --git ")[1:]
    kept = ["\n-xxx" in each for each in told]
    assert kept == [*[True] * count, False, False]
    assert all("deleted file mode 100644\n" in each for each in told)
    assert [each.rpartition("\n")[0].rpartition("\n")[2] for each in told[count:]] == ["Binary files differ"] * 2


def test_room_of_contents_that_are_gone_is_free_again() -> None:
    changes = TurnChanges()
    changes.patched({"/ws/a": None}, {"/ws/a": FileState(MODE, b"first\n")}, {})
    for number in range(2 * MOST_BYTES // MOST_FILE_BYTES):
        changes.seen({"/ws/a": FileState(MODE, b"%d" % number * (MOST_FILE_BYTES // 2))})
    changes.seen({"/ws/a": FileState(MODE, b"last\n")})
    assert changes.diff().endswith("\n+last\n")


async def test_giant_file_that_a_patch_deletes_is_not_told_again_and_again(world: World) -> None:
    (world.ws / "giant").write_bytes(bytes(32 << 20))
    turn = make_turn(cwd=str(world.ws), permissions=WORKSPACE_WRITE)
    with short_base() as base:
        async with Pools(base, launch).open() as pool, open_bench(pool, world.codex_home, turn) as bench:
            await apply_patch(patch("*** Delete File: giant"), cwd=turn.cwd, call_id="c", scope=bench.scope)
            await tell_turn_diff(bench.scope, refresh=True)
            diffs = [told["unified_diff"] for told in bench.told("turn_diff")]
    assert not (world.ws / "giant").exists()
    assert [len(diff) < 1000 and "deleted file" in diff for diff in diffs] == [True, True]
