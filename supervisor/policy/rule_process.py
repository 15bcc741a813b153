"""Evaluates rules in a process of their own, which they cannot take down with them.

Owns that process: its limits and how it is spoken to. A text of a few bytes can ask Starlark for all memory, or for a
stack that no thread has; both end a process, and it must not be the supervisor's. Takes texts, gives `Rules` or raises
`RuleError`; without texts nothing is started. Where a rule stands is found by going through its text once more, so it
is asked for separately, and only for rules that somebody wants to see.
"""

import os
import sys

from pycodex.supervisor.import_root import import_root
from pycodex.supervisor.policy.rule_language import Evaluation, RuleError, Source, place_of_call
from pycodex.supervisor.policy.rules import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pycodex.supervisor.policy.rule_language import Place, RuleCall

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
    rules, _ = evaluated_with_calls(sources, most_seconds=most_seconds)
    return rules


def evaluated_with_calls(
    sources: "Sequence[Source]", *, most_seconds: float = MOST_SECONDS
) -> "tuple[Rules, tuple[RuleCall, ...]]":
    """The same, and for each prefix rule the call that made it."""
    if not sources:
        return Rules(), ()
    answer = _answer({"sources": [source.to_plain() for source in sources]}, sources, most_seconds=most_seconds)
    error = answer.get("error")
    if error is not None:
        raise RuleError(error["text"], path=error["path"], line=error["line"], column=error["column"])
    return Rules.from_plain(answer["rules"]), tuple((source, number) for source, number in answer["calls"])


def places_of(
    calls: "Sequence[RuleCall]", sources: "Sequence[Source]", *, most_seconds: float = MOST_SECONDS
) -> "list[Place]":
    """Where each of these calls stands. What takes too long to find is not told: nothing depends on it."""
    if not calls:
        return []
    order = {"sources": [source.to_plain() for source in sources], "calls": list(calls)}
    try:
        answer = _answer(order, sources, most_seconds=most_seconds)
    except RuleError:
        return [(None, None)] * len(calls)
    return [(line, column) for line, column in answer["places"]]


def _answer(order: "dict[str, Any]", sources: "Sequence[Source]", *, most_seconds: float) -> "dict[str, Any]":
    import subprocess

    import msgpack

    argv = [sys.executable, "-I", "-c", _CODE, import_root()]
    try:
        done = subprocess.run(
            argv,
            input=msgpack.packb(order, unicode_errors="surrogatepass"),
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
    told: dict[str, Any] = msgpack.unpackb(answer, unicode_errors="surrogatepass")
    return told


def _failed(problem: str, sources: "Sequence[Source]", marks: bytes) -> RuleError:
    source = sources[max(len(marks), 1) - 1]
    return RuleError(f"starlark error: error: {problem}", path=source.path)


def serve(order: bytes) -> None:
    """The process: one order on its stdin, the answer on its stdout."""
    _limit()
    import msgpack

    plain = msgpack.unpackb(order, unicode_errors="surrogatepass")
    sources = [Source.from_plain(source) for source in plain["sources"]]
    if "calls" in plain:
        packed = msgpack.packb({"places": [place_of_call(sources[at], number) for at, number in plain["calls"]]})
    else:
        packed = _packed(sources)
    with open(_ANSWER_FD, "wb", closefd=False) as out:
        out.write(_END_OF_MARKS + packed)


def _packed(sources: "Sequence[Source]") -> bytes:
    import msgpack

    evaluation = Evaluation()
    answer: dict[str, Any]
    path = ""
    try:
        for source in sources:
            os.write(_ANSWER_FD, _BEGUN)
            path = source.path
            evaluation.add(source)
        answer = {"rules": evaluation.rules.to_plain(), "calls": list(evaluation.calls)}
    except RuleError as error:
        answer = _told(error)
    packed: bytes = msgpack.packb(answer, unicode_errors="surrogatepass")
    if len(packed) > MOST_ANSWER_BYTES:
        packed = msgpack.packb(_told(RuleError(f"makes more than {MOST_ANSWER_BYTES} bytes of rules", path=path)))
    return packed


def _told(error: RuleError) -> "dict[str, Any]":
    return {"error": {"text": str(error), "path": error.path, "line": error.line, "column": error.column}}


def _limit() -> None:
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, getrlimit, setrlimit

    for kind, most in ((RLIMIT_AS, MOST_MEMORY), (RLIMIT_CPU, MOST_SECONDS), (RLIMIT_CORE, 0)):
        hard = getrlimit(kind)[1]
        limit = most if hard == RLIM_INFINITY else min(most, hard)
        setrlimit(kind, (limit, limit))
