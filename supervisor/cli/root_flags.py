"""Flags that may stand before the subcommand.

Owns their list and what becomes of them: the model and the two switches for more freedom reach `exec`, the profile
`features`, the rest belongs to the interactive interface and is accepted without effect, as the reference does it.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, VERSION, Flag, Scanned, bad_usage

_MODEL = Flag("-m", "--model", value="MODEL")
_FULL_AUTO = Flag("--full-auto")
_BYPASS = Flag("--yolo", "--dangerously-bypass-approvals-and-sandbox")
_APPROVAL = Flag(
    "-a", "--ask-for-approval", value="APPROVAL_POLICY", choices=("untrusted", "on-failure", "on-request", "never")
)
_REMOTE = Flag("--remote", value="ADDR")
_PROFILE = Flag("-p", "--profile", value="CONFIG_PROFILE")

ROOT_FLAGS = (
    *GLOBAL_FLAGS,
    *(VERSION, _MODEL, _FULL_AUTO, _BYPASS, _APPROVAL, _REMOTE, _PROFILE),
    Flag("-i", "--image", value="FILE", greedy=True),
    Flag("--oss"),
    Flag("--local-provider", value="OSS_PROVIDER"),
    Flag(
        *("-s", "--sandbox"),
        value="SANDBOX_MODE",
        choices=("read-only", "workspace-write", "danger-full-access"),
    ),
    Flag("-C", "--cd", value="DIR"),
    Flag("--search"),
    Flag("--add-dir", value="DIR", many=True),
    Flag("--no-alt-screen"),
)


class RootFlags:
    """Those that take effect behind them."""

    def __init__(
        self,
        *,
        model: "str | None" = None,
        profile: "str | None" = None,
        full_auto: bool = False,
        bypass: bool = False,
    ) -> None:
        self.model = model
        self.profile = profile
        self.full_auto = full_auto
        self.bypass = bypass


def inherited(scanned: Scanned, command: str, usage: str) -> RootFlags:
    _check(scanned, usage)
    remote = scanned.last(_REMOTE.key)
    if remote is not None:
        raise UserFacing(f"`--remote {remote}` is only supported for interactive TUI commands, not `pycodex {command}`")
    return RootFlags(
        model=scanned.last(_MODEL.key),
        profile=scanned.last(_PROFILE.key),
        full_auto=scanned.has(_FULL_AUTO.key),
        bypass=scanned.has(_BYPASS.key),
    )


def _check(scanned: Scanned, usage: str) -> None:
    found = [key for key, _ in scanned.found]
    for other in (_FULL_AUTO, _APPROVAL):
        if _BYPASS.key in found and other.key in found:
            first, second = sorted((_BYPASS, other), key=lambda flag: found.index(flag.key))
            raise bad_usage(f"the argument '{first.shown}' cannot be used with '{second.shown}'", usage=usage)
