"""The remotes that a repository's own configuration names.

Owns which of them are told, and that no credentials are. Includes are not followed, and nothing in the file is ever
executed.
"""

from pycodex.protocol.git_syntax import settings


def remotes_in(text: str) -> dict[str, str]:
    """The first URL of each remote, by name, without credentials."""
    remotes: dict[str, str] = {}
    for section, subsection, key, value in settings(text):
        if section == "remote" and key == "url" and subsection:
            remotes.setdefault(subsection, without_credentials(value))
    return remotes


def without_credentials(url: str) -> str:
    """A URL that may be shown to others: no name and no password before the host."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if scheme.startswith("http") else url
