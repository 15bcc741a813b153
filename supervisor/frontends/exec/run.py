"""`pycodex exec` from its request to its exit code.

Owns the order of the start, which decides which mistake is told first, and which also makes it fast: the zygote gets
ready on another core while the configuration is read and the engine is loaded.
"""

import gc
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.exec.request import ExecRequest
from pycodex.supervisor.workers.launch import launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.supervisor.config.config import Config
    from pycodex.supervisor.policy.rules import Rules

OUTSIDE = "Not inside a trusted directory and --skip-git-repo-check was not specified."


@dataclass(frozen=True, slots=True)
class Start:
    """What is settled before the engine runs."""

    env: Mapping[str, str]
    config: "Config"
    rules: "Rules"


def run_exec(request: ExecRequest) -> int:
    launched = launch()
    # What is loaded now stays: looking through it for garbage, again and again, is a twentieth of the start.
    gc.disable()
    try:
        start = prepared(request, os.environ)
        _tell_unknown_keys(start.config)
        from pycodex.supervisor.frontends.exec.task import run_task
        from pycodex.supervisor.frontends.log_file import open_log

        gc.freeze()
    finally:
        gc.enable()
    open_log(start.config.log_dir)
    return run_task(request, start, launched)


def _tell_unknown_keys(config: "Config") -> None:
    if config.unknown_keys:
        from pycodex.supervisor.frontends.exec.style import harmless

        sys.stderr.write("".join(f"{harmless(line)}\n" for line in config.unknown_keys))


def prepared(request: ExecRequest, given: Mapping[str, str]) -> Start:
    """The environment, the configuration and the rules. Raises UserFacing with the words of this command."""
    from pycodex.supervisor.config import early
    from pycodex.supervisor.config.config import Flags
    from pycodex.supervisor.config.dotenv import with_dotenv
    from pycodex.supervisor.config.load import load_config
    from pycodex.supervisor.config.startup_errors import exec_error_text

    flags = Flags(
        profile=request.profile,
        model=request.model,
        sandbox_mode=request.sandbox_mode,
        full_auto=request.full_auto,
        bypass=request.bypass and not request.full_auto,
        add_dirs=request.add_dirs,
        oss=request.oss,
        local_provider=request.local_provider,
        # Nobody is there to be asked.
        approval_policy="never",
        ephemeral=request.ephemeral,
    )
    try:
        for override in request.overrides:
            early.parse_override(override)
        cwd = working_directory(request.cd)
        env = with_dotenv(given, early.codex_home(given))
        config = load_config(env=env, overrides=request.overrides, cwd=cwd, flags=flags)
    except UserFacing as error:
        raise UserFacing(exec_error_text(error), prefix="") from error
    rules = _rules(config)
    _enforce_login(config, env)
    if not request.skip_git_repo_check and not request.bypass:
        from pycodex.supervisor.workspace.git import is_inside_repo

        if not is_inside_repo(cwd):
            raise UserFacing(OUTSIDE, prefix="")
    return Start(env, config, rules)


def _enforce_login(config: "Config", env: Mapping[str, str]) -> None:
    if config.forced_login_method is None and config.forced_chatgpt_workspace_id is None:
        return
    from pycodex.supervisor.auth.restrictions import Restrictions, enforce

    restrictions = Restrictions(method=config.forced_login_method, workspace=config.forced_chatgpt_workspace_id)
    enforce(restrictions, env, config.codex_home, store=config.cli_auth_credentials_store)


def _rules(config: "Config") -> "Rules":
    from pycodex.supervisor.policy.rule_files import BadRules, load_rules

    try:
        return load_rules(config)
    except BadRules as error:
        raise UserFacing(f"Error loading rules:\n{error}", prefix="") from error


def working_directory(given: str | None) -> str:
    """Canonical, and one that exists."""
    try:
        path = os.path.realpath(given or os.getcwd(), strict=True)
        # Entering it is what commands will do.
        os.close(os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY))
    except OSError as error:
        raise UserFacing(f"{error.strerror} (os error {error.errno})") from None
    return path
