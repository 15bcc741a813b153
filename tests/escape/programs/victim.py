"""The process that others attack: `python -I -S -B victim.py DIRECTORY`.

Prints one JSON line about itself, then answers every line of its input with its state. It survives all signals that
can be caught and counts them. Its working directory is DIRECTORY, of which it holds the file `held` open for writing.
"""

import ctypes
import json
import os
import resource
import signal
import sys

CANARY = b"this memory belongs to the victim"
PR_SET_PTRACER, ANYONE = 0x59616D61, 2**64 - 1
UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}


def main(directory: str) -> None:
    os.chdir(directory)
    os.umask(0o022)
    memory = ctypes.create_string_buffer(CANARY)
    held = os.open("held", os.O_WRONLY | os.O_APPEND)
    received: list[int] = []
    for number in signal.valid_signals() - UNCATCHABLE:
        signal.signal(number, lambda number, _: received.append(number))
    # Some distributions let only ancestors trace; the attacker is to be stopped by the sandbox, not by them.
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(ANYONE), 0, 0, 0)
    say({"pid": os.getpid(), "address": ctypes.addressof(memory), "descriptor": held})
    for _ in sys.stdin:
        say(state(memory.value, received))


def state(canary: bytes, received: list[int]) -> dict[str, object]:
    with open("/proc/self/oom_score_adj", encoding="ascii") as file:
        badness = int(file.read())
    return {
        "canary": canary.decode("latin-1"),
        "signals": sorted(received),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "affinity": sorted(os.sched_getaffinity(0)),
        "policy": os.sched_getscheduler(0),
        "oom_score_adj": badness,
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "directory": os.getcwd(),
    }


def say(value: dict[str, object]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
