"""The environment of commands: `[shell_environment_policy]`.

Owns the policy and how it is applied. Pure: a policy and an environment in, an environment out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ALL = "all"
CORE = "core"
NONE = "none"

_CORE_NAMES = frozenset("HOME LOGNAME PATH SHELL USER USERNAME TMPDIR TEMP TMP".split())
_SECRETS = ("*KEY*", "*SECRET*", "*TOKEN*")

OUR_KEY = "CODEX_API_KEY"
"""Given to this program alone, so no command inherits it, whatever the policy. `set` can still name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellEnvironmentPolicy:
    """Patterns are wildcards (`*`, `?`) that do not mind case."""

    inherit: str = ALL
    ignore_default_excludes: bool = True
    """Whether names that look like secrets are passed on."""
    exclude: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    include_only: tuple[str, ...] = ()
    """Unless empty: nothing else is kept, not even of `set`."""
    use_profile: bool = False


def policy_from(table: Mapping[str, Any]) -> ShellEnvironmentPolicy:
    return ShellEnvironmentPolicy(
        inherit=table.get("inherit", ALL),
        ignore_default_excludes=table.get("ignore_default_excludes", True),
        exclude=tuple(table.get("exclude", ())),
        set=dict(table.get("set", {})),
        include_only=tuple(table.get("include_only", ())),
        use_profile=table.get("experimental_use_profile", False),
    )


def command_environment(
    policy: ShellEnvironmentPolicy, env: Mapping[str, str], thread_id: str | None
) -> dict[str, str]:
    """What a command gets to see of `env`."""
    kept = {name: value for name, value in env.items() if name != OUR_KEY and _is_inherited(policy.inherit, name)}
    if not policy.ignore_default_excludes:
        kept = _without(kept, _SECRETS)
    kept = {**_without(kept, policy.exclude), **policy.set}
    if policy.include_only:
        wanted = [pattern.upper() for pattern in policy.include_only]
        kept = {name: value for name, value in kept.items() if any(_matches(p, name.upper()) for p in wanted)}
    if thread_id is not None:
        kept["CODEX_THREAD_ID"] = thread_id
    return kept


def _is_inherited(inherit: str, name: str) -> bool:
    return inherit == ALL or (inherit == CORE and name in _CORE_NAMES)


def _without(env: Mapping[str, str], patterns: tuple[str, ...]) -> dict[str, str]:
    unwanted = [pattern.upper() for pattern in patterns]
    return {name: value for name, value in env.items() if not any(_matches(p, name.upper()) for p in unwanted)}


def _matches(pattern: str, name: str) -> bool:
    """Wildcards with one step back to the last `*`: no pattern takes longer than its length times that of the name."""
    at = place = 0
    star = resume = -1
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif star >= 0:
            at, resume = star + 1, resume + 1
            place = resume
        else:
            return False
    return all(rest == "*" for rest in pattern[at:])
