"""`gitDiffToRemote` and `getConversationSummary`: what is left of the first version of the interface.

Owns the form of the answers. The difference comes from `commands/git_diff`, the summary from the session's own file.
"""

import os
import time
from functools import partial
from stat import S_ISREG

import trio

from pycodex.protocol.app.legacy import (
    ConversationIdGetConversationSummaryParams,
    GetConversationSummaryParams,
    GitDiffToRemoteParams,
)
from pycodex.supervisor.commands.git_diff import diff_to_remote
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.config.early import quoted
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.rollout.head import read_head
from pycodex.supervisor.rollout.listing import find_by_id
from pycodex.supervisor.rollout.reader import RolloutUnreadable, read_meta


async def diff(caller: Caller, params: GitDiffToRemoteParams) -> Json:
    server = caller.server
    workplace = Workplace(config=latest_config(server), env=server.env, pool=server.pool)
    found = await diff_to_remote(workplace, params.cwd)
    if found is None:
        raise RpcError(f"failed to compute git diff to remote for cwd: {quoted(params.cwd)}")
    return {"sha": found.sha, "diff": found.diff}


async def summarize(caller: Caller, params: GetConversationSummaryParams) -> Json:
    server, wish = caller.server, params.root
    if isinstance(wish, ConversationIdGetConversationSummaryParams):
        path = await trio.to_thread.run_sync(find_by_id, server.codex_home, wish.conversation_id)
        if path is None:
            raise RpcError(f"no rollout found for conversation id {wish.conversation_id}")
    else:
        path = os.path.join(server.codex_home, wish.rollout_path)
    provider = latest_config(server).provider.id
    try:
        summary = await trio.to_thread.run_sync(partial(_summary, path, provider), abandon_on_cancel=True)
    except OSError as error:
        why = f"{error.strerror} (os error {error.errno})" if error.errno else str(error)
        raise RpcError(f"failed to load conversation summary from {path}: {why}", code=INTERNAL_ERROR) from None
    return {"summary": summary}


def _summary(path: str, default_provider: str) -> Json:
    status = os.stat(path)
    if not S_ISREG(status.st_mode):
        raise OSError(f"rollout at {path} is not a regular file")
    if not status.st_size:
        raise OSError(f"rollout at {path} is empty")
    head = read_head(path)
    try:
        meta = head.meta if head is not None else read_meta(path)
    except RolloutUnreadable:
        raise OSError(f"rollout at {path} does not start with session metadata") from None
    return {
        "conversationId": meta.id,
        "path": path,
        # Of a session in which nobody has said anything there is none.
        "preview": head.preview if head is not None else "",
        "timestamp": meta.timestamp,
        "updatedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)),
        "modelProvider": meta.model_provider or default_provider,
        "cwd": meta.cwd,
        "cliVersion": meta.cli_version,
        "source": meta.source,
        "gitInfo": None if meta.git is None else _git(meta.git),
    }


def _git(git: Json) -> Json:
    return {"sha": git.get("commit_hash"), "branch": git.get("branch"), "origin_url": git.get("repository_url")}


METHODS = (
    Method(name="gitDiffToRemote", params=GitDiffToRemoteParams, run=diff, may_wait=True),
    Method(name="getConversationSummary", params=GetConversationSummaryParams, run=summarize),
)
