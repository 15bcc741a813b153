"""A patch that stays where the turn may write is applied; what becomes of another one depends on the policy."""

from typing import Any

import pytest

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy.patches import PatchVerdict, judge_patch

APPLY, ASK, REJECT = PatchVerdict.APPLY, PatchVerdict.ASK, PatchVerdict.REJECT
GRANULAR: dict[str, Any] = {"granular": {"sandbox_approval": True, "rules": True, "mcp_elicitations": True}}
INSIDE = ("new", "sub/dir/file", "./x/../y", "/ws/a", "/ws//a", "/extra/b", "../ws/c", "sub/../../extra/d")
OUTSIDE = ("../x", "sub/../../x", "/etc/passwd", "/wsx/file", "/extra-not", "/ws/../etc/x", "/", "/ws", ".", "//etc/x")


def writing(*roots: str) -> Confinement:
    entries = tuple(Entry(path=root, access="write") for root in roots)
    return Confinement(entries=(*entries, Entry(path="/ws/.git", access="read"), Entry(path="/etc", access="none")))


WORKSPACE = writing("/ws", "/extra")
READ_ONLY = writing()
EVERYTHING = writing("/")
FULL_ACCESS = Confinement(unconfined_because="danger-full-access")


def judge(*paths: str, confinement: Confinement = WORKSPACE, policy: ApprovalPolicy = "never") -> PatchVerdict:
    return judge_patch(paths, confinement, policy, cwd="/ws")


@pytest.mark.parametrize(
    ("policy", "inside", "outside", "read_only", "unconfined"),
    [
        ("untrusted", ASK, ASK, ASK, ASK),
        ("on-failure", APPLY, APPLY, APPLY, APPLY),
        ("on-request", APPLY, ASK, ASK, APPLY),
        ("never", APPLY, REJECT, REJECT, APPLY),
        (GRANULAR, APPLY, ASK, ASK, APPLY),
    ],
    ids=["untrusted", "on-failure", "on-request", "never", "granular"],
)
def test_policy_decides_by_place(
    policy: ApprovalPolicy,
    inside: PatchVerdict,
    outside: PatchVerdict,
    read_only: PatchVerdict,
    unconfined: PatchVerdict,
) -> None:
    for path in INSIDE:
        assert judge(path, policy=policy) is inside, path
        assert judge(path, policy=policy, confinement=READ_ONLY) is read_only, path
    for path in OUTSIDE:
        assert judge(path, policy=policy) is outside, path
    for path in (*INSIDE, *OUTSIDE):
        assert judge(path, policy=policy, confinement=FULL_ACCESS) is unconfined, path


def test_one_path_outside_is_enough() -> None:
    """Both ends of a move are among the paths."""
    assert judge("a", "b", "c") is APPLY
    for paths in (("../x", "a"), ("a", "../x"), ("a", "/etc/x", "b")):
        assert judge(*paths) is REJECT
        assert judge(*paths, policy="on-request") is ASK


def test_whole_disk_may_be_a_root() -> None:
    for path in ("a", "/etc/passwd", "../../../x", "/x"):
        assert judge(path, confinement=EVERYTHING) is APPLY


def test_sandbox_of_somebody_else_holds_whatever_is_written() -> None:
    assert judge("/etc/passwd", confinement=Confinement(base="write")) is APPLY


def test_root_may_end_with_a_slash() -> None:
    assert judge("/ws/a", confinement=writing("/ws/")) is APPLY
    assert judge("/wsx/a", confinement=writing("/ws/")) is REJECT


def test_relative_paths_start_where_the_patch_is_applied() -> None:
    assert judge_patch(["a", "../ws/b"], WORKSPACE, "never", cwd="/elsewhere") is REJECT
    assert judge_patch(["../ws/b"], WORKSPACE, "never", cwd="/elsewhere") is APPLY
    assert judge_patch(["a"], WORKSPACE, "never", cwd="/ws/sub") is APPLY


def test_what_can_only_be_read_is_no_root() -> None:
    assert judge("/etc/x", confinement=Confinement(entries=(Entry(path="/etc", access="read"),))) is REJECT


def test_patch_that_writes_nothing_is_harmless() -> None:
    assert judge(confinement=READ_ONLY) is APPLY
