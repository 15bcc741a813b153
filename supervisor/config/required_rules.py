"""The rules about commands in `requirements.toml`: what an administrator forbids, or wants a person to be asked about.

Owns their form and every text about one that cannot be used. Such rules only ever make things stricter, so none of them
allows anything. Takes the table as it was read, gives plain values; raises BadConfig.
"""

from typing import Any, NamedTuple

from pycodex.supervisor.config.early import BadConfig

DECISIONS = ("prompt", "forbidden")


class RequiredRule(NamedTuple):
    """`pattern` are the first words of a command, each with its alternatives; `source` is the file."""

    pattern: tuple[tuple[str, ...], ...]
    decision: str
    justification: str | None
    source: str


def required_rules(table: object, source: str) -> tuple[RequiredRule, ...]:
    """What `[rules]` says; None for a file without it."""
    if table is None:
        return ()
    try:
        return tuple(_rule(index, entry, source) for index, entry in enumerate(_entries(table)))
    except _Unusable as error:
        raise BadConfig(f"invalid rules in {source}: {error}") from None


class _Unusable(Exception):
    pass


def _entries(table: object) -> list[Any]:
    entries = table.get("prefix_rules") if isinstance(table, dict) else None
    if not isinstance(entries, list):
        raise _Unusable("rules prefix_rules must be a list of tables")
    if not entries:
        raise _Unusable("rules prefix_rules cannot be empty")
    return entries


def _rule(index: int, entry: object, source: str) -> RequiredRule:
    where = f"rules prefix_rule at index {index}"
    if not isinstance(entry, dict):
        raise _Unusable(f"{where} is not a table")
    return RequiredRule(
        pattern=_pattern(entry.get("pattern"), where),
        decision=_decision(entry.get("decision"), where),
        justification=_justification(entry.get("justification"), where),
        source=source,
    )


def _pattern(tokens: object, where: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(tokens, list) or not tokens:
        raise _Unusable(f"{where} has an empty pattern")
    words = []
    for position, token in enumerate(tokens):
        try:
            words.append(_alternatives(token))
        except _Unusable as error:
            raise _Unusable(f"{where} has an invalid pattern token at index {position}: {error}") from None
    return tuple(words)


def _alternatives(token: object) -> tuple[str, ...]:
    single, several = (token.get("token"), token.get("any_of")) if isinstance(token, dict) else (None, None)
    if single is not None and several is not None:
        raise _Unusable("set either token or any_of, not both")
    if single is not None:
        if not isinstance(single, str) or not single.strip():
            raise _Unusable("token cannot be empty")
        return (single,)
    if several is None:
        raise _Unusable("set either token or any_of")
    if not isinstance(several, list) or not several:
        raise _Unusable("any_of cannot be empty")
    if not all(isinstance(word, str) and word.strip() for word in several):
        raise _Unusable("any_of cannot include empty tokens")
    return tuple(several)


def _decision(decision: object, where: str) -> str:
    if decision is None:
        raise _Unusable(f"{where} is missing a decision")
    if decision == "allow":
        raise _Unusable(f"{where} has decision 'allow', which requirements cannot give: use 'prompt' or 'forbidden'")
    if decision not in DECISIONS:
        raise _Unusable(f"{where} has an unknown decision {decision!r:.60}: use 'prompt' or 'forbidden'")
    return str(decision)


def _justification(text: object, where: str) -> str | None:
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise _Unusable(f"{where} has an empty justification")
    return text
