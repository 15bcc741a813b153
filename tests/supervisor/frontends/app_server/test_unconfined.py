"""Whether clients may have commands run outside of the sandbox."""

from pathlib import Path

import pytest

from pycodex.supervisor.frontends.app_server.method import RpcError
from pycodex.supervisor.frontends.app_server.unconfined import check_unconfined

NAME = "thread/shellCommand"


def test_nothing_is_refused_where_nobody_demands_a_sandbox(tmp_path: Path) -> None:
    check_unconfined(NAME, {}, str(tmp_path))


def test_administrator_who_demands_a_sandbox_is_heard(tmp_path: Path) -> None:
    demands = tmp_path / "requirements.toml"
    demands.write_text('allowed_sandbox_modes = ["read-only", "workspace-write"]\n')
    with pytest.raises(RpcError, match=r"^thread/shellCommand runs commands without a sandbox: .*requirements"):
        check_unconfined(NAME, {}, str(tmp_path))
    demands.write_text('allowed_sandbox_modes = ["read-only", "danger-full-access"]\n')
    check_unconfined(NAME, {}, str(tmp_path))
