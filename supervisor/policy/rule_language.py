"""The rule language: Starlark with three functions of its own, `prefix_rule`, `network_rule` and `host_executable`.

Owns the evaluation and how its errors read and where they are. Texts are bounded in size, time and depth of calls, but
not in memory or nesting, which Starlark itself does not bound: `rule_process` runs this where that does no harm. Takes
texts, gives `Rules`; opens no file. Starlark is loaded with the first text.
"""

import time

from pycodex.protocol.record import Record
from pycodex.supervisor.policy import rule_arguments
from pycodex.supervisor.policy.rule_arguments import Claim, Refused
from pycodex.supervisor.policy.rule_examples import broken_claim
from pycodex.supervisor.policy.rules import HostExecutable, NetworkRule, Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from starlark import Dialect

    # One call of `prefix_rule`: of which text, and the how manieth in it, both counted from zero.
    RuleCall = tuple[int, int]
    # The line and the column of something in a text, both counted from one.
    Place = tuple[int | None, int | None]

MOST_BYTES = 1 << 20
MOST_SECONDS = 2.0
MOST_CALLS_DEEP = 50
# What a function of ours raises, and what is raised when its arguments cannot be turned into values of ours.
_CLASSES = (Refused.__name__, "StarlarkError", "TypeError")


class Source(Record):
    """One text of rules, and the path by which errors name it."""

    path: "str"
    text: "str"


class RuleError(Exception):
    """Rules that cannot be used. The text is that of the reference; lines and columns count from one."""

    def __init__(self, text: str, *, path: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.path = path
        self.line = line
        self.column = column

    @property
    def summary(self) -> str:
        """The one line that says what is wrong."""
        lines = str(self).split("\n")
        return next((line for line in lines if line.startswith("error: ")), lines[0])


class Evaluation:
    """Takes text after text; what one says about hosts holds for the examples of the later ones, too."""

    def __init__(self, *, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._claims: list[Claim] = []
        self._calls: "list[RuleCall]" = []
        self._texts = 0
        self._network: list[NetworkRule] = []
        self._hosts: dict[str, HostExecutable] = {}

    @property
    def rules(self) -> Rules:
        return Rules(
            prefix_rules=tuple(rule for claim in self._claims for rule in claim.rules),
            network_rules=tuple(self._network),
            host_executables=tuple(self._hosts.values()),
        )

    @property
    def calls(self) -> "tuple[RuleCall, ...]":
        """For each of the prefix rules the call that made it."""
        made = zip(self._claims, self._calls, strict=True)
        return tuple(call for claim, call in made for _ in claim.rules)

    def add(self, source: Source) -> None:
        """Raises RuleError; nothing that was added counts then."""
        if len(source.text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
            raise RuleError(f"larger than {MOST_BYTES} bytes", path=source.path)
        known = len(self._claims)
        self._run(source)
        for number, claim in enumerate(self._claims[known:]):
            problem = broken_claim(claim, tuple(self._hosts.values()))
            if problem is not None:
                line, column = place_of_call(source, number, most_seconds=self._most_seconds)
                raise RuleError(problem, path=source.path, line=line, column=column)
            self._calls.append((self._texts, number))
        self._texts += 1

    def _run(self, source: Source) -> None:
        _evaluate(
            source,
            {
                "prefix_rule": lambda *args, **kwargs: self._claims.append(rule_arguments.prefix_rule(args, kwargs)),
                "network_rule": lambda *args, **kwargs: self._network.append(rule_arguments.network_rule(args, kwargs)),
                "host_executable": self._host_executable,
            },
            most_seconds=self._most_seconds,
        )

    def _host_executable(self, *args: object, **kwargs: object) -> None:
        host = rule_arguments.host_executable(args, kwargs)
        self._hosts[host.name] = host


def place_of_call(source: Source, number: int, *, most_seconds: float = MOST_SECONDS) -> "Place":
    """Of a call of `prefix_rule`. A function is not told where it is called from, but its error says so."""
    calls_left = [number]

    def prefix_rule(*_args: object, **_kwargs: object) -> None:
        if not calls_left[0]:
            raise Refused
        calls_left[0] -= 1

    functions = dict.fromkeys(("network_rule", "host_executable"), _nothing) | {"prefix_rule": prefix_rule}
    try:
        _evaluate(source, functions, most_seconds=most_seconds)
    except RuleError as error:
        return error.line, error.column
    return None, None


def _nothing(*_args: object, **_kwargs: object) -> None:
    pass


def _evaluate(source: Source, functions: "dict[str, Any]", *, most_seconds: float) -> None:
    import starlark

    is_late = False
    deadline = time.monotonic() + most_seconds

    def late() -> bool:
        nonlocal is_late
        is_late = time.monotonic() > deadline
        return is_late

    module = starlark.Module()
    for name, function in functions.items():
        module.add_callable(name, function)
    try:
        tree = starlark.parse(source.path, source.text, _dialect())
        options = starlark.EvalOptions(check_cancelled=late, max_callstack_size=MOST_CALLS_DEEP)
        starlark.eval_with(options, module, tree, starlark.Globals.standard())
    except starlark.StarlarkError as error:
        text = str(error)
        if is_late:
            text = text.replace("error: Evaluation cancelled", f"error: took longer than {most_seconds:g} seconds", 1)
        raise _told(text, source) from None
    except UnicodeEncodeError:
        raise RuleError("starlark error: not valid UTF-8", path=source.path) from None


def _dialect() -> "Dialect":
    import starlark

    dialect = starlark.Dialect.extended()
    dialect.enable_f_strings = True
    return dialect


def _told(text: str, source: Source) -> RuleError:
    """An error inside of a function comes with the name of its class; above that line there are only indented ones."""
    for name in _CLASSES:
        text = text.replace(f"\nerror: {name}: ", "\nerror: ", 1)
    line, column = _place(text, source.path)
    return RuleError(f"starlark error: {text}", path=source.path, line=line, column=column)


def _place(text: str, path: str) -> "Place":
    """What stands behind the arrow. Something that only looks like one may stand above it, in a message."""
    arrow = f"--> {path}:"
    for line in reversed(text.split("\n")):
        bare = line.lstrip(" ")
        number, _, column = bare.removeprefix(arrow).partition(":")
        if bare.startswith(arrow) and number.isdecimal() and column.isdecimal():
            return int(number), int(column)
    return None, None
