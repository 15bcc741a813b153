"""Which method carries what: the whole interface, by the names of its methods.

Loads every model, so it is for schemas and tests; a server that only needs the names takes `protocol/app/names`, and
each of its methods the models of its own resource.
"""

from dataclasses import dataclass
from typing import Any

from pycodex.protocol.app import (
    account,
    approvals,
    apps,
    catalogue,
    command_exec,
    config,
    elicitation,
    envelope,
    file_search,
    file_system,
    goals,
    hooks,
    host,
    initialize,
    item_events,
    legacy,
    mcp_servers,
    newer_threads,
    plugins,
    processes,
    questions,
    realtime,
    skills,
    thread_control,
    thread_starts,
    thread_store,
    turn_events,
    turns,
)


@dataclass(frozen=True, slots=True)
class Request:
    """The models of both ways; `params` is None where there are none."""

    params: Any
    result: Any


CLIENT_REQUESTS: dict[str, Request] = {
    "initialize": Request(initialize.InitializeParams, initialize.InitializeResponse),
    "thread/start": Request(thread_starts.ThreadStartParams, thread_starts.ThreadStartResponse),
    "thread/resume": Request(thread_starts.ThreadResumeParams, thread_starts.ThreadResumeResponse),
    "thread/fork": Request(thread_starts.ThreadForkParams, thread_starts.ThreadForkResponse),
    "thread/archive": Request(thread_store.ThreadArchiveParams, thread_store.ThreadArchiveResponse),
    "thread/unsubscribe": Request(thread_control.ThreadUnsubscribeParams, thread_control.ThreadUnsubscribeResponse),
    "thread/increment_elicitation": Request(
        thread_control.ThreadIncrementElicitationParams, thread_control.ThreadIncrementElicitationResponse
    ),
    "thread/decrement_elicitation": Request(
        thread_control.ThreadDecrementElicitationParams, thread_control.ThreadDecrementElicitationResponse
    ),
    "thread/name/set": Request(thread_store.ThreadSetNameParams, thread_store.ThreadSetNameResponse),
    "thread/metadata/update": Request(
        thread_store.ThreadMetadataUpdateParams, thread_store.ThreadMetadataUpdateResponse
    ),
    "thread/unarchive": Request(thread_store.ThreadUnarchiveParams, thread_store.ThreadUnarchiveResponse),
    "thread/compact/start": Request(thread_control.ThreadCompactStartParams, thread_control.ThreadCompactStartResponse),
    "thread/backgroundTerminals/clean": Request(
        thread_control.ThreadBackgroundTerminalsCleanParams, thread_control.ThreadBackgroundTerminalsCleanResponse
    ),
    "thread/rollback": Request(thread_control.ThreadRollbackParams, thread_control.ThreadRollbackResponse),
    "thread/list": Request(thread_store.ThreadListParams, thread_store.ThreadListResponse),
    "thread/loaded/list": Request(thread_store.ThreadLoadedListParams, thread_store.ThreadLoadedListResponse),
    "thread/read": Request(thread_store.ThreadReadParams, thread_store.ThreadReadResponse),
    "skills/list": Request(skills.SkillsListParams, skills.SkillsListResponse),
    "plugin/list": Request(plugins.PluginListParams, plugins.PluginListResponse),
    "plugin/read": Request(plugins.PluginReadParams, plugins.PluginReadResponse),
    "app/list": Request(apps.AppsListParams, apps.AppsListResponse),
    "fs/readFile": Request(file_system.FsReadFileParams, file_system.FsReadFileResponse),
    "fs/writeFile": Request(file_system.FsWriteFileParams, file_system.FsWriteFileResponse),
    "fs/createDirectory": Request(file_system.FsCreateDirectoryParams, file_system.FsCreateDirectoryResponse),
    "fs/getMetadata": Request(file_system.FsGetMetadataParams, file_system.FsGetMetadataResponse),
    "fs/readDirectory": Request(file_system.FsReadDirectoryParams, file_system.FsReadDirectoryResponse),
    "fs/remove": Request(file_system.FsRemoveParams, file_system.FsRemoveResponse),
    "fs/copy": Request(file_system.FsCopyParams, file_system.FsCopyResponse),
    "skills/config/write": Request(skills.SkillsConfigWriteParams, skills.SkillsConfigWriteResponse),
    "plugin/install": Request(plugins.PluginInstallParams, plugins.PluginInstallResponse),
    "plugin/uninstall": Request(plugins.PluginUninstallParams, plugins.PluginUninstallResponse),
    "turn/start": Request(turns.TurnStartParams, turns.TurnStartResponse),
    "turn/steer": Request(turns.TurnSteerParams, turns.TurnSteerResponse),
    "turn/interrupt": Request(turns.TurnInterruptParams, turns.TurnInterruptResponse),
    "thread/realtime/start": Request(realtime.ThreadRealtimeStartParams, realtime.ThreadRealtimeStartResponse),
    "thread/realtime/appendAudio": Request(
        realtime.ThreadRealtimeAppendAudioParams, realtime.ThreadRealtimeAppendAudioResponse
    ),
    "thread/realtime/appendText": Request(
        realtime.ThreadRealtimeAppendTextParams, realtime.ThreadRealtimeAppendTextResponse
    ),
    "thread/realtime/stop": Request(realtime.ThreadRealtimeStopParams, realtime.ThreadRealtimeStopResponse),
    "review/start": Request(turns.ReviewStartParams, turns.ReviewStartResponse),
    "model/list": Request(catalogue.ModelListParams, catalogue.ModelListResponse),
    "experimentalFeature/list": Request(
        catalogue.ExperimentalFeatureListParams, catalogue.ExperimentalFeatureListResponse
    ),
    "collaborationMode/list": Request(catalogue.CollaborationModeListParams, catalogue.CollaborationModeListResponse),
    "mock/experimentalMethod": Request(
        catalogue.MockExperimentalMethodParams, catalogue.MockExperimentalMethodResponse
    ),
    "mcpServer/oauth/login": Request(mcp_servers.McpServerOauthLoginParams, mcp_servers.McpServerOauthLoginResponse),
    "config/mcpServer/reload": Request(None, mcp_servers.McpServerRefreshResponse),
    "mcpServerStatus/list": Request(mcp_servers.ListMcpServerStatusParams, mcp_servers.ListMcpServerStatusResponse),
    "windowsSandbox/setupStart": Request(host.WindowsSandboxSetupStartParams, host.WindowsSandboxSetupStartResponse),
    "account/login/start": Request(account.LoginAccountParams, account.LoginAccountResponse),
    "account/login/cancel": Request(account.CancelLoginAccountParams, account.CancelLoginAccountResponse),
    "account/logout": Request(None, account.LogoutAccountResponse),
    "account/rateLimits/read": Request(None, account.GetAccountRateLimitsResponse),
    "feedback/upload": Request(host.FeedbackUploadParams, host.FeedbackUploadResponse),
    "command/exec": Request(command_exec.CommandExecParams, command_exec.CommandExecResponse),
    "command/exec/write": Request(command_exec.CommandExecWriteParams, command_exec.CommandExecWriteResponse),
    "command/exec/terminate": Request(
        command_exec.CommandExecTerminateParams, command_exec.CommandExecTerminateResponse
    ),
    "command/exec/resize": Request(command_exec.CommandExecResizeParams, command_exec.CommandExecResizeResponse),
    "config/read": Request(config.ConfigReadParams, config.ConfigReadResponse),
    "externalAgentConfig/detect": Request(host.ExternalAgentConfigDetectParams, host.ExternalAgentConfigDetectResponse),
    "externalAgentConfig/import": Request(host.ExternalAgentConfigImportParams, host.ExternalAgentConfigImportResponse),
    "config/value/write": Request(config.ConfigValueWriteParams, config.ConfigWriteResponse),
    "config/batchWrite": Request(config.ConfigBatchWriteParams, config.ConfigWriteResponse),
    "configRequirements/read": Request(None, config.ConfigRequirementsReadResponse),
    "account/read": Request(account.GetAccountParams, account.GetAccountResponse),
    "getConversationSummary": Request(legacy.GetConversationSummaryParams, legacy.GetConversationSummaryResponse),
    "gitDiffToRemote": Request(legacy.GitDiffToRemoteParams, legacy.GitDiffToRemoteResponse),
    "getAuthStatus": Request(legacy.GetAuthStatusParams, legacy.GetAuthStatusResponse),
    "fuzzyFileSearch": Request(file_search.FuzzyFileSearchParams, file_search.FuzzyFileSearchResponse),
    "fuzzyFileSearch/sessionStart": Request(
        file_search.FuzzyFileSearchSessionStartParams, file_search.FuzzyFileSearchSessionStartResponse
    ),
    "fuzzyFileSearch/sessionUpdate": Request(
        file_search.FuzzyFileSearchSessionUpdateParams, file_search.FuzzyFileSearchSessionUpdateResponse
    ),
    "fuzzyFileSearch/sessionStop": Request(
        file_search.FuzzyFileSearchSessionStopParams, file_search.FuzzyFileSearchSessionStopResponse
    ),
}

