"""Opening a page in the person's browser, if there is one.

Owns the judgement whether to try. Never waits for the browser, and never says that there was none: the address is told
anyway.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def open_in_browser(url: str, env: "Mapping[str, str]") -> None:
    """In a thread of its own: some browsers end only with their window."""
    if not _has_browser(env):
        return
    import threading

    threading.Thread(target=_open, args=(url,), daemon=True, name="browser").start()


def _has_browser(env: "Mapping[str, str]") -> bool:
    """One that runs in the terminal would take it away from us."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open(url: str) -> None:
    import webbrowser

    try:
        webbrowser.open(url)
    except (OSError, ValueError, webbrowser.Error):
        # There is the address to be read.
        pass
