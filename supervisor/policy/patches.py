"""Whether a patch may be applied without asking.

Owns the decision for patches: it goes by where they write, as their text says it, and by the approval policy. The
sandbox holds whatever is decided here. Pure.
"""

import os
from collections.abc import Iterable
from enum import Enum

from pycodex.protocol.confinement import WRITE, Confinement
from pycodex.protocol.turn_context import ApprovalPolicy


class PatchVerdict(Enum):
    APPLY = "apply"
    """In the sandbox of the turn."""
    ASK = "ask"
    REJECT = "reject"
    """It would have to be asked, and the policy is never to ask."""


def judge_patch(
    paths: Iterable[str], confinement: Confinement, approval_policy: ApprovalPolicy, *, cwd: str
) -> PatchVerdict:
    """`paths` are all that the patch writes, both ends of a move included; relative ones start at `cwd`."""
    if approval_policy == "untrusted":
        return PatchVerdict.ASK
    if approval_policy == "on-failure" or confinement.unconfined_because or confinement.base == WRITE:
        return PatchVerdict.APPLY
    roots = tuple(entry.path for entry in confinement.entries if entry.access == WRITE)
    if all(_is_inside(os.path.normpath(os.path.join(cwd, path)), roots) for path in paths):
        return PatchVerdict.APPLY
    return PatchVerdict.REJECT if approval_policy == "never" else PatchVerdict.ASK


def _is_inside(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root.rstrip("/") + "/") for root in roots)
