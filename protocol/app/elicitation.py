"""Questions that an MCP server asks, and the forms that they bring."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.wire import CLOSED, U32, U64, Choice, Named, Sparse, Variant, Wire

McpElicitationArrayType = Annotated[Literal["array"], Named("McpElicitationArrayType")]


McpElicitationBooleanType = Annotated[Literal["boolean"], Named("McpElicitationBooleanType")]


class McpElicitationBooleanSchema(Wire):
    model_config = CLOSED

    type: McpElicitationBooleanType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    default: Sparse[bool | None] = None


class McpElicitationConstOption(Wire):
    model_config = CLOSED

    const: str
    title: str


McpElicitationStringType = Annotated[Literal["string"], Named("McpElicitationStringType")]


class McpElicitationUntitledSingleSelectEnumSchema(Wire):
    model_config = CLOSED

    type: McpElicitationStringType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    enum: list[str]
    default: Sparse[str | None] = None


class McpElicitationTitledSingleSelectEnumSchema(Wire):
    model_config = CLOSED

    type: McpElicitationStringType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    one_of: list[McpElicitationConstOption]
    default: Sparse[str | None] = None


McpElicitationSingleSelectEnumSchema = Annotated[
    McpElicitationUntitledSingleSelectEnumSchema | McpElicitationTitledSingleSelectEnumSchema,
    Named("McpElicitationSingleSelectEnumSchema"),
]


class McpElicitationUntitledEnumItems(Wire):
    model_config = CLOSED

    type: McpElicitationStringType
    enum: list[str]


class McpElicitationUntitledMultiSelectEnumSchema(Wire):
    model_config = CLOSED

    type: McpElicitationArrayType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    min_items: Sparse[U64 | None] = None
    max_items: Sparse[U64 | None] = None
    items: McpElicitationUntitledEnumItems
    default: Sparse[list[str] | None] = None


class McpElicitationTitledEnumItems(Wire):
    model_config = CLOSED

    any_of: list[McpElicitationConstOption]


class McpElicitationTitledMultiSelectEnumSchema(Wire):
    model_config = CLOSED

    type: McpElicitationArrayType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    min_items: Sparse[U64 | None] = None
    max_items: Sparse[U64 | None] = None
    items: McpElicitationTitledEnumItems
    default: Sparse[list[str] | None] = None


McpElicitationMultiSelectEnumSchema = Annotated[
    McpElicitationUntitledMultiSelectEnumSchema | McpElicitationTitledMultiSelectEnumSchema,
    Named("McpElicitationMultiSelectEnumSchema"),
]


class McpElicitationLegacyTitledEnumSchema(Wire):
    model_config = CLOSED

    type: McpElicitationStringType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    enum: list[str]
    enum_names: Sparse[list[str] | None] = None
    default: Sparse[str | None] = None


McpElicitationEnumSchema = Annotated[
    McpElicitationSingleSelectEnumSchema | McpElicitationMultiSelectEnumSchema | McpElicitationLegacyTitledEnumSchema,
    Named("McpElicitationEnumSchema"),
]


McpElicitationNumberType = Annotated[Literal["number", "integer"], Named("McpElicitationNumberType")]


class McpElicitationNumberSchema(Wire):
    model_config = CLOSED

    type: McpElicitationNumberType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    minimum: Sparse[float | None] = None
    maximum: Sparse[float | None] = None
    default: Sparse[float | None] = None


McpElicitationObjectType = Annotated[Literal["object"], Named("McpElicitationObjectType")]


McpElicitationStringFormat = Annotated[
    Literal["email", "uri", "date", "date-time"], Named("McpElicitationStringFormat")
]


class McpElicitationStringSchema(Wire):
    model_config = CLOSED

    type: McpElicitationStringType
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    min_length: Sparse[U32 | None] = None
    max_length: Sparse[U32 | None] = None
    format: Sparse[McpElicitationStringFormat | None] = None
    default: Sparse[str | None] = None


McpElicitationPrimitiveSchema = Annotated[
    McpElicitationEnumSchema | McpElicitationStringSchema | McpElicitationNumberSchema | McpElicitationBooleanSchema,
    Named("McpElicitationPrimitiveSchema"),
]


class McpElicitationSchema(Wire):
    model_config = CLOSED

    schema_uri: Annotated[Sparse[str | None], Field(alias="$schema")] = None
    type: McpElicitationObjectType
    properties: dict[str, McpElicitationPrimitiveSchema]
    required: Sparse[list[str] | None] = None


McpServerElicitationAction = Annotated[Literal["accept", "decline", "cancel"], Named("McpServerElicitationAction")]


class McpServerElicitationRequestResponse(Wire):
    action: McpServerElicitationAction
    content: Any = None
    meta: Annotated[Any, Field(alias="_meta")] = None


class FormMcpServerElicitationRequestParams(Variant):
    thread_id: str
    turn_id: str | None = None
    server_name: str
    mode: Literal["form"] = "form"
    meta: Annotated[Any, Field(alias="_meta")] = None
    message: str
    requested_schema: McpElicitationSchema


class UrlMcpServerElicitationRequestParams(Variant):
    thread_id: str
    turn_id: str | None = None
    server_name: str
    mode: Literal["url"] = "url"
    meta: Annotated[Any, Field(alias="_meta")] = None
    message: str
    url: str
    elicitation_id: str


class McpServerElicitationRequestParams(
    Choice[
        Annotated[
            FormMcpServerElicitationRequestParams | UrlMcpServerElicitationRequestParams, Field(discriminator="mode")
        ]
    ]
):
    pass
