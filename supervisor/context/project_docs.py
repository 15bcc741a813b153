"""Collects what people wrote for agents: AGENTS.md in the home and in the project.

Owns which files count, in which order, and how much of them is taken. Everything in a project may have been put there
by anybody: files are opened without waiting and read only up to the budget, and a link to what the home keeps (logins,
sessions) is not followed, since a document is sent to the model. Runs once when a session starts.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from errno import EACCES
from stat import S_ISLNK, S_ISREG

from pycodex.supervisor.prompts import load
from pycodex.supervisor.workspace.regular_file import read_at_most, read_whole
from pycodex.supervisor.workspace.roots import DEFAULT_MARKERS, directories_down, project_root

OVERRIDE = "AGENTS.override.md"
STANDARD = "AGENTS.md"
DEFAULT_MAX_BYTES = 32 * 1024
SEPARATOR = "\n\n--- project-doc ---\n\n"

_MOST_HOME_BYTES = 4 << 20
# Python's own idea of blanks also has the separators U+001C to U+001F.
WHITESPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocSettings:
    """What the configuration says of project documents."""

    max_bytes: int = DEFAULT_MAX_BYTES
    """For all of them together; 0 turns them off."""
    fallback_names: tuple[str, ...] = ()
    root_markers: tuple[str, ...] = DEFAULT_MARKERS
    note_on_children: bool = False
    """The feature `child_agents_md`."""


def user_instructions(cwd: str, settings: DocSettings, *, codex_home: str, warn: Callable[[str], None]) -> str | None:
    """The text for the model, or None if nobody wrote anything. `cwd` is canonical.

    `warn` is told of documents that exist but cannot be used.
    """
    home = home_instructions(codex_home, warn)
    try:
        project = project_instructions(cwd, settings, codex_home=codex_home)
    except OSError as error:
        warn(f"Project instructions are left out: cannot read {error.filename}: {error.strerror}")
        project = None
    text = SEPARATOR.join(part for part in (home, project) if part is not None)
    notes = [load.text("child-agents")] if settings.note_on_children else []
    return "\n\n".join([text, *notes] if text else notes) or None


def home_instructions(codex_home: str, warn: Callable[[str], None]) -> str | None:
    """The first of the two files of the home that says something."""
    for name in (OVERRIDE, STANDARD):
        path = os.path.join(codex_home, name)
        try:
            text = read_whole(path, _MOST_HOME_BYTES).decode().strip(WHITESPACE)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            warn(f"{path} is left out: {getattr(error, 'strerror', None) or 'it is not valid UTF-8'}")
            continue
        if text:
            return text
    return None


def project_instructions(cwd: str, settings: DocSettings, *, codex_home: str) -> str | None:
    """The documents from the project's root down to `cwd`, within one budget. One that cannot be read is an OSError."""
    texts = []
    left = settings.max_bytes
    for path in _documents(cwd, settings) if left > 0 else ():
        try:
            _check_target(path, codex_home)
            data = read_at_most(path, left)
        except FileNotFoundError:
            # A link to nothing: it hides what comes after it, and has nothing to say.
            continue
        text = data.decode(errors="replace")
        if text.strip(WHITESPACE):
            texts.append(text)
            left -= len(data)
        if left == 0:
            break
    return "\n\n".join(texts) or None


def _documents(cwd: str, settings: DocSettings) -> Iterator[str]:
    """In each directory the first name that exists, whatever it holds."""
    root = project_root(cwd, settings.root_markers) or cwd
    names = dict.fromkeys((OVERRIDE, STANDARD, *(name.strip(WHITESPACE) for name in settings.fallback_names)))
    for directory in directories_down(root, cwd):
        for name in names:
            path = os.path.join(directory, name)
            if name and _counts(path):
                yield path
                break


def _check_target(path: str, codex_home: str) -> None:
    """From outside of the home, only the home's own documents can be linked to."""
    real = os.path.realpath(path)
    is_led_in = _is_inside(real, codex_home) and not _is_inside(path, codex_home)
    if is_led_in and os.path.basename(real) not in (OVERRIDE, STANDARD):
        raise OSError(EACCES, f"it leads to {real}, which is no document", path)


def _is_inside(path: str, directory: str) -> bool:
    return path.startswith(f"{os.path.realpath(directory).rstrip('/')}/")


def _counts(path: str) -> bool:
    """A directory does not, nor does what would block whoever opens it."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return S_ISREG(mode) or S_ISLNK(mode)
