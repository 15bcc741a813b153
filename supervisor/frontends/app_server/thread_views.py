"""Threads in the words of the app-server.

Owns which facts of a thread are told, and where they come from: the session file once there is one, what was asked for
before that.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pycodex.protocol.rollout import FORMAT_VERSION, SessionMeta
from pycodex.supervisor.frontends.app_server.telling import NOT_LOADED
from pycodex.supervisor.frontends.app_server.turn_views import moment_of, told_turns
from pycodex.supervisor.rollout.git_notes import Git, noted_git
from pycodex.supervisor.rollout.head import first_words, read_head
from pycodex.supervisor.rollout.long_files import beside
from pycodex.supervisor.rollout.names import names_of
from pycodex.supervisor.rollout.reader import RolloutUnreadable, read_meta
from pycodex.supervisor.rollout.stored_turns import turns_of_file

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
    from pycodex.supervisor.rollout.listing import ThreadSummary

Json = dict[str, Any]

_SOURCES = {"mcp": "appServer", "subagent": "subAgent"}
GIT_NAMES = {"sha": "commit_hash", "branch": "branch", "originUrl": "repository_url"}


# What newer clients are told of every thread: none of ours has a parent, and all are kept in the way of 0.116.
_NEWER_FACTS: Json = {"parentThreadId": None, "historyMode": "legacy"}


def told_source(source: Any) -> Any:
    if isinstance(source, dict):
        return {_SOURCES.get(name, name): value for name, value in source.items()}
    return _SOURCES.get(source, source)


def of_summary(summary: "ThreadSummary", live: "LiveThread | None", *, default_provider: str, git: Git | None) -> Json:
    """One of a list. `git` is what clients have said of its repository."""
    return {
        **_of_meta(summary.meta, default_provider=default_provider),
        **({} if git is None else {"gitInfo": told_git(git)}),
        "preview": summary.preview,
        "path": summary.path,
        "updatedAt": summary.updated_at,
        "recencyAt": summary.updated_at,
        "name": summary.name,
        "status": live.telling.status if live is not None else NOT_LOADED,
    }


async def of_live(live: "LiveThread", *, with_turns: bool) -> Json:
    """A loaded thread."""
    path = live.thread.rollout_path
    if path is None or not _exists(path):
        return _unwritten(live, path)
    told = await of_file(path, live, codex_home=live.facts.config.codex_home, with_turns=with_turns)
    return told if live.facts.preview is None else {**told, "preview": live.facts.preview}


async def of_file(path: str, live: "LiveThread | None", *, codex_home: str, with_turns: bool) -> Json:
    """Raises RolloutUnreadable."""
    # What is known of a loaded thread is that of one moment, though reading may take a while.
    status = live.telling.status if live is not None else NOT_LOADED
    turns = await turns_told(path, live) if with_turns else []
    meta = await beside(read_meta, path)
    head = await beside(read_head, path)
    names = names_of(codex_home, {meta.id})
    provider = live.facts.config.provider.id if live is not None else ""
    told = {
        **_of_meta(meta, default_provider=provider),
        "preview": head.preview if head is not None else await beside(first_words, path),
        "path": path,
        "updatedAt": (updated_at := _updated_at(path)),
        "recencyAt": updated_at,
        "name": names.get(meta.id),
        "status": status,
        "turns": turns,
    }
    if live is not None:
        told.update(cwd=live.facts.cwd, modelProvider=provider, **_model_of(live))
    noted = noted_git(codex_home, (meta.id,))
    if noted:
        told["gitInfo"] = told_git(noted[meta.id])
    return told


def told_git(git: Mapping[str, Any]) -> Json | None:
    """None where nothing is known."""
    told = {name: git.get(stored) for name, stored in GIT_NAMES.items()}
    return told if any(told.values()) else None


async def turns_told(path: str, live: "LiveThread | None") -> list[Json]:
    """Of the running turn all items are told, also those that the file does not keep."""
    running = live.telling.turn if live is not None else None
    if running is None:
        return await beside(lambda file: told_turns(turns_of_file(file)), path)
    ids, shown = running.ids, running.told("inProgress", running.items)
    turns = await beside(lambda file: told_turns(turns_of_file(file), running_turn_ids=ids), path)
    return [shown if turn["id"] in ids else turn for turn in turns]


def _unwritten(live: "LiveThread", path: str | None) -> Json:
    facts = live.facts
    names = names_of(facts.config.codex_home, {live.thread_id})
    git = noted_git(facts.config.codex_home, (live.thread_id,)).get(live.thread_id)
    running = live.telling.turn
    return {
        "id": live.thread_id,
        "sessionId": live.thread_id,
        "forkedFromId": facts.forked_from_id,
        "preview": facts.preview or "",
        "ephemeral": path is None,
        "modelProvider": facts.config.provider.id,
        "createdAt": facts.created_at,
        "updatedAt": facts.created_at,
        "recencyAt": facts.created_at,
        **_NEWER_FACTS,
        **_model_of(live),
        "originator": facts.originator,
        "status": live.telling.status,
        "path": path,
        "cwd": facts.cwd,
        "cliVersion": FORMAT_VERSION,
        "source": told_source(facts.source),
        "agentNickname": None,
        "agentRole": None,
        "gitInfo": None if git is None else told_git(git),
        "name": names.get(live.thread_id),
        "turns": [running.told("inProgress", running.items)] if running is not None else [],
    }


def _of_meta(meta: SessionMeta, *, default_provider: str) -> Json:
    created_at = int(moment_of(meta.timestamp) or 0)
    git = meta.git
    return {
        "id": meta.id,
        "sessionId": meta.id,
        "forkedFromId": meta.forked_from_id,
        "preview": "",
        "ephemeral": False,
        "modelProvider": meta.model_provider or default_provider,
        "createdAt": created_at,
        "updatedAt": created_at,
        "recencyAt": created_at,
        **_NEWER_FACTS,
        "originator": meta.originator,
        "status": NOT_LOADED,
        "path": None,
        "cwd": meta.cwd,
        "cliVersion": meta.cli_version,
        "source": told_source(meta.source),
        "agentNickname": meta.agent_nickname,
        "agentRole": meta.agent_role,
        "gitInfo": None if git is None else {name: git.get(stored) for name, stored in GIT_NAMES.items()},
        "name": None,
        "turns": [],
    }


def _model_of(live: "LiveThread") -> Json:
    return {"model": live.facts.model, "reasoningEffort": live.facts.effort}


def _exists(path: str) -> bool:
    """Asked on the spot: only reading takes long."""
    return os.path.exists(path)


def _updated_at(path: str) -> int:
    try:
        return int(os.stat(path).st_mtime)
    except OSError as error:
        raise RolloutUnreadable(path, f"{error.strerror} (os error {error.errno})") from error
