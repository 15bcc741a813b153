"""Runs a command with a terminal as its controlling one and its input: `python on_terminal.py SLAVE COMMAND...`.

Must be started as the leader of a fresh session, which gets the first terminal that it opens.
"""

import os
import sys

if __name__ == "__main__":
    os.dup2(os.open(sys.argv[1], os.O_RDWR), 0)
    os.execvp(sys.argv[2], sys.argv[2:])
