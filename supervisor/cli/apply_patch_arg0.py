"""The standalone patch program: called under the name `apply_patch`, or with `--codex-run-as-apply-patch`.

Owns where the patch comes from, and the exit codes. It is not confined by us: whoever calls it, as a rule a command of
the model's, has a sandbox around it already. What a patch does is in `protocol/patch`.
"""

import os

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.patch.apply import apply_patch

_FLAG = "--codex-run-as-apply-patch"

_USAGE = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n"
_NOT_READ = "Failed to read PATCH from stdin."
_MOST_PATCH_BYTES = 64 << 20
_STDIN, _STDOUT, _STDERR = 0, 1, 2


def run(argv: "list[str]", overrides: "list[str]") -> int:
    """The words after the program's name. Takes no `-c`."""
    del overrides
    if not argv:
        patch = _from_stdin()
        if not patch:
            _write(_STDERR, _USAGE)
            return 2
        return _apply(patch)
    patch = _from_word(argv[0], "apply_patch")
    if len(argv) > 1:
        raise UserFacing("apply_patch accepts exactly one argument.", exit_code=2)
    return _apply(patch)


def run_by_flag(argv: "list[str]", overrides: "list[str]") -> int:
    """The words after the flag, of which only the first counts."""
    del overrides
    if not argv:
        raise UserFacing(f"{_FLAG} requires a UTF-8 PATCH argument.")
    return _apply(_from_word(argv[0], _FLAG))


def _from_word(word: str, name: str) -> str:
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        raise UserFacing(f"{name} requires a UTF-8 PATCH argument.") from None


def _from_stdin() -> str:
    pieces: "list[bytes]" = []
    left_bytes = _MOST_PATCH_BYTES
    try:
        while piece := os.read(_STDIN, 1 << 16):
            pieces.append(piece)
            left_bytes -= len(piece)
            if left_bytes < 0:
                raise UserFacing(f"{_NOT_READ}\nit has more than {_MOST_PATCH_BYTES} bytes")
        return b"".join(pieces).decode()
    except UnicodeDecodeError:
        raise UserFacing(f"{_NOT_READ}\nstream did not contain valid UTF-8") from None
    except OSError as error:
        raise UserFacing(f"{_NOT_READ}\n{error.strerror} (os error {error.errno})") from None


def _apply(patch: str) -> int:
    try:
        cwd = os.getcwdb()
    except OSError as error:
        raise UserFacing(f"cannot use the current directory: {error.strerror}") from None
    outcome = apply_patch(patch, cwd, verify=False, write=True)
    _write(_STDOUT, outcome.stdout)
    _write(_STDERR, outcome.stderr)
    return outcome.exit_code


def _write(fd: int, text: str) -> None:
    """As it is: the words in it are the caller's own."""
    rest = memoryview(text.encode())
    while rest:
        rest = rest[os.write(fd, rest) :]
