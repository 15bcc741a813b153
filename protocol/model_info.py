"""What is known of a model that changes how we speak to it.

Owns the value; `supervisor/model/catalog` finds it for a name.
"""

from dataclasses import dataclass

BYTES = "bytes"
TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class TruncationPolicy:
    """How much of a tool's output the model is shown. `mode` is `bytes` or `tokens`."""

    mode: str
    limit: int

    @property
    def budget_bytes(self) -> int:
        return self.limit if self.mode == BYTES else self.limit * 4

    def scaled(self, factor: float) -> "TruncationPolicy":
        return TruncationPolicy(self.mode, -int(-self.limit * factor // 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """`slug` is the catalogue's name, which may be only the beginning of the model's."""

    slug: str
    display_name: str
    description: str = ""
    context_window: int | None
    effective_context_window_percent: int = 95
    auto_compact_token_limit: int | None = None
    truncation: TruncationPolicy
    shell_type: str = "default"
    apply_patch_tool_type: str | None = None
    supports_parallel_tool_calls: bool = False
    supports_reasoning_summaries: bool = False
    default_reasoning_effort: str | None = None
    supported_reasoning_efforts: tuple[str, ...] = ()
    default_reasoning_summary: str = "auto"
    supports_verbosity: bool = False
    default_verbosity: str | None = None
    input_modalities: tuple[str, ...] = ("text", "image")
    supports_image_detail_original: bool = False
    supports_search_tool: bool = False
    searches_images: bool = False
    """Whether its web search may answer with pictures."""
    experimental_supported_tools: tuple[str, ...] = ()
    base_instructions: str | None = None
    """From a catalogue file of the user's; None: our own prompt."""
    is_known: bool = True
    """False for the fallback that stands in for a model of which nothing is known."""

    @property
    def takes_images(self) -> bool:
        return "image" in self.input_modalities

    @property
    def effective_context_window(self) -> int | None:
        """The part of the window that is told to clients."""
        if self.context_window is None:
            return None
        return self.context_window * self.effective_context_window_percent // 100
