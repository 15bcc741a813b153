"""Who pays: the account, logging in and out, and what is left of its limits."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.wire import I32, I64, Choice, Experimental, Named, Params, Sparse, Variant, Wire

AuthMode = Annotated[Literal["apikey", "chatgpt", "chatgptAuthTokens"], Named("AuthMode")]


PlanType = Annotated[
    Literal["free", "go", "plus", "pro", "team", "business", "enterprise", "edu", "unknown"], Named("PlanType")
]


class ApiKeyAccount(Variant):
    type: Literal["apiKey"] = "apiKey"


class ChatgptAccount(Variant):
    type: Literal["chatgpt"] = "chatgpt"
    email: str
    plan_type: PlanType


Account = Annotated[ApiKeyAccount | ChatgptAccount, Named("Account"), Field(discriminator="type")]


class GetAccountParams(Params):
    refresh_token: bool = False


class GetAccountResponse(Wire):
    account: Account | None = None
    requires_openai_auth: bool


class ApiKeyLoginAccountParams(Variant):
    type: Literal["apiKey"] = "apiKey"
    api_key: str


class ChatgptLoginAccountParams(Variant):
    type: Literal["chatgpt"] = "chatgpt"


class ChatgptAuthTokensLoginAccountParams(Variant):
    experimental = Experimental("account/login/start.chatgptAuthTokens")

    type: Literal["chatgptAuthTokens"] = "chatgptAuthTokens"
    access_token: str
    chatgpt_account_id: str
    chatgpt_plan_type: Sparse[str | None] = None


class ChatgptDeviceCodeLoginAccountParams(Variant):
    is_newer = True

    type: Literal["chatgptDeviceCode"] = "chatgptDeviceCode"


class LoginAccountParams(
    Choice[
        Annotated[
            ApiKeyLoginAccountParams
            | ChatgptLoginAccountParams
            | ChatgptAuthTokensLoginAccountParams
            | ChatgptDeviceCodeLoginAccountParams,
            Field(discriminator="type"),
        ]
    ]
):
    pass


class ApiKeyLoginAccountResponse(Variant):
    type: Literal["apiKey"] = "apiKey"


class ChatgptLoginAccountResponse(Variant):
    type: Literal["chatgpt"] = "chatgpt"
    login_id: str
    auth_url: str


class ChatgptAuthTokensLoginAccountResponse(Variant):
    type: Literal["chatgptAuthTokens"] = "chatgptAuthTokens"


class ChatgptDeviceCodeLoginAccountResponse(Variant):
    is_newer = True

    type: Literal["chatgptDeviceCode"] = "chatgptDeviceCode"
    login_id: str
    verification_url: str
    user_code: str


LoginAccountResponse = Annotated[
    ApiKeyLoginAccountResponse
    | ChatgptLoginAccountResponse
    | ChatgptAuthTokensLoginAccountResponse
    | ChatgptDeviceCodeLoginAccountResponse,
    Named("LoginAccountResponse"),
    Field(discriminator="type"),
]


class CancelLoginAccountParams(Params):
    login_id: str


CancelLoginAccountStatus = Annotated[Literal["canceled", "notFound"], Named("CancelLoginAccountStatus")]


class CancelLoginAccountResponse(Wire):
    status: CancelLoginAccountStatus


class LogoutAccountResponse(Wire):
    pass


class RateLimitWindow(Wire):
    used_percent: I32
    window_duration_mins: I64 | None = None
    resets_at: I64 | None = None


class CreditsSnapshot(Wire):
    has_credits: bool
    unlimited: bool
    balance: str | None = None


class RateLimitSnapshot(Wire):
    limit_id: str | None = None
    limit_name: str | None = None
    primary: RateLimitWindow | None = None
    secondary: RateLimitWindow | None = None
    credits: CreditsSnapshot | None = None
    plan_type: PlanType | None = None


class GetAccountRateLimitsResponse(Wire):
    rate_limits: RateLimitSnapshot
    rate_limits_by_limit_id: dict[str, RateLimitSnapshot] | None = None


class AccountUpdatedNotification(Wire):
    auth_mode: AuthMode | None = None
    plan_type: PlanType | None = None


class AccountRateLimitsUpdatedNotification(Wire):
    rate_limits: RateLimitSnapshot


class AccountLoginCompletedNotification(Wire):
    login_id: str | None = None
    success: bool
    error: str | None = None


ChatgptAuthTokensRefreshReason = Annotated[Literal["unauthorized"], Named("ChatgptAuthTokensRefreshReason")]


class ChatgptAuthTokensRefreshParams(Params):
    reason: ChatgptAuthTokensRefreshReason
    previous_account_id: str | None = None


class ChatgptAuthTokensRefreshResponse(Wire):
    access_token: str
    chatgpt_account_id: str
    chatgpt_plan_type: str | None = None
