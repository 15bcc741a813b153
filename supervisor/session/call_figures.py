"""What one call of a tool has taken, as session file and log tell it.

Owns the names of the figures and the short form of an answer for the log. Pure.
"""

import json
from typing import TYPE_CHECKING, Any

from pycodex.protocol.frames import Exited
from pycodex.supervisor.tools.tool import ToolCall

if TYPE_CHECKING:
    from pycodex.protocol.items import Part

PREVIEW_BYTES = 2048
PREVIEW_LINES = 64
PREVIEW_CUT = "[... telemetry preview truncated ...]"


def figures_of(exited: Exited | None) -> dict[str, Any] | None:
    """None for a call without a process of its own, or whose process still runs."""
    if exited is None:
        return None
    figures = {
        "wall_ms": round(exited.wall_ms, 3),
        "cpu_ms": round(exited.cpu_ms, 3),
        "peak_rss_bytes": exited.peak_rss_bytes,
        "output_bytes": exited.output_bytes,
        "dropped_bytes": exited.dropped_bytes,
        "sandbox": exited.enforced.level,
    }
    if exited.processes:
        figures["processes"] = exited.processes
    return figures


def told_in_log(call: ToolCall, output: "str | list[Part] | None", figures: dict[str, Any] | None) -> str:
    """One line about a call that was answered."""
    told: dict[str, Any] = {"tool": call.name, "call_id": call.call_id, "figures": figures}
    if isinstance(output, str):
        told["preview"] = preview(output)
    return json.dumps(told, ensure_ascii=False)


def preview(output: str) -> str:
    """The beginning of an answer, short enough for a log."""
    kept = output[:PREVIEW_BYTES].encode("utf-8", "replace")[:PREVIEW_BYTES].decode("utf-8", "ignore")
    *lines, rest = kept.split("\n", PREVIEW_LINES)
    if len(lines) == PREVIEW_LINES:
        kept = kept.removesuffix(rest)
    if kept == output:
        return output
    separator = "" if kept.endswith("\n") else "\n"
    return f"{kept}{separator}{PREVIEW_CUT}"
