"""Reading command lines by hand, with errors in the shape users of the reference know.

Owns the splitting of flags from words; knows no command. It exists instead of `argparse` because `sandbox` and
`--version` must start in a few milliseconds. Takes argv and a list of flags, gives the values and the rest.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HELP = ("-h", "--help")


class BadUsage(Exception):
    """A command line that cannot be understood. The text is complete; the exit code is 2."""


class Flag:
    """One option. `value` names its argument (none: a switch); `many` may be given more than once."""

    def __init__(self, *names: str, value: str = "", many: bool = False) -> None:
        self.names = names
        self.value = value
        self.many = many

    @property
    def key(self) -> str:
        return self.names[-1]

    @property
    def shown(self) -> str:
        return f"{self.key} <{self.value}>" if self.value else self.key


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

    def has(self, key: str) -> bool:
        return any(name == key for name, _ in self.found)

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
    """The known word that was probably meant."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


class _Reader:
    def __init__(self, argv: "Sequence[str]", flags: "Iterable[Flag]", *, usage: str, takes_words: bool) -> None:
        self.argv = argv
        self.at = 0
        self.by_name = {name: flag for flag in flags for name in flag.names}
        self.usage = usage
        self.takes_words = takes_words
        self.scanned = Scanned()

    def read(self) -> Scanned:
        scanned = self.scanned
        while self.at < len(self.argv) and not scanned.wants_help:
            word = self.argv[self.at]
            if word == "--":
                scanned.after_dashes = True
                self.at += 1
                break
            if len(word) < 2 or word[0] != "-":
                break
            self.at += 1
            if word in HELP:
                scanned.wants_help = True
            elif word[1] == "-":
                self._long(word)
            else:
                self._short(word)
        scanned.rest = list(self.argv[self.at :])
        return scanned

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        flag = self.by_name.get(name)
        if flag is None:
            raise self._unexpected(name)
        if flag.value:
            self._store(flag, value if equals else self._next_value(flag))
        elif equals:
            raise bad_usage(f"unexpected value '{value}' for '{name}' found; no more were expected", usage=self.usage)
        else:
            self._store(flag, "")

    def _short(self, word: str) -> None:
        at = 1
        while at < len(word):
            name = "-" + word[at]
            at += 1
            if name in HELP:
                self.scanned.wants_help = True
                return
            flag = self.by_name.get(name)
            if flag is None:
                raise self._unexpected(name)
            if flag.value:
                glued = word[at:].removeprefix("=")
                self._store(flag, glued if word[at:] else self._next_value(flag))
                return
            self._store(flag, "")

    def _next_value(self, flag: Flag) -> str:
        if self.at >= len(self.argv) or (len(self.argv[self.at]) > 1 and self.argv[self.at][0] == "-"):
            raise bad_usage(f"a value is required for '{flag.shown}' but none was supplied")
        self.at += 1
        return self.argv[self.at - 1]

    def _store(self, flag: Flag, value: str) -> None:
        if not flag.many and self.scanned.has(flag.key):
            raise bad_usage(f"the argument '{flag.shown}' cannot be used multiple times", usage=self.usage)
        self.scanned.found.append((flag.key, value))

    def _unexpected(self, name: str) -> BadUsage:
        tips = []
        meant = similar(name, self.by_name)
        if meant:
            tips.append(f"a similar argument exists: '{meant}'")
        if self.takes_words:
            tips.append(f"to pass '{name}' as a value, use '-- {name}'")
        return bad_usage(f"unexpected argument '{name}' found", tips=tips, usage=self.usage)


def scan(argv: "Sequence[str]", flags: "Iterable[Flag]", *, usage: str, takes_words: bool = True) -> Scanned:
    """Read flags up to the first word, `--` or a request for help; everything after that is left as it is."""
    return _Reader(argv, flags, usage=usage, takes_words=takes_words).read()


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
