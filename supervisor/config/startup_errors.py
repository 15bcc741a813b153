"""What `pycodex exec` prints when the configuration keeps it from starting.

Owns the text, byte for byte that of the reference. Other commands print an error's own text after `Error: `.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.early import BadConfig, BadHome, BadOverride

# Commands would find our `apply_patch` below the home.
NO_PROGRAMS = "WARNING: proceeding, even though we could not update PATH: "


def exec_error_text(error: UserFacing) -> str:
    """The whole text for stderr, without the last line end."""
    if isinstance(error, BadOverride):
        return f"Error parsing -c overrides: {error}"
    if isinstance(error, BadHome):
        return f"{NO_PROGRAMS}{error}\nError finding codex home: {error}"
    if not isinstance(error, BadConfig):
        return f"Error: {error}"
    if error.frame:
        return f"Error loading config.toml:\n{error.location}: {error.message}\n{error.frame}"
    if error.place:
        return f"Error loading config.toml: {error.message}\nin `{error.place}`\n"
    return f"Error loading config.toml: {error.message}"
