"""Questions that a person answers before something runs, and the answers."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.command_actions import CommandAction
from pycodex.protocol.app.permission_profiles import (
    AdditionalPermissionProfile,
    GrantedPermissionProfile,
    RequestPermissionProfile,
)
from pycodex.protocol.app.wire import Experimental, Inline, Keyed, Named, Params, Shown, Sparse, Wire

NetworkApprovalProtocol = Annotated[
    Literal["http", "https", "socks5Tcp", "socks5Udp"], Named("NetworkApprovalProtocol")
]


class NetworkApprovalContext(Wire):
    host: str
    protocol: NetworkApprovalProtocol


NetworkPolicyRuleAction = Annotated[Literal["allow", "deny"], Named("NetworkPolicyRuleAction")]


ExecPolicyAmendment = Annotated[list[str], Named("ExecPolicyAmendment")]


class NetworkPolicyAmendment(Wire):
    host: str
    action: NetworkPolicyRuleAction


class AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecisionBody(Inline):
    execpolicy_amendment: ExecPolicyAmendment = Field(alias="execpolicy_amendment")


class AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision(Keyed):
    accept_with_execpolicy_amendment: AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecisionBody


class ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecisionBody(Inline):
    network_policy_amendment: NetworkPolicyAmendment = Field(alias="network_policy_amendment")


class ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision(Keyed):
    apply_network_policy_amendment: ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecisionBody


CommandExecutionApprovalDecision = Annotated[
    Literal["accept", "acceptForSession"]
    | AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision
    | ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision
    | Literal["decline", "cancel"],
    Named("CommandExecutionApprovalDecision"),
]


class CommandExecutionRequestApprovalSkillMetadata(Wire):
    path_to_skills_md: str


class CommandExecutionRequestApprovalParams(Params):
    thread_id: str
    turn_id: str
    item_id: str
    approval_id: Sparse[str | None] = None
    reason: Sparse[str | None] = None
    network_approval_context: Sparse[NetworkApprovalContext | None] = None
    command: Sparse[str | None] = None
    cwd: Sparse[str | None] = None
    command_actions: Sparse[list[CommandAction] | None] = None
    additional_permissions: Annotated[
        Sparse[AdditionalPermissionProfile | None],
        Experimental("item/commandExecution/requestApproval.additionalPermissions"),
    ] = None
    skill_metadata: Annotated[
        Sparse[CommandExecutionRequestApprovalSkillMetadata | None],
        Experimental("item/commandExecution/requestApproval.skillMetadata"),
    ] = None
    proposed_execpolicy_amendment: Sparse[ExecPolicyAmendment | None] = None
    proposed_network_policy_amendments: Sparse[list[NetworkPolicyAmendment] | None] = None
    available_decisions: Annotated[
        Sparse[list[CommandExecutionApprovalDecision] | None],
        Experimental("item/commandExecution/requestApproval.availableDecisions"),
    ] = None


class CommandExecutionRequestApprovalResponse(Wire):
    decision: CommandExecutionApprovalDecision


FileChangeApprovalDecision = Annotated[
    Literal["accept", "acceptForSession", "decline", "cancel"], Named("FileChangeApprovalDecision")
]


class FileChangeRequestApprovalParams(Params):
    thread_id: str
    turn_id: str
    item_id: str
    reason: str | None = None
    grant_root: str | None = None


class FileChangeRequestApprovalResponse(Wire):
    decision: FileChangeApprovalDecision


class PermissionsRequestApprovalParams(Params):
    thread_id: str
    turn_id: str
    item_id: str
    reason: Shown[str | None] = None
    permissions: RequestPermissionProfile


PermissionGrantScope = Annotated[Literal["turn", "session"], Named("PermissionGrantScope")]


class PermissionsRequestApprovalResponse(Wire):
    permissions: GrantedPermissionProfile
    scope: PermissionGrantScope = "turn"
