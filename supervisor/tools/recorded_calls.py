"""What a recorded call asked to be run: the same reading of its arguments that its tool gave them.

Owns which tools run commands. Takes the item as it was recorded and the surroundings of its turn, gives the command and
its terms, or nothing for a call that ran none: other tools, patches, arguments that nobody can read. Runs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import LOCAL_SHELL_CALL
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.tools import shell_parameters, shells
from pycodex.supervisor.tools.arguments import parse
from pycodex.supervisor.tools.handlers import exec_command, local_shell, shell, shell_command
from pycodex.supervisor.tools.interception import patch_in

_ARGV_TOOLS = (shell.NAME, shell.ALIAS, local_shell.NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommand:
    argv: tuple[str, ...]
    asked: str = escalation.USE_DEFAULT
    """Its `sandbox_permissions`."""
    prefix_rule: tuple[str, ...] = ()
    verb: str = "should not"
    """What the tool says one must not do, where one may not ask for more."""


@dataclass(frozen=True, slots=True)
class Reader:
    """`users` is the shell of the user, `login_allowed` whether it may log in."""

    users: Shell
    env: Mapping[str, str]
    login_allowed: bool

    def command_of(self, item: dict[str, Any]) -> RecordedCommand | None:
        """None if the call ran no command."""
        try:
            command = self._read(item)
            return command if command is not None and command.argv and patch_in(command.argv) is None else None
        except ModelFacing:
            return None

    def _read(self, item: dict[str, Any]) -> RecordedCommand | None:
        if item.get("type") == LOCAL_SHELL_CALL:
            action = item.get("action")
            return RecordedCommand(argv=local_shell.wish_of(action).argv) if isinstance(action, dict) else None
        name, arguments = item.get("name"), item.get("arguments")
        if not isinstance(arguments, str):
            return None
        if name == exec_command.NAME:
            given = parse(arguments, exec_command.SHAPE)
            chosen = shells.chosen(given["shell"], users=self.users, env=self.env)
            return self._in_shell(chosen, given["cmd"], given, verb="cannot")
        if name == shell_command.NAME:
            given = shell_parameters.read(arguments, shell_command.SHAPE)
            return self._in_shell(self.users, given["command"], given, verb="should not")
        if name in _ARGV_TOOLS:
            given = shell_parameters.read(arguments, shell.SHAPE)
            return _on_terms(tuple(given["command"]), given, verb="should not")
        return None

    def _in_shell(self, chosen: Shell, script: str, given: dict[str, Any], *, verb: str) -> RecordedCommand:
        login = shells.wants_login(given["login"], allowed=self.login_allowed)
        return _on_terms(shells.argv_for(chosen, script, login=login), given, verb=verb)


def _on_terms(argv: tuple[str, ...], given: dict[str, Any], *, verb: str) -> RecordedCommand:
    return RecordedCommand(
        argv=argv, asked=given["sandbox_permissions"], prefix_rule=tuple(given["prefix_rule"] or ()), verb=verb
    )
