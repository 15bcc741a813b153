"""`python -m pycodex.supervisor` is the `pycodex` command."""

import os
import sys

# With -m the working directory comes first: the workspace, whose files must never become our code.
sys.path[:] = [path for path in sys.path if path.startswith("/") and path != os.getcwd()]

from pycodex.supervisor.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
