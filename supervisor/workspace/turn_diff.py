"""What a turn has changed in the files that it patched, told as git would tell it.

Owns the state in which each file was before the turn first patched it, and the layout of the diff. Reads no file: it is
told what files held and what they hold. Takes states, gives text.
"""


class TurnChanges:
    """For one turn. Paths in the diff are relative to the repository around `cwd`, if there is one."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
