"""What is left of the first version of the interface."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.account import AuthMode
from pycodex.protocol.app.approvals import ExecPolicyAmendment, NetworkPolicyAmendment
from pycodex.protocol.app.command_actions import ParsedCommand
from pycodex.protocol.app.threads import SubAgentSource, ThreadId
from pycodex.protocol.app.wire import SNAKE, Choice, Inline, Keyed, Named, Params, PathText, Shown, Variant, Wire


class AddFileChange(Variant):
    type: Literal["add"] = "add"
    content: str


class DeleteFileChange(Variant):
    type: Literal["delete"] = "delete"
    content: str


class UpdateFileChange(Variant):
    model_config = SNAKE

    type: Literal["update"] = "update"
    unified_diff: str
    move_path: str | None = None


FileChange = Annotated[
    AddFileChange | DeleteFileChange | UpdateFileChange, Named("FileChange"), Field(discriminator="type")
]


class ApprovedExecpolicyAmendmentReviewDecisionBody(Inline):
    proposed_execpolicy_amendment: ExecPolicyAmendment = Field(alias="proposed_execpolicy_amendment")


class ApprovedExecpolicyAmendmentReviewDecision(Keyed):
    approved_execpolicy_amendment: ApprovedExecpolicyAmendmentReviewDecisionBody = Field(
        alias="approved_execpolicy_amendment"
    )


class NetworkPolicyAmendmentReviewDecisionBody(Inline):
    network_policy_amendment: NetworkPolicyAmendment = Field(alias="network_policy_amendment")


class NetworkPolicyAmendmentReviewDecision(Keyed):
    network_policy_amendment: NetworkPolicyAmendmentReviewDecisionBody = Field(alias="network_policy_amendment")


ReviewDecision = Annotated[
    Literal["approved"]
    | ApprovedExecpolicyAmendmentReviewDecision
    | Literal["approved_for_session"]
    | NetworkPolicyAmendmentReviewDecision
    | Literal["denied", "abort"],
    Named("ReviewDecision"),
]


class ApplyPatchApprovalParams(Params):
    conversation_id: ThreadId
    call_id: str
    file_changes: dict[str, FileChange]
    reason: Shown[str | None] = None
    grant_root: Shown[str | None] = None


class ApplyPatchApprovalResponse(Wire):
    decision: ReviewDecision


class ExecCommandApprovalParams(Params):
    conversation_id: ThreadId
    call_id: str
    approval_id: Shown[str | None] = None
    command: list[str]
    cwd: str
    reason: Shown[str | None] = None
    parsed_cmd: list[ParsedCommand]


class ExecCommandApprovalResponse(Wire):
    decision: ReviewDecision


class GetAuthStatusParams(Params):
    include_token: Shown[bool | None] = None
    refresh_token: Shown[bool | None] = None


class GetAuthStatusResponse(Wire):
    auth_method: AuthMode | None = None
    auth_token: str | None = None
    requires_openai_auth: bool | None = None


class GitDiffToRemoteParams(Params):
    cwd: PathText


GitSha = Annotated[str, Named("GitSha")]


class GitDiffToRemoteResponse(Wire):
    sha: GitSha
    diff: str


class RolloutPathGetConversationSummaryParams(Inline):
    rollout_path: PathText


class ConversationIdGetConversationSummaryParams(Inline):
    conversation_id: ThreadId


class GetConversationSummaryParams(
    Choice[RolloutPathGetConversationSummaryParams | ConversationIdGetConversationSummaryParams]
):
    pass


class CustomConversationSource(Keyed):
    custom: str


class SubagentConversationSource(Keyed):
    subagent: SubAgentSource


ConversationSource = Annotated[
    Literal["cli", "vscode", "exec", "mcp"]
    | CustomConversationSource
    | SubagentConversationSource
    | Literal["unknown"],
    Named("ConversationSource"),
]


class ConversationGitInfo(Wire):
    model_config = SNAKE

    sha: str | None = None
    branch: str | None = None
    origin_url: str | None = None


class ConversationSummary(Wire):
    conversation_id: ThreadId
    path: str
    preview: str
    timestamp: str | None = None
    updated_at: str | None = None
    model_provider: str
    cwd: str
    cli_version: str
    source: ConversationSource
    git_info: ConversationGitInfo | None = None


class GetConversationSummaryResponse(Wire):
    summary: ConversationSummary
