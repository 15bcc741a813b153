"""Evaluates rules in a process of their own, which they cannot take down with them.

Owns that process: its limits and how it is spoken to. A text of a few bytes can ask Starlark for all memory, or for a
stack that no thread has; both end a process, and it must not be the supervisor's. Takes texts, gives `Rules` or raises
`RuleError`; without texts nothing is started.
"""

import os
import sys

from pycodex.supervisor.policy.rule_language import Evaluation, RuleError, Source
from pycodex.supervisor.policy.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_MEMORY = 512 << 20
MOST_SECONDS = 5
MOST_ANSWER_BYTES = 4 << 20
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
_CODE = (
    "import sys;p=sys.argv[1];p in sys.path or sys.path.insert(0,p);"
    f"from {__name__} import serve;serve(sys.stdin.buffer.read())"
)
# The answer: one mark for every text that was begun, then the end of the marks, then what came of them.
_BEGUN, _END_OF_MARKS = b".", b"\n"
_ANSWER_FD = 1


def evaluated(sources: "Sequence[Source]", *, most_seconds: float = MOST_SECONDS) -> Rules:
    """What all of them say together."""
    if not sources:
        return Rules()
    import subprocess

    import msgpack

    order = msgpack.packb([source.to_plain() for source in sources], unicode_errors="surrogatepass")
    argv = [sys.executable, "-I", "-c", _CODE, _import_root()]
    try:
        done = subprocess.run(
            argv,
            input=order,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            timeout=most_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        marks = (late.stdout or b"").partition(_END_OF_MARKS)[0]
        raise _failed(f"took longer than {most_seconds:g} seconds", sources, marks) from None
    marks, _, answer = done.stdout.partition(_END_OF_MARKS)
    if not answer:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        most = f"{MOST_MEMORY >> 20} MiB"
        raise _failed(f"the evaluation broke off ({how}): nested too deeply, or more than {most}", sources, marks)
    return _read(answer)


def _failed(problem: str, sources: "Sequence[Source]", marks: bytes) -> RuleError:
    source = sources[max(len(marks), 1) - 1]
    return RuleError(f"starlark error: error: {problem}", path=source.path)


def _read(answer: bytes) -> Rules:
    import msgpack

    plain = msgpack.unpackb(answer, unicode_errors="surrogatepass")
    error = plain.get("error")
    if error is not None:
        raise RuleError(error["text"], path=error["path"], line=error["line"], column=error["column"])
    return Rules.from_plain(plain.get("rules"))


def _import_root() -> str:
    """The directory from which the package of this very file is imported."""
    return os.path.dirname(os.path.abspath(sys.modules["pycodex"].__path__[0]))


def serve(order: bytes) -> None:
    """The process: one order on its stdin, the answer on its stdout."""
    _limit()
    import msgpack

    evaluation = Evaluation()
    answer: dict[str, Any]
    path = ""
    try:
        for plain in msgpack.unpackb(order, unicode_errors="surrogatepass"):
            os.write(_ANSWER_FD, _BEGUN)
            source = Source.from_plain(plain)
            path = source.path
            evaluation.add(source)
        answer = {"rules": evaluation.rules.to_plain()}
    except RuleError as error:
        answer = _told(error)
    packed = msgpack.packb(answer, unicode_errors="surrogatepass")
    if len(packed) > MOST_ANSWER_BYTES:
        packed = msgpack.packb(_told(RuleError(f"makes more than {MOST_ANSWER_BYTES} bytes of rules", path=path)))
    with open(_ANSWER_FD, "wb", closefd=False) as out:
        out.write(_END_OF_MARKS + packed)


def _told(error: RuleError) -> "dict[str, Any]":
    return {"error": {"text": str(error), "path": error.path, "line": error.line, "column": error.column}}


def _limit() -> None:
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, getrlimit, setrlimit

    for kind, most in ((RLIMIT_AS, MOST_MEMORY), (RLIMIT_CPU, MOST_SECONDS), (RLIMIT_CORE, 0)):
        hard = getrlimit(kind)[1]
        limit = most if hard == RLIM_INFINITY else min(most, hard)
        setrlimit(kind, (limit, limit))
