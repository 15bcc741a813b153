"""A browser is opened only where there is one; that it is: `test_login`."""

import threading

from pycodex.supervisor.cli.browser import open_in_browser


def test_nothing_is_tried_where_there_is_no_screen() -> None:
    before = threading.active_count()
    open_in_browser("http://127.0.0.1:9/", {"TERM": "xterm", "DISPLAY": ""})
    assert threading.active_count() == before
