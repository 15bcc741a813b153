"""What went wrong with a turn, in the words of the app-server. Pure."""

from typing import Any

Json = dict[str, Any]


def turn_error(message: str, info: object, *, details: str | None = None) -> Json:
    return {"message": message, "codexErrorInfo": _info(info), "additionalDetails": details}


def _info(info: object) -> object:
    """Words and names of fields are the engine's in another spelling."""
    if isinstance(info, str):
        return camel(info)
    if isinstance(info, dict):
        return {camel(str(name)): _info(value) for name, value in info.items()}
    return info


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
