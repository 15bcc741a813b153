"""The log: JSON lines in CODEX_HOME/log/pycodex.log, for whoever has to find out later.

Owns the format and the place. The file is made with the first line; a log that cannot be written is done without, since
nothing that a person asked for may fail for its sake.
"""

import json
import logging
import os
import time

LEVEL_VARIABLE = "PYCODEX_LOG"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class _JsonLines(logging.Handler):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._fd: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "pid": record.process,
            "topic": record.name,
            "text": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = logging.Formatter().formatException(record.exc_info)
        try:
            if self._fd is None:
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.write(self._fd, json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except OSError:
            logging.getLogger("pycodex").removeHandler(self)


def open_log(log_dir: str) -> None:
    """From now on what our modules log is kept. PYCODEX_LOG says from which level on; warnings otherwise."""
    logger = logging.getLogger("pycodex")
    logger.propagate = False
    logger.setLevel(_LEVELS.get(os.environ.get(LEVEL_VARIABLE, "").lower(), logging.WARNING))
    logger.addHandler(_JsonLines(os.path.join(log_dir, "pycodex.log")))
