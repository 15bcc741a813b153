"""The base instructions of a session: who the model is and how it works.

Owns how a personality becomes part of them. Which of several overrides wins is decided by the caller; the texts
themselves lie in `prompts`.
"""

from pycodex.protocol.model_info import ModelInfo
from pycodex.supervisor.prompts import load

PERSONALITIES = ("pragmatic", "friendly", "none")
DEFAULT_PERSONALITY = PERSONALITIES[0]


def base_instructions(model_info: ModelInfo, personality: str | None, override: str | None) -> str:
    """What is sent as `instructions`. An override, or a text that came with the model, is taken as it is."""
    if override is not None:
        return override
    if model_info.base_instructions is not None:
        return model_info.base_instructions
    return load.filled("base", personality=personality_text(personality))


def personality_text(personality: str | None) -> str:
    """How the model should speak; that of the default personality for one that we do not know."""
    return load.text(f"personality-{personality if personality in PERSONALITIES else DEFAULT_PERSONALITY}")


def spoken_personality(instructions: str) -> str | None:
    """The personality that these instructions describe; None if they are not ours."""
    return next((name for name in PERSONALITIES if personality_text(name) in instructions), None)


def mode_instructions(mode: str) -> str:
    """What we tell the model of a collaboration mode when the client has no text of its own."""
    return load.text("mode-plan" if mode == "plan" else "mode-default")
