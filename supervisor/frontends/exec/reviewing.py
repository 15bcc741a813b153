"""`exec review`: what is to be reviewed, as the command line says it.

Owns how the flags, or the prompt, become a wish to the engine. Runs nothing.
"""

from collections.abc import Callable

from pycodex.protocol.ops import Review
from pycodex.protocol.review import BaseBranch, Commit, Custom, UncommittedChanges, checked, hint
from pycodex.supervisor.frontends.exec.prompt import awaited_prompt
from pycodex.supervisor.frontends.exec.request import ExecRequest, ReviewScope


async def review_wish(request: ExecRequest, scope: ReviewScope, *, tell: Callable[[str], None]) -> tuple[Review, str]:
    """With the target in a few words. Stdin is read if the prompt is `-`. Raises UserFacing."""
    if scope.uncommitted:
        target = checked(UncommittedChanges())
    elif scope.base is not None:
        target = checked(BaseBranch(branch=scope.base))
    elif scope.commit is not None:
        target = checked(Commit(sha=scope.commit, title=scope.title))
    else:
        target = checked(Custom(instructions=await awaited_prompt(request, tell=tell)))
    return Review(target=target), hint(target)
