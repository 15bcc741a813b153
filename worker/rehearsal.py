"""Going through the motions of a call while idle.

A forked process shares its parent's memory until it writes, and Python writes wherever it looks: the first use of every
page costs a fault and a copy. Done here, these do not fall into the time of the call. Has no effect but that.
"""

from pycodex.protocol.confinement import FULL, READ, WRITE, Confinement, Ended, Enforced, Entry
from pycodex.protocol.frames import Exited, Output, RunCommand, Started, decode_order, encode
from pycodex.worker.confined import Task
from pycodex.worker.output import Outflow

_CONFINEMENT = Confinement(
    entries=(Entry(path="/nowhere", access=WRITE), Entry(path="/nowhere/.git", access=READ)),
    placeholders=("/nowhere/.codex",),
)
_ORDER = RunCommand(job_id="", argv=("true",), cwd="/", env={"PATH": "/"}, confinement=_CONFINEMENT)
_TASK = Task(cwd="/", argv=("true",), env={"PATH": "/"}, confinement=_CONFINEMENT)
_ENCODED_ORDER = encode(_ORDER)
_PLAIN_TASK = _TASK.to_plain()


_TURNS_UNTIL_SPECIALISED = 12


def warm_up() -> None:
    """In the process that all others are forked from, so often that the interpreter has adapted the code for good.

    It would otherwise do so in every child, and write to pages that they could share.
    """
    for _ in range(_TURNS_UNTIL_SPECIALISED):
        of_worker()
        of_confined()


def of_worker() -> None:
    decode_order(_ENCODED_ORDER)
    Task(cwd="/", env={}, confinement=_CONFINEMENT).to_plain()
    outflow = Outflow("", cap_bytes=2, credit_bytes=1, send=_forget)
    outflow.feed("stdout", b"ab")
    outflow.finish()
    encode(Started(job_id="", pid=0))
    enforced = Enforced(level=FULL)
    encode(Exited(job_id="", code=0, enforced=enforced))
    Ended.from_plain(Ended(status=0).to_plain())


def of_confined() -> None:
    Task.from_plain(_PLAIN_TASK)
    Ended(status=0).to_plain()


def _forget(frame: Output) -> None:
    encode(frame)