SERVER_REQUESTS: dict[str, Request] = {
    "item/commandExecution/requestApproval": Request(
        approvals.CommandExecutionRequestApprovalParams, approvals.CommandExecutionRequestApprovalResponse
    ),
    "item/fileChange/requestApproval": Request(
        approvals.FileChangeRequestApprovalParams, approvals.FileChangeRequestApprovalResponse
    ),
    "item/tool/requestUserInput": Request(questions.ToolRequestUserInputParams, questions.ToolRequestUserInputResponse),
    "mcpServer/elicitation/request": Request(
        elicitation.McpServerElicitationRequestParams, elicitation.McpServerElicitationRequestResponse
    ),
    "item/permissions/requestApproval": Request(
        approvals.PermissionsRequestApprovalParams, approvals.PermissionsRequestApprovalResponse
    ),
    "item/tool/call": Request(questions.DynamicToolCallParams, questions.DynamicToolCallResponse),
    "account/chatgptAuthTokens/refresh": Request(
        account.ChatgptAuthTokensRefreshParams, account.ChatgptAuthTokensRefreshResponse
    ),
    "applyPatchApproval": Request(legacy.ApplyPatchApprovalParams, legacy.ApplyPatchApprovalResponse),
    "execCommandApproval": Request(legacy.ExecCommandApprovalParams, legacy.ExecCommandApprovalResponse),
}

