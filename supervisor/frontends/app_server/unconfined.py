"""Whether clients may have commands run outside of the sandbox.

Owns the one check in front of all that do: an administrator who does not let anybody work without a sandbox does not
let clients do so either.
"""

from collections.abc import Mapping

from pycodex.protocol.permissions import DANGER_FULL_ACCESS
from pycodex.supervisor.config.early import SYSTEM_DIR
from pycodex.supervisor.config.requirements import demanded_here, mode_refusal
from pycodex.supervisor.frontends.app_server.method import RpcError


def check_unconfined(method: str, env: Mapping[str, str], system_dir: str = SYSTEM_DIR) -> None:
    """Raises RpcError if it is not allowed here."""
    refusal = mode_refusal(DANGER_FULL_ACCESS, demanded_here(env, system_dir).sandbox_modes)
    if refusal is not None:
        raise RpcError(f"{method} runs commands without a sandbox: {refusal}")
