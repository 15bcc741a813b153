"""Patches and the trees that they are applied to.

Owns how a test writes a patch down, and how it sees that a tree is exactly as it was. Knows nothing of applying them.
"""

import os
import stat
from pathlib import Path


def patch_of(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every folder, file and link below, with its mode, and its content or where it points."""
    seen: dict[str, tuple[int, bytes]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            content = b""
            if stat.S_ISREG(mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.fsencode(path.readlink())
            seen[str(path.relative_to(root))] = mode, content
    return seen