SERVER_NOTIFICATIONS: dict[str, Any] = {
    "error": turn_events.ErrorNotification,
    "thread/started": thread_starts.ThreadStartedNotification,
    "thread/status/changed": thread_control.ThreadStatusChangedNotification,
    "thread/archived": thread_store.ThreadArchivedNotification,
    "thread/unarchived": thread_store.ThreadUnarchivedNotification,
    "thread/closed": thread_control.ThreadClosedNotification,
    "skills/changed": skills.SkillsChangedNotification,
    "thread/name/updated": thread_store.ThreadNameUpdatedNotification,
    "thread/tokenUsage/updated": turn_events.ThreadTokenUsageUpdatedNotification,
    "turn/started": turn_events.TurnStartedNotification,
    "hook/started": hooks.HookStartedNotification,
    "turn/completed": turn_events.TurnCompletedNotification,
    "hook/completed": hooks.HookCompletedNotification,
    "turn/diff/updated": turn_events.TurnDiffUpdatedNotification,
    "turn/plan/updated": turn_events.TurnPlanUpdatedNotification,
    "item/started": item_events.ItemStartedNotification,
    "item/autoApprovalReview/started": item_events.ItemGuardianApprovalReviewStartedNotification,
    "item/autoApprovalReview/completed": item_events.ItemGuardianApprovalReviewCompletedNotification,
    "item/completed": item_events.ItemCompletedNotification,
    "rawResponseItem/completed": item_events.RawResponseItemCompletedNotification,
    "item/agentMessage/delta": item_events.AgentMessageDeltaNotification,
    "item/plan/delta": item_events.PlanDeltaNotification,
    "command/exec/outputDelta": command_exec.CommandExecOutputDeltaNotification,
    "item/commandExecution/outputDelta": item_events.CommandExecutionOutputDeltaNotification,
    "item/commandExecution/terminalInteraction": item_events.TerminalInteractionNotification,
    "item/fileChange/outputDelta": item_events.FileChangeOutputDeltaNotification,
    "serverRequest/resolved": envelope.ServerRequestResolvedNotification,
    "item/mcpToolCall/progress": item_events.McpToolCallProgressNotification,
    "mcpServer/oauthLogin/completed": mcp_servers.McpServerOauthLoginCompletedNotification,
    "account/updated": account.AccountUpdatedNotification,
    "account/rateLimits/updated": account.AccountRateLimitsUpdatedNotification,
    "app/list/updated": apps.AppListUpdatedNotification,
    "item/reasoning/summaryTextDelta": item_events.ReasoningSummaryTextDeltaNotification,
    "item/reasoning/summaryPartAdded": item_events.ReasoningSummaryPartAddedNotification,
    "item/reasoning/textDelta": item_events.ReasoningTextDeltaNotification,
    "thread/compacted": turn_events.ContextCompactedNotification,
    "model/rerouted": turn_events.ModelReroutedNotification,
    "deprecationNotice": config.DeprecationNoticeNotification,
    "configWarning": config.ConfigWarningNotification,
    "fuzzyFileSearch/sessionUpdated": file_search.FuzzyFileSearchSessionUpdatedNotification,
    "fuzzyFileSearch/sessionCompleted": file_search.FuzzyFileSearchSessionCompletedNotification,
    "thread/realtime/started": realtime.ThreadRealtimeStartedNotification,
    "thread/realtime/itemAdded": realtime.ThreadRealtimeItemAddedNotification,
    "thread/realtime/outputAudio/delta": realtime.ThreadRealtimeOutputAudioDeltaNotification,
    "thread/realtime/error": realtime.ThreadRealtimeErrorNotification,
    "thread/realtime/closed": realtime.ThreadRealtimeClosedNotification,
    "windows/worldWritableWarning": host.WindowsWorldWritableWarningNotification,
    "windowsSandbox/setupCompleted": host.WindowsSandboxSetupCompletedNotification,
    "account/login/completed": account.AccountLoginCompletedNotification,
}

