"""Reading command lines by hand, with errors in the shape users of the reference know.

Owns the splitting of flags from words; knows no command. It exists instead of `argparse` because `sandbox` and
`--version` must start in a few milliseconds. Takes argv and a list of flags, gives the values and the rest.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class BadUsage(Exception):
    """A command line that cannot be understood. The text is complete; the exit code is 2."""


class Flag:
    """One option. `value` names its argument (none: a switch); `many` may be given more than once.

    A greedy one takes all words up to the next flag. A hidden one works but is never suggested.
    """

    def __init__(
        self,
        *names: str,
        value: str = "",
        many: bool = False,
        choices: "tuple[str, ...]" = (),
        greedy: bool = False,
        hidden: bool = False,
    ) -> None:
        self.names = names
        self.value = value
        self.many = many or greedy
        self.choices = choices
        self.greedy = greedy
        self.hidden = hidden

    @property
    def key(self) -> str:
        return self.names[-1]

    @property
    def shown(self) -> str:
        dots = "..." if self.greedy else ""
        return f"{self.key} <{self.value}>{dots}" if self.value else self.key

    @property
    def is_path(self) -> bool:
        return self.value in ("FILE", "DIR", "PATH")


HELP = Flag("-h", "--help")
VERSION = Flag("-V", "--version")
CONFIG = Flag("-c", "--config", value="key=value", many=True)
ENABLE = Flag("--enable", value="FEATURE", many=True)
DISABLE = Flag("--disable", value="FEATURE", many=True)
GLOBAL_FLAGS = (CONFIG, ENABLE, DISABLE)


class Scanned:
    """The flags that were found, in order, and what stands after them."""

    def __init__(self) -> None:
        self.found: "list[tuple[str, str]]" = []
        self.rest: "list[str]" = []
        self.after_dashes = False
        self.wants_help = False
        self.wants_version = False

    @property
    def asks(self) -> bool:
        """For the help or the version, whatever else was given."""
        return self.wants_help or self.wants_version

    def has(self, key: str) -> bool:
        return any(name == key for name, _ in self.found)

    def all(self, key: str) -> "list[str]":
        return [value for name, value in self.found if name == key]

    def last(self, key: str) -> "str | None":
        for name, value in reversed(self.found):
            if name == key:
                return value
        return None


def bad_usage(message: str, *, tips: "Iterable[str]" = (), usage: str = "") -> BadUsage:
    lines = [f"error: {message}"]
    hints = [f"  tip: {tip}" for tip in tips]
    if hints:
        lines += ["", *hints]
    if usage:
        lines += ["", f"Usage: {usage}"]
    return BadUsage("\n".join([*lines, "", "For more information, try '--help'."]))


def similar(word: str, known: "Iterable[str]") -> "str | None":
    """The known word that was probably meant; of equally likely ones the last."""
    best, found = 0.7, None
    for candidate in known:
        likeness = _jaro(word, candidate)
        if likeness > 0.7 and likeness >= best:
            best, found = likeness, candidate
    return found


def _jaro(one: str, other: str) -> float:
    """Jaro's similarity: how many characters stand at about the same place, and how many of them in the same order."""
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    matched = []
    for at, character in enumerate(one):
        for there in range(max(at - reach, 0), min(at + reach + 1, len(other))):
            if not taken[there] and other[there] == character:
                taken[there] = True
                matched.append(character)
                break
    if not matched:
        return 0.0
    counterparts = [character for character, is_taken in zip(other, taken, strict=True) if is_taken]
    swaps = sum(a != b for a, b in zip(matched, counterparts, strict=True)) // 2
    count = len(matched)
    return (count / len(one) + count / len(other) + (count - swaps) / count) / 3


