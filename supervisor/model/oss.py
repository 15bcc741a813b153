"""Makes sure that a model on this machine can be asked: its server runs, and it has the model.

Owns the questions to Ollama and LM Studio and the texts for what is missing, which users of the reference know. Fetches
a missing model, and tells how that goes. Takes a provider and the name of a model; knows no session.
"""

import json
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.config.providers import LMSTUDIO, OLLAMA
from pycodex.supervisor.model.failures import status_text
from pycodex.supervisor.net.http import Answer, Http, NetworkFailure

NO_OLLAMA = (
    "No running Ollama server detected. Start it with: `ollama serve` (after installing). "
    "Install instructions: https://github.com/ollama/ollama?tab=readme-ov-file#ollama"
)
NO_LMSTUDIO = "LM Studio is not responding. Install from https://lmstudio.ai/download and run 'lms server start'."
NO_LMS = "LM Studio not found. Please install LM Studio from https://lmstudio.ai/"

_OLDEST_OLLAMA = (0, 13, 4)
# What a build of their sources calls itself.
_UNVERSIONED = (0, 0, 0)
_PATIENCE_S = 5.0
_MOST_BYTES = 8 << 20
_LONGEST_LINE = 1 << 20

logger = logging.getLogger("pycodex.oss")


class Pulled(NamedTuple):
    """How far the fetching of a model is. Sizes are 0 where a step has none."""

    status: str
    completed_bytes: int
    total_bytes: int


Report = Callable[[Pulled], None]


async def make_ready(http: Http, provider: Provider, model: str, *, env: Mapping[str, str], report: Report) -> None:
    """Return when the model can be asked. Raises UserFacing where that takes the person's help."""
    if provider.id == OLLAMA:
        await _Ollama(http, provider.base_url or "").make_ready(model, report)
    elif provider.id == LMSTUDIO:
        await _make_lmstudio_ready(http, (provider.base_url or "").rstrip("/"), model, env=env, report=report)


def _fail(text: str) -> NoReturn:
    raise UserFacing(f"OSS setup failed: {text}")


async def _asked(http: Http, url: str) -> Answer | None:
    """None if nobody answers."""
    with trio.move_on_after(_PATIENCE_S):
        try:
            return await http.get(url)
        except NetworkFailure:
            return None
    return None


async def _asked_well(http: Http, url: str) -> Answer | None:
    """None also if the answer is a refusal."""
    answer = await _asked(http, url)
    if answer is not None and not _is_fine(answer):
        await answer.drop()
        return None
    return answer


async def _json_of(answer: Answer) -> dict[str, Any]:
    """The object in the body; an empty one for anything else."""
    text = await answer.text(most_bytes=_MOST_BYTES, seconds=_PATIENCE_S)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _names(entries: object, key: str) -> set[str]:
    listed = entries if isinstance(entries, list) else []
    return {entry[key] for entry in listed if isinstance(entry, dict) and isinstance(entry.get(key), str)}


def _is_fine(answer: Answer) -> bool:
    return 200 <= answer.status < 300


# Ollama


class _Ollama:
    def __init__(self, http: Http, base_url: str) -> None:
        base = base_url.rstrip("/")
        self._http = http
        self._root = base.removesuffix("/v1")
        self._probe = f"{base}/models" if base.endswith("/v1") else f"{self._root}/api/tags"

    async def make_ready(self, model: str, report: Report) -> None:
        answer = await _asked_well(self._http, self._probe)
        if answer is None:
            _fail(NO_OLLAMA)
        answer.release()
        await self._check_version()
        answer = await _asked_well(self._http, f"{self._root}/api/tags")
        if answer is None:
            # The first request will tell whether the model is there.
            logger.warning("Ollama does not tell which models it has")
            return
        if model not in _names((await _json_of(answer)).get("models"), "name"):
            await self._pull(model, report)

    async def _check_version(self) -> None:
        answer = await _asked_well(self._http, f"{self._root}/api/version")
        version = None if answer is None else (await _json_of(answer)).get("version")
        parts = _version_parts(version)
        if parts is not None and parts != _UNVERSIONED and parts < _OLDEST_OLLAMA:
            oldest = ".".join(map(str, _OLDEST_OLLAMA))
            _fail(f"Ollama {version} is too old. Codex requires Ollama {oldest} or newer.")

    async def _pull(self, model: str, report: Report) -> None:
        report(Pulled(f"Pulling model {model}...", 0, 0))
        body = json.dumps({"model": model, "stream": True}).encode()
        try:
            answer = await self._http.post(f"{self._root}/api/pull", [("content-type", "application/json")], body)
            try:
                if not _is_fine(answer):
                    _fail_again(f"failed to start pull: HTTP {status_text(answer.status)}")
                await _follow_pull(answer, report)
            finally:
                await answer.drop()
        except NetworkFailure as failure:
            _fail_again(f"Pull failed: {failure.reason}")


