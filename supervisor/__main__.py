"""`python -m pycodex.supervisor` is the `pycodex` command."""

import sys

from pycodex.supervisor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
