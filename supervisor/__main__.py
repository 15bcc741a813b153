"""`python -m pycodex.supervisor` is the `pycodex` command."""

from pycodex.supervisor.cli.main import main

if __name__ == "__main__":
    main()