class Reader:
    """Reads one command line from left to right. What a word means is for `_word` to say."""

    def __init__(self, argv: "Sequence[str]", flags: "Iterable[Flag]", *, usage: str, takes_words: bool) -> None:
        self.argv = argv
        self.at = 0
        self.by_name = {name: flag for flag in (*flags, HELP) for name in flag.names}
        self.usage = usage
        self.takes_words = takes_words
        self.scanned = Scanned()
        self._waiting: "tuple[Flag, list[str]] | None" = None

    def read(self) -> Scanned:
        scanned = self.scanned
        while self.at < len(self.argv) and not scanned.asks:
            word = self.argv[self.at]
            if word == "--":
                scanned.after_dashes = True
                self.at += 1
                break
            if not _looks_like_a_flag(word):
                if self._word(word):
                    continue
                break
            self.at += 1
            if word[1] == "-":
                self._long(word)
            else:
                self._short(word)
        self._settle()
        scanned.rest = list(self.argv[self.at :])
        return scanned

    def _word(self, _word: str) -> bool:
        """Take the word that comes next, or end the reading before it."""
        return False

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        flag = self._flag(name)
        if flag.value:
            self._wait(flag, [value] if equals else self._next_values(flag))
        elif equals:
            raise self._unexpected_value(flag, value)
        else:
            self._switch(flag)

    def _short(self, word: str) -> None:
        at = 1
        while at < len(word) and not self.scanned.asks:
            flag = self._flag("-" + word[at])
            at += 1
            if flag.value:
                glued = word[at:].removeprefix("=")
                self._wait(flag, [glued] if word[at:] else self._next_values(flag))
                return
            self._switch(flag)

    def _flag(self, name: str) -> Flag:
        flag = self.by_name.get(name)
        if flag is None:
            raise self._unexpected(name)
        return flag

    def _next_values(self, flag: Flag) -> "list[str]":
        start = self.at
        while self.at < len(self.argv) and not _looks_like_a_flag(self.argv[self.at]):
            self.at += 1
            if not flag.greedy:
                break
        if self.at == start:
            self._refuse_unknown_flag_ahead()
            raise no_value(flag)
        return list(self.argv[start : self.at])

    def _refuse_unknown_flag_ahead(self) -> None:
        """A flag that nobody knows is the greater mistake than a value that is missing before it."""
        if self.at < len(self.argv) and self.argv[self.at] != "--":
            word = self.argv[self.at]
            name = word.partition("=")[0] if word[1] == "-" else word[:2]
            self._flag(name)

    def _switch(self, flag: Flag) -> None:
        self._settle()
        self.scanned.wants_help |= flag is HELP
        self.scanned.wants_version |= flag is VERSION
        self._store(flag, "")

    def _wait(self, flag: Flag, values: "list[str]") -> None:
        """Values are judged when the next argument is understood: one that is not is told first."""
        self._settle()
        self._waiting = (flag, values)

    def _settle(self) -> None:
        if self._waiting is None:
            return
        (flag, values), self._waiting = self._waiting, None
        for value in values:
            self._check(flag, value)
            self._store(flag, value)

    def _check(self, flag: Flag, value: str) -> None:
        if not value and (flag.choices or flag.is_path):
            raise no_value(flag)
        if flag.choices and value not in flag.choices:
            raise bad_choice(flag, value)
        if not flag.is_path and not is_text(value):
            raise not_text(self.usage)

    def _store(self, flag: Flag, value: str) -> None:
        if not flag.many and self.scanned.has(flag.key):
            raise bad_usage(f"the argument '{flag.shown}' cannot be used multiple times", usage=self.usage)
        self.scanned.found.append((flag.key, value))

    def _suggested(self, name: str) -> "tuple[str, Flag] | None":
        """The long name that was probably meant, and its flag."""
        if not name.startswith("--"):
            return None
        longs = {long: flag for long, flag in self.by_name.items() if not flag.hidden}
        meant = similar(name[2:], [long[2:] for long in longs if long.startswith("--")])
        return (f"--{meant}", longs[f"--{meant}"]) if meant else None

    def _unexpected(self, name: str) -> BadUsage:
        tips = []
        meant = self._suggested(name)
        if meant:
            tips.append(f"a similar argument exists: '{meant[0]}'")
        if self.takes_words:
            tips.append(f"to pass '{name}' as a value, use '-- {name}'")
        return bad_usage(f"unexpected argument '{name}' found", tips=tips, usage=self.usage)

    def _unexpected_value(self, flag: Flag, value: str) -> BadUsage:
        return bad_usage(f"unexpected value '{value}' for '{flag.key}' found; no more were expected", usage=self.usage)


def _looks_like_a_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def is_text(value: str) -> bool:
    """Whether the bytes that were given are UTF-8."""
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def not_text(usage: str) -> BadUsage:
    return bad_usage("invalid UTF-8 was detected in one or more arguments", usage=usage)


def no_value(flag: Flag) -> BadUsage:
    return bad_usage(f"a value is required for '{flag.shown}' but none was supplied{_possible(flag)}")


def bad_choice(flag: Flag, value: str) -> BadUsage:
    meant = similar(value, flag.choices)
    tips = [f"a similar value exists: '{meant}'"] if meant else []
    return bad_usage(f"invalid value '{value}' for '{flag.shown}'{_possible(flag)}", tips=tips)


def _possible(flag: Flag) -> str:
    return f"\n  [possible values: {', '.join(flag.choices)}]" if flag.choices else ""


def scan(argv: "Sequence[str]", flags: "Iterable[Flag]", *, usage: str, takes_words: bool = True) -> Scanned:
    """Read flags up to the first word, `--` or a request for help; everything after that is left as it is."""
    return Reader(argv, flags, usage=usage, takes_words=takes_words).read()


def scan_flags_only(argv: "Sequence[str]", flags: "Iterable[Flag]", *, usage: str) -> Scanned:
    """For commands that take no words at all."""
    scanned = scan(argv, flags, usage=usage, takes_words=False)
    if scanned.rest and not scanned.wants_help:
        raise bad_usage(f"unexpected argument '{scanned.rest[0]}' found", usage=usage)
    return scanned


def overrides_of(scanned: Scanned) -> "list[str]":
    """The `-c` values in order, then those of --enable and --disable."""
    found = [value for key, value in scanned.found if key == CONFIG.key]
    switches = [(key, value) for key, value in scanned.found if key in (ENABLE.key, DISABLE.key)]
    if switches:
        from pycodex.supervisor.config.features import checked_name

        for key, value in switches:
            found.append(f"features.{checked_name(value)}={'true' if key == ENABLE.key else 'false'}")
    return found
