"""Whether a patch may be applied without asking, and what more it needs if a person allows it.

Owns the decision for patches: it goes by where they write, as their text says it, and by the approval policy. The
sandbox holds whatever is decided here, and is opened only for files that a person has said yes to. Pure.
"""

import os
from collections.abc import Iterable
from enum import Enum

from pycodex.protocol.confinement import WRITE, Confinement
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.sandbox.plan import access_of
from pycodex.supervisor.policy.decision import NEVER, ON_FAILURE, ON_REQUEST, UNTRUSTED, wants_retry


class PatchVerdict(Enum):
    APPLY = "apply"
    """In the sandbox of the turn."""
    ASK = "ask"
    REJECT = "reject"
    """It would have to be asked, and the policy is never to ask."""


def judge_patch(paths: Iterable[str], confinement: Confinement, policy: ApprovalPolicy) -> PatchVerdict:
    """`paths` are all that the patch writes, absolute and canonical, both ends of a move included."""
    if policy == UNTRUSTED:
        return PatchVerdict.ASK
    if policy == ON_FAILURE or not closed_to(paths, confinement):
        return PatchVerdict.APPLY
    return PatchVerdict.ASK if _asks(policy) else PatchVerdict.REJECT


def closed_to(paths: Iterable[str], confinement: Confinement) -> list[str]:
    """Those that cannot be written: a file changes places in its directory, which must be writable, too."""
    access = access_of(confinement)
    return [path for path in paths if access(path) != WRITE or access(os.path.dirname(path)) != WRITE]


def asks_after_denial(policy: ApprovalPolicy) -> bool:
    """Whether a patch that the sandbox stopped may be asked about."""
    return policy == ON_REQUEST or wants_retry(policy)


def _asks(policy: ApprovalPolicy) -> bool:
    return bool(policy["granular"].get("sandbox_approval")) if isinstance(policy, dict) else policy != NEVER
