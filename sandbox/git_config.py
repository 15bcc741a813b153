"""What a git configuration borrows from other files: those that it includes, and a directory of hooks elsewhere.

Owns which settings those are; conditions are taken as met. Loaded only for a
configuration that has such words in it. The files were written by anybody: what cannot be understood is skipped, and
only so many are read.
"""

import os

from pycodex.protocol.git_syntax import settings
from pycodex.protocol.record import Record
from pycodex.sandbox.disk import DIRECTORY, FILE, check_text, small_file
from pycodex.sandbox.survey import INNER, Guard, linked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pycodex.sandbox.disk import Disk

MAX_CONFIGS = 16
MAX_PATHS = 64


class Mention(Record):
    """One path in a configuration, as it stands there."""

    path: "str"
    is_hooks: "bool" = False


def borrowed(disk: "Disk", configs: "Sequence[str]", root: str) -> "Iterator[Guard]":
    """`configs` are resolved paths; `root` is the work tree, in which hooks are run.

    A file that does not exist is left out: whatever stood in for it would be a broken configuration.
    """
    todo, seen = list(configs), set[str]()
    while todo and len(seen) < MAX_CONFIGS:
        config = todo.pop()
        if config in seen:
            continue
        seen.add(config)
        for mention in mentions(small_file(config).decode(errors="surrogateescape")):
            check_text(mention.path, f"a path in {config!r},")
            if mention.is_hooks:
                yield from _hooks(disk, mention.path, root)
                continue
            place = disk.resolve(mention.path, at=os.path.dirname(config))
            if place.kind == FILE:
                yield Guard(path=place.path, role=INNER, place=place)
                todo.append(place.path)


def _hooks(disk: "Disk", path: str, root: str) -> "Iterator[Guard]":
    place = disk.resolve(path, at=root)
    yield Guard(path=place.path, role=INNER, place=place)
    if place.kind != DIRECTORY:
        return
    yield from linked(disk, place.path)
    above, _, name = place.path.rpartition("/")
    # Husky's hooks are one level below the scripts that they run.
    if name == "_" and above not in ("", root):
        yield Guard(path=above, role=INNER, place=disk.resolve(above))
        yield from linked(disk, above)


def mentions(text: str) -> "Iterator[Mention]":
    """`include.path` and `includeIf.*.path`, and `core.hooksPath`; of those at home (`~`) none."""
    found = 0
    for section, _, key, path in settings(text):
        is_hooks = section == "core" and key == "hookspath"
        if not (is_hooks or (section in ("include", "includeif") and key == "path")):
            continue
        if path and "\0" not in path and not path.startswith(("~", "%(prefix)")):
            yield Mention(path=path, is_hooks=is_hooks)
            found += 1
        if found == MAX_PATHS:
            return
