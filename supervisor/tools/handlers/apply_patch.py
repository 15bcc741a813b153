"""apply_patch: changes files by a patch in a language of its own.

Owns the two forms in which the tool is offered: with a grammar that guides the model, and as a plain function. What
happens to the patch is in `patching`.
"""

from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.prompts.load import grammar, text
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, parse
from pycodex.supervisor.tools.arguments import text as text_field
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "apply_patch"
SHAPE = Shape("ApplyPatchToolArgs", (Field("input", text_field),))


class ApplyPatch:
    name = NAME
    parallel = False
    kinds = (FUNCTION_CALL, CUSTOM_TOOL_CALL)

    def __init__(self, *, freeform: bool) -> None:
        self.freeform = freeform

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        if self.freeform:
            return {
                "type": "custom",
                "name": NAME,
                "description": text("apply-patch-freeform"),
                "format": {"type": "grammar", "syntax": "lark", "definition": grammar(NAME)},
            }
        return spec.function(
            NAME, text("apply-patch-function"), {"input": spec.text("The whole patch.")}, required=("input",)
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        from pycodex.supervisor.tools.patching import apply_patch

        patch = call.arguments if call.kind == CUSTOM_TOOL_CALL else parse(call.arguments, SHAPE)["input"]
        return await apply_patch(patch, cwd=scope.turn.cwd, call_id=call.call_id, scope=scope)