def _fail_again(text: str) -> NoReturn:
    """The reference says it twice where the failure comes from further down."""
    _fail(f"OSS setup failed: {text}")


def _version_parts(version: object) -> tuple[int, int, int] | None:
    if not isinstance(version, str):
        return None
    numbers = version.strip().removeprefix("v").partition("-")[0].partition("+")[0].split(".")
    if len(numbers) != 3 or not all(number.isascii() and number.isdecimal() for number in numbers):
        return None
    major, minor, patch = map(int, numbers)
    return major, minor, patch


async def _follow_pull(answer: Answer, report: Report) -> None:
    sizes: dict[str, tuple[int, int]] = {}
    waiting = b""
    while (piece := await answer.chunk()) is not None:
        *lines, waiting = (waiting + piece).split(b"\n")
        for line in lines:
            if _is_pulled(line, sizes, report):
                answer.release()
                return
        if len(waiting) > _LONGEST_LINE:
            _fail_again(f"Pull failed: a line of the answer is longer than {_LONGEST_LINE} bytes")
    if not _is_pulled(waiting, sizes, report):
        _fail_again("Pull stream ended unexpectedly without success.")


def _is_pulled(line: bytes, sizes: dict[str, tuple[int, int]], report: Report) -> bool:
    """Take in one line of the stream; whether it says that all is done."""
    try:
        update = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(update, dict):
        return False
    if isinstance(update.get("error"), str):
        _fail_again(f"Pull failed: {update['error']}")
    status, digest = str(update.get("status", "")), update.get("digest")
    completed = total = 0
    if isinstance(digest, str):
        # The model comes in several parts, whose sizes become known one after the other.
        sizes[digest] = _size(update.get("completed")), _size(update.get("total"))
        completed, total = (sum(column) for column in zip(*sizes.values(), strict=True))
    report(Pulled(status, completed, total))
    return status == "success"


def _size(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


# LM Studio


async def _make_lmstudio_ready(
    http: Http, base_url: str, model: str, *, env: Mapping[str, str], report: Report
) -> None:
    """The first request makes it load the model by itself; the reference asks for that a moment earlier."""
    answer = await _asked(http, f"{base_url}/models")
    if answer is None:
        _fail_again(NO_LMSTUDIO)
    if not _is_fine(answer):
        await answer.drop()
        _fail_again(f"Server returned error: {status_text(answer.status)} {NO_LMSTUDIO}")
    if model not in _names((await _json_of(answer)).get("data"), "id"):
        lms = _lms(env)
        report(Pulled(f"Downloading model: {model}", 0, 0))
        await _download(lms, model, env)


def _lms(env: Mapping[str, str]) -> str:
    """The user's own program that LM Studio comes with."""
    beside = os.path.join(env.get("HOME", ""), ".lmstudio", "bin", "lms")
    candidates: Iterable[str | None] = (shutil.which("lms", path=env.get("PATH", os.defpath)), shutil.which(beside))
    found = next(filter(None, candidates), None)
    return found if found is not None else _fail_again(NO_LMS)


async def _download(lms: str, model: str, env: Mapping[str, str]) -> None:
    try:
        # Its words are no answer of ours: stdout may be a stream of JSON.
        done = await trio.run_process(
            [lms, "get", "--yes", model], env=dict(env), stdin=subprocess.DEVNULL, stdout=2, check=False
        )
    except OSError as error:
        _fail_again(f"Failed to execute '{lms} get --yes {model}': {error.strerror}")
    if done.returncode != 0:
        _fail_again(f"Model download failed with exit code: {done.returncode}")
