"""Commands that are patches: applied as such instead of being run.

Owns which commands those are and what the model is told about the detour. The patch itself goes the way of every other
one, through `patching`.
"""

import os
from collections.abc import Sequence

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools.shells import kind_of
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope

_COMMANDS = ("apply_patch", "applypatch")
_PATCH_START = "*** Begin Patch"
_SIGNS = (*_COMMANDS, _PATCH_START)


async def intercepted(argv: Sequence[str], *, cwd: str, call: ToolCall, scope: ToolScope) -> ToolAnswer | None:
    """The answer to a command that is a patch; None for any other. Raises ModelFacing for a patch that is none."""
    found = patch_in(argv)
    if found is None:
        return None
    from pycodex.supervisor.tools.patching import apply_patch

    patch, directory = found
    if directory is not None:
        cwd = os.path.join(cwd, directory)
    return await apply_patch(patch, cwd=cwd, call_id=call.call_id, scope=scope, requested_via=call.name)


def patch_in(argv: Sequence[str]) -> tuple[str, str | None] | None:
    """The patch, and the directory that the command changes to first. Raises ModelFacing for a patch that is none."""
    # Of nearly every command this tells that it is none, and nothing more has to be loaded.
    if not any(sign in word for word in argv for sign in _SIGNS):
        return None
    from pycodex.supervisor.policy.bash import heredoc_patch
    from pycodex.supervisor.tools.patching import VERIFICATION_FAILED

    if len(argv) == 2 and argv[0] in _COMMANDS:
        return argv[1], None
    script = _script_of(argv)
    if script is None:
        return None
    if _is_patch(script):
        raise ModelFacing(
            f"{VERIFICATION_FAILED}patch detected without explicit call to apply_patch. "
            'Rerun as ["apply_patch", "<patch>"]'
        )
    found = heredoc_patch(script) if len(argv) > 1 else None
    return None if found is None else (found.body, found.directory)


def _script_of(argv: Sequence[str]) -> str | None:
    """What a shell is given to run, or a command of a single word."""
    if len(argv) == 1:
        return argv[0]
    if len(argv) not in (3, 4):
        return None
    kind, *flags, script = kind_of(argv[0]), *argv[1:]
    allowed = {"pwsh": (["-Command"], ["-NoProfile", "-Command"]), "cmd": (["/c"],)}.get(kind or "", (["-lc"], ["-c"]))
    return script if kind is not None and flags in allowed else None


def _is_patch(text: str) -> bool:
    from pycodex.protocol.patch.parse import PatchSyntaxError, parse_patch

    try:
        parse_patch(text)
    except PatchSyntaxError:
        return False
    return True
