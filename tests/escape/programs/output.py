"""Attempts to deceive through output, and to leave something for the next call."""

import os
import sys

from escape.programs.rawcalls import World


def forged_replies(world: World) -> object:
    """Bytes that look like messages of a worker, a terminal's commands, and everything else a byte can be."""
    sys.stdout.buffer.write(bytes.fromhex(world["bytes"]))
    sys.stdout.buffer.flush()
    os._exit(world["exit_code"])


def settings_for_later(world: World) -> object:
    """Files that a careless next call, or its launcher, would run."""
    os.environ.update(LD_PRELOAD="/nowhere/evil.so", BASH_ENV=f"{world['ws']}/evil.sh", GIT_DIR="/nowhere")
    run = f"import os; os.close(os.open({world['ws'] + '/executed'!r}, os.O_CREAT | os.O_WRONLY))\n"
    for name in ("os", "ctypes", "site", "sitecustomize", "usercustomize", "signal", "pycodex", "errno", "encodings"):
        with open(f"{world['ws']}/{name}.py", "w", encoding="ascii") as file:
            file.write(run)
    with open(f"{world['ws']}/evil.sh", "w", encoding="ascii") as file:
        file.write(f"touch {world['ws']}/executed\n")
    os.makedirs(f"{world['ws']}/bin", exist_ok=True)
    for name in ("sh", "git", "python3", "env"):
        with open(f"{world['ws']}/bin/{name}", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ntouch {world['ws']}/executed\n")
        os.chmod(f"{world['ws']}/bin/{name}", 0o755)
    return True
