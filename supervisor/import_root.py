"""Where our own code lies, for processes that load it by themselves.

Owns the one answer. It comes from this very file, never from a search: what is first on the path of this process may be
a working directory. Imports next to nothing.
"""

import os


def import_root() -> str:
    """The directory from which `import pycodex` finds the package that this file belongs to."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.basename(package) == "pycodex":
        return os.path.dirname(package)
    return os.path.join(package, "typings")
