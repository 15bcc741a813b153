"""Commands whose words and flags may stand in any order, with subcommands behind them.

Owns which flags exclude each other and the usage line that an error shows, which names what was already given, as
users of the reference know it. Knows no command. Takes argv and a Grammar, gives the flags, the words and the rest.
"""

from pycodex.supervisor.cli.options import BadUsage, Flag, Reader, Scanned, bad_usage, is_text, not_text, similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Grammar:
    """`words` names the positional arguments. Members of one tuple of `exclusive` exclude each other.

    `commands` are the subcommands with their flags. `needs` says of a flag which other it is useless without.
    """

    def __init__(self, program: str, flags: "tuple[Flag, ...]", words: "tuple[str, ...]") -> None:
        self.program = program
        self.flags = flags
        self.words = words
        self.commands: "Mapping[str, tuple[Flag, ...]]" = {}
        self.exclusive: "tuple[tuple[str, ...], ...]" = ()
        self.needs: "Mapping[str, str]" = {}

    @property
    def usage(self) -> str:
        words = [f"[{name}]" for name in self.words]
        return " ".join([self.program, "[OPTIONS]", *words, *(["[COMMAND]"] if self.commands else [])])

    def usage_of(self, given: "Sequence[str]") -> str:
        """With these flags and words, in this order; words come last."""
        shown = {flag.key: flag.shown for flag in self.flags}
        flags = [shown.get(key, key) for key in given if key not in self.words]
        words = [f"<{name}>" if name in given else f"[{name}]" for name in self.words]
        return " ".join([self.program, *flags, *words])

    def shown(self, key: str) -> str:
        return next((flag.shown for flag in self.flags if flag.key == key), f"[{key}]")


class Parsed:
    """`command` is the subcommand that was met, `rest` what stands behind it."""

    def __init__(self, flags: Scanned, words: "list[str]", command: "str | None", rest: "list[str]") -> None:
        self.flags = flags
        self.words = words
        self.command = command
        self.rest = rest


def parse(argv: "Sequence[str]", grammar: Grammar) -> Parsed:
    """Read everything up to a subcommand. A request for help or the version ends the reading, whatever follows."""
    reader = _CommandReader(argv, grammar)
    scanned = reader.read()
    if scanned.asks:
        return Parsed(scanned, reader.words, None, [])
    if reader.command is None:
        for word in scanned.rest:
            reader.take(word)
        scanned.rest = []
    _check_exclusive(grammar, reader.given)
    _check_needs(grammar, reader.given)
    return Parsed(scanned, reader.words, reader.command, scanned.rest)


class _CommandReader(Reader):
    def __init__(self, argv: "Sequence[str]", grammar: Grammar) -> None:
        super().__init__(argv, grammar.flags, usage=grammar.usage, takes_words=bool(grammar.words))
        self.grammar = grammar
        self.words: list[str] = []
        self.command: str | None = None
        self.given: list[str] = []
        """Keys of flags and names of words, in the order in which they were first met."""

    def _word(self, word: str) -> bool:
        if word in self.grammar.commands:
            self.at += 1
            self.command = word
            return False
        self.at += 1
        self._settle()
        self.take(word)
        return True

    def take(self, word: str) -> None:
        if len(self.words) == len(self.grammar.words):
            raise bad_usage(f"unexpected argument '{word}' found", usage=self.usage)
        if not is_text(word):
            raise not_text(self.usage)
        self._note(self.grammar.words[len(self.words)])
        self.words.append(word)

    def _note(self, key: str) -> None:
        if key not in self.given:
            self.given.append(key)

    def _wait(self, flag: Flag, values: list[str]) -> None:
        super()._wait(flag, values)
        self._note(flag.key)

    def _switch(self, flag: Flag) -> None:
        super()._switch(flag)
        self._note(flag.key)

    def _unexpected(self, name: str) -> BadUsage:
        message = f"unexpected argument '{name}' found"
        meant = self._suggested(name)
        if meant is not None:
            given = [*self.given, *([] if meant[1].key in self.given else [meant[1].key])]
            tip = f"a similar argument exists: '{meant[0]}'"
            return bad_usage(message, tips=[tip], usage=self.grammar.usage_of(given))
        usage = self.grammar.usage_of(self.given) if self.given and name.startswith("--") else self.usage
        elsewhere = self._flag_of_a_command_ahead(name)
        tip = f"'{elsewhere}' exists" if elsewhere else f"to pass '{name}' as a value, use '-- {name}'"
        return bad_usage(message, tips=[tip], usage=usage)

    def _flag_of_a_command_ahead(self, name: str) -> str | None:
        """Where a flag stands before the subcommand that it belongs to."""
        for command, flags in self.grammar.commands.items():
            longs = [long[2:] for flag in flags if not flag.hidden for long in flag.names if long.startswith("--")]
            meant = similar(name[2:], longs) if name.startswith("--") and command in self.argv[self.at :] else None
            if meant:
                return f"{command} --{meant}"
        return None

    def _unexpected_value(self, flag: Flag, value: str) -> BadUsage:
        message = f"unexpected value '{value}' for '{flag.key}' found; no more were expected"
        return bad_usage(message, usage=self.grammar.usage_of([flag.key]))


def _check_exclusive(grammar: Grammar, given: "Sequence[str]") -> None:
    for key in given:
        others = list(_excluded_by(grammar, key, given))
        if others:
            rest = [other for other in given if other not in others]
            shown = [grammar.shown(other) for other in others]
            told = f" '{shown[0]}'" if len(shown) == 1 else ":" + "".join(f"\n  {each}" for each in shown)
            message = f"the argument '{grammar.shown(key)}' cannot be used with{told}"
            raise bad_usage(message, usage=grammar.usage_of(rest))


def _excluded_by(grammar: Grammar, key: str, given: "Sequence[str]") -> "Iterator[str]":
    for group in grammar.exclusive:
        if key in group:
            yield from (other for other in given if other in group and other != key)


def _check_needs(grammar: Grammar, given: "Sequence[str]") -> None:
    """Something that excludes what is needed also takes its place."""
    for key, needed in grammar.needs.items():
        if key in given and needed not in given and not list(_excluded_by(grammar, needed, given)):
            message = f"the following required arguments were not provided:\n  {grammar.shown(needed)}"
            raise bad_usage(message, usage=grammar.usage_of([needed, *given]))
