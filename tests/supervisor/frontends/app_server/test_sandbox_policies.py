"""Policies of the sandbox, there and back."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from pycodex.protocol.app.settings import SandboxPolicy
from pycodex.protocol.permissions import WORKSPACE_WRITE, FsRule, Permissions
from pycodex.supervisor.frontends.app_server.sandbox_policies import permissions_of, told_policy

FULL = {"type": "fullAccess"}
RESTRICTED = {"type": "restricted", "includePlatformDefaults": False, "readableRoots": ["/r"]}


@pytest.mark.parametrize(
    "policy",
    [
        {"type": "dangerFullAccess"},
        {"type": "readOnly", "access": FULL, "networkAccess": False},
        {"type": "readOnly", "access": RESTRICTED, "networkAccess": True},
        {"type": "externalSandbox", "networkAccess": "enabled"},
        {
            "type": "workspaceWrite",
            "writableRoots": ["/w"],
            "readOnlyAccess": RESTRICTED,
            "networkAccess": True,
            "excludeTmpdirEnvVar": True,
            "excludeSlashTmp": False,
        },
    ],
)
def test_policy_comes_back_as_it_was(policy: dict[str, Any]) -> None:
    TypeAdapter(SandboxPolicy).validate_python(policy)
    assert told_policy(permissions_of(policy)) == policy


def test_rules_are_told_as_far_as_words_go() -> None:
    rules = (FsRule(path="/w", access="write"), FsRule(path="/secret", access="none"))
    told = told_policy(Permissions(mode=WORKSPACE_WRITE, rules=rules))
    assert told["writableRoots"] == ["/w"]