# Not in 0.116: newer clients ask for them.
NEWER_REQUESTS: dict[str, Request] = {
    "thread/goal/set": Request(goals.ThreadGoalSetParams, goals.ThreadGoalSetResponse),
    "thread/goal/get": Request(goals.ThreadGoalGetParams, goals.ThreadGoalGetResponse),
    "thread/goal/clear": Request(goals.ThreadGoalClearParams, goals.ThreadGoalClearResponse),
    "thread/turns/list": Request(newer_threads.ThreadTurnsListParams, newer_threads.ThreadTurnsListResponse),
    "thread/items/list": Request(newer_threads.ThreadItemsListParams, newer_threads.ThreadItemsListResponse),
    "thread/delete": Request(newer_threads.ThreadDeleteParams, newer_threads.ThreadDeleteResponse),
    "thread/inject_items": Request(newer_threads.ThreadInjectItemsParams, newer_threads.ThreadInjectItemsResponse),
    "thread/shellCommand": Request(newer_threads.ThreadShellCommandParams, newer_threads.ThreadShellCommandResponse),
    "thread/settings/update": Request(
        newer_threads.ThreadSettingsUpdateParams, newer_threads.ThreadSettingsUpdateResponse
    ),
    "hooks/list": Request(hooks.HooksListParams, hooks.HooksListResponse),
    "mcpServer/tool/call": Request(mcp_servers.McpServerToolCallParams, mcp_servers.McpServerToolCallResponse),
    "mcpServer/resource/read": Request(mcp_servers.McpResourceReadParams, mcp_servers.McpResourceReadResponse),
    "fs/watch": Request(file_system.FsWatchParams, file_system.FsWatchResponse),
    "fs/unwatch": Request(file_system.FsUnwatchParams, file_system.FsUnwatchResponse),
    "process/spawn": Request(processes.ProcessSpawnParams, processes.ProcessSpawnResponse),
    "process/writeStdin": Request(processes.ProcessWriteStdinParams, processes.ProcessWriteStdinResponse),
    "process/resizePty": Request(processes.ProcessResizePtyParams, processes.ProcessResizePtyResponse),
    "process/kill": Request(processes.ProcessKillParams, processes.ProcessKillResponse),
}

NEWER_NOTIFICATIONS: dict[str, Any] = {
    "thread/goal/updated": goals.ThreadGoalUpdatedNotification,
    "thread/goal/cleared": goals.ThreadGoalClearedNotification,
    "thread/deleted": newer_threads.ThreadDeletedNotification,
    "thread/settings/updated": newer_threads.ThreadSettingsUpdatedNotification,
    "warning": newer_threads.WarningNotification,
    "mcpServer/startupStatus/updated": mcp_servers.McpServerStatusUpdatedNotification,
    "fs/changed": file_system.FsChangedNotification,
    "process/outputDelta": processes.ProcessOutputDeltaNotification,
    "process/exited": processes.ProcessExitedNotification,
}
