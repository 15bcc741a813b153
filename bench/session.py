"""One run of the benchmark: the scene, topic after topic, the report.

Owns the order of things and what happens when a topic cannot be measured: it is told, the others go on. Knows no topic.
"""

import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

import trio

import pycodex.protocol
from bench.figures import Figure, Findings, Topic
from bench.scene import NoScene, Scene, open_scene
from bench.table import rendered, rendered_machine
from pycodex.supervisor.version import VERSION

TOPIC_TIMEOUT_S = 90.0
# For one that waits for a process, and so hears of nothing else.
KILL_AFTER_S = TOPIC_TIMEOUT_S + 10.0
STDOUT = Path("-")


class TookTooLong(Exception):
    """A topic must not keep the others waiting."""


def run_topics(topics: Sequence[Topic], *, pycodex: Path | None, quick: bool, json_path: Path | None) -> int:
    """Measure and report; gives the exit code."""
    shows_table = json_path != STDOUT
    try:
        with open_scene(pycodex=pycodex, quick=quick) as scene:
            machine = _machine(scene)
            if shows_table:
                print(rendered_machine(machine), flush=True)
            found = []
            for topic in topics:
                found.append(_run_topic(topic, scene))
                if shows_table:
                    print(f"\n{rendered(found[-1])}", flush=True)
    except NoScene as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    if json_path is not None:
        _write_json(json_path, {"machine": machine, "topics": [asdict(each) for each in found]})
    return 1 if any(each.error for each in found) else 0


def _run_topic(topic: Topic, scene: Scene) -> Findings:
    """In a process of its own, so that no topic finds threads, memory or orphans of the one before."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_measure_and_send, args=(topic, scene, theirs))
    child.start()
    theirs.close()
    if not ours.poll(KILL_AFTER_S):
        child.kill()
    try:
        findings: Findings = ours.recv()
    except EOFError:
        findings = Findings(name=topic.name, title=topic.title)
    child.join()
    if child.exitcode:
        findings.error = f"its process ended with {child.exitcode}"
    return findings


def _measure_and_send(topic: Topic, scene: Scene, answer: Connection) -> None:
    findings = Findings(name=topic.name, title=topic.title)
    start = time.perf_counter()
    try:
        findings.figures = trio.run(_bounded, topic, scene)
    except Exception as error:
        findings.error = f"{type(error).__name__}: {error}"
    findings.took_s = time.perf_counter() - start
    answer.send(findings)


async def _bounded(topic: Topic, scene: Scene) -> list[Figure]:
    with trio.move_on_after(TOPIC_TIMEOUT_S):
        return await topic.measure(scene)
    raise TookTooLong(f"not done after {TOPIC_TIMEOUT_S:g} s")


def _machine(scene: Scene) -> dict[str, str]:
    """What the figures depend on."""
    package = next(iter(pycodex.protocol.__path__))
    return {
        "pycodex": f"{VERSION} from {os.path.dirname(package)}",
        "command": " ".join(scene.pycodex),
        "workspace": str(scene.workspace),
        "python": f"{platform.python_version()} {sys.executable}",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "user": "root" if os.geteuid() == 0 else f"uid {os.geteuid()}",
        "rounds": "quick" if scene.quick else "full",
    }


def _write_json(path: Path, report: dict[str, object]) -> None:
    text = json.dumps(report, indent=2) + "\n"
    if path == STDOUT:
        print(text, end="")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
