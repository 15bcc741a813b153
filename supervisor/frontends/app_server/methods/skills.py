"""`skills/*`: which skills there are in which directory, and turning them on and off.

Owns the form of the answers. Finding skills is up to `context`, the settings up to `config/values`.
"""

import os
from collections.abc import Sequence
from functools import partial

import trio

from pycodex.protocol.app.skills import SkillsConfigWriteParams, SkillsListParams
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.values import set_skill
from pycodex.supervisor.context.configured_skills import configured_skills
from pycodex.supervisor.context.skill_interface import read_interface
from pycodex.supervisor.context.skills import Skill
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server

MAX_DIRECTORIES = 100


async def list_skills(caller: Caller, params: SkillsListParams) -> Json:
    server = caller.server
    cwds = params.cwds or [latest_config(server).cwd]
    if len(cwds) > MAX_DIRECTORIES:
        raise RpcError(f"skills/list of {len(cwds)} cwds is more than {MAX_DIRECTORIES}")
    roots = _extra_roots(params)
    entries = [await trio.to_thread.run_sync(_entry, server, cwd, roots.get(cwd, ())) for cwd in cwds]
    return {"data": entries}


def _extra_roots(params: SkillsListParams) -> dict[str, list[str]]:
    roots: dict[str, list[str]] = {}
    for entry in params.per_cwd_extra_user_roots or ():
        for root in entry.extra_user_roots:
            if not os.path.isabs(root):
                raise RpcError(f"skills/list perCwdExtraUserRoots extraUserRoots paths must be absolute: {root}")
        roots.setdefault(entry.cwd, []).extend(entry.extra_user_roots)
    return roots


def _entry(server: Server, cwd: str, extra_user_roots: Sequence[str]) -> Json:
    try:
        found = configured_skills(server.load_config(cwd=cwd), server.env, extra_user_roots=extra_user_roots)
    except UserFacing as error:
        return {"cwd": cwd, "skills": [], "errors": [{"path": cwd, "message": str(error)}]}
    return {
        "cwd": cwd,
        "skills": [_told(skill) for skill in found.skills],
        "errors": [{"path": error.path, "message": error.message} for error in found.errors],
    }


def _told(skill: Skill) -> Json:
    short = {} if skill.short_description is None else {"shortDescription": skill.short_description}
    return {
        "name": skill.name,
        "description": skill.description,
        **short,
        **read_interface(skill.path),
        "path": skill.path,
        "scope": skill.scope,
        "enabled": skill.enabled,
    }


async def write_config(caller: Caller, params: SkillsConfigWriteParams) -> Json:
    server = caller.server
    try:
        await trio.to_thread.run_sync(partial(set_skill, server.codex_home, params.path, enabled=params.enabled))
    except UserFacing as error:
        raise RpcError(f"failed to update skill settings: {error}", code=INTERNAL_ERROR) from None
    caller.after_answer(partial(server.broadcast, "skills/changed", {}))
    return {"effectiveEnabled": params.enabled}


METHODS = (
    Method(name="skills/list", params=SkillsListParams, run=list_skills),
    Method(name="skills/config/write", params=SkillsConfigWriteParams, run=write_config),
)
