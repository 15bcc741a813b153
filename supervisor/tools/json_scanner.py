"""Reads JSON and knows at every moment where it stands, so that a mistake can be told with its line and column.

Owns the syntax, and where an error is located: models were trained on the texts and positions of serde_json, which
reports how far it has read, or one byte further where it has only looked. `arguments` says what is expected where.
Columns count bytes. Takes text, gives values, or raises Malformed. Does no I/O.
"""

import re

from pycodex.supervisor.text.quoting import quoted

MAX_DEPTH = 128

QUOTE = ord('"')
OPEN_LIST = ord("[")
CLOSE_LIST = ord("]")
OPEN_MAP = ord("{")
CLOSE_MAP = ord("}")
COMMA = ord(",")
COLON = ord(":")
NULL = ord("n")
END = -1
_MINUS = ord("-")
_DIGITS = frozenset(b"0123456789")
_WORDS = {NULL: (b"null", None), ord("t"): (b"true", True), ord("f"): (b"false", False)}

_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGIT_RUN = re.compile(rb"[0-9]*")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_ESCAPES = dict(zip(b'"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


class Malformed(ValueError):
    """What is wrong, and where."""


class Scanner:
    def __init__(self, text: str) -> None:
        self._data = text.encode("utf-8", "replace")
        self._at = 0
        self._depth = 0

    # Errors

    def error(self, text: str) -> Malformed:
        """At what was read last."""
        return self._located(text, self._at)

    def error_ahead(self, text: str) -> Malformed:
        """At what comes next and was only looked at."""
        return self._located(text, min(len(self._data), self._at + 1))

    def _located(self, text: str, end: int) -> Malformed:
        line_start = self._data.rfind(b"\n", 0, end) + 1
        line = 1 + self._data.count(b"\n", 0, line_start)
        return Malformed(f"{text} at line {line} column {end - line_start}")

    def wrong_type(self, expected: str) -> Malformed:
        """The value that comes next is not of the expected kind: read it as far as its name needs, and name it."""
        ahead = self.peek()
        if ahead == OPEN_LIST:
            found = "sequence"
        elif ahead == OPEN_MAP:
            found = "map"
        else:
            found = described(self.scalar())
        return self.error(f"invalid type: {found}, expected {expected}")

    # Steps

    def peek(self) -> int:
        """The next byte that is no white space, or END."""
        match = _SPACE.match(self._data, self._at)
        if match is not None:
            self._at = match.end()
        return self._ahead()

    def _ahead(self) -> int:
        return self._data[self._at] if self._at < len(self._data) else END

    def peek_value(self) -> int:
        ahead = self.peek()
        if ahead == END:
            raise self.error_ahead("EOF while parsing a value")
        return ahead

    def skip(self) -> None:
        self._at += 1

    def finish(self) -> None:
        if self.peek() != END:
            raise self.error_ahead("trailing characters")

    # Lists and maps

    def open(self) -> None:
        self._depth += 1
        if self._depth == MAX_DEPTH:
            raise self.error_ahead("recursion limit exceeded")
        self.skip()

    def has_element(self, *, first: bool) -> bool:
        """Whether a list goes on. Afterwards the scanner stands at the element or at the end of the list."""
        ahead = self.peek()
        if ahead == CLOSE_LIST:
            return False
        if ahead == END:
            raise self.error_ahead("EOF while parsing a list")
        if first:
            return True
        if ahead != COMMA:
            raise self.error_ahead("expected `,` or `]`")
        self.skip()
        if self.peek_value() == CLOSE_LIST:
            raise self.error_ahead("trailing comma")
        return True

    def close_list(self) -> None:
        self._depth -= 1
        ahead = self.peek()
        if ahead == END:
            raise self.error_ahead("EOF while parsing a list")
        if ahead == COMMA:
            self.skip()
            trailing = self.peek() == CLOSE_LIST
            raise self.error_ahead("trailing comma" if trailing else "trailing characters")
        if ahead != CLOSE_LIST:
            raise self.error_ahead("trailing characters")
        self.skip()

    def key(self, *, first: bool) -> str | None:
        """The next key of a map; None at its end."""
        ahead = self.peek()
        if ahead == CLOSE_MAP:
            return None
        if ahead == END:
            raise self.error_ahead("EOF while parsing an object")
        if not first:
            if ahead != COMMA:
                raise self.error_ahead("expected `,` or `}`")
            self.skip()
            ahead = self.peek_value()
            if ahead == CLOSE_MAP:
                raise self.error_ahead("trailing comma")
        if ahead != QUOTE:
            raise self.error_ahead("key must be a string")
        return self.string()

    def colon(self) -> None:
        ahead = self.peek()
        if ahead == END:
            raise self.error_ahead("EOF while parsing an object")
        if ahead != COLON:
            raise self.error_ahead("expected `:`")
        self.skip()

    def close_map(self) -> None:
        self._depth -= 1
        ahead = self.peek()
        if ahead == END:
            raise self.error_ahead("EOF while parsing an object")
        if ahead != CLOSE_MAP:
            raise self.error_ahead("trailing comma" if ahead == COMMA else "trailing characters")
        self.skip()

    # Values

    def value(self) -> object:
        """Whatever comes next."""
        ahead = self.peek_value()
        if ahead == OPEN_LIST:
            self.open()
            found: list[object] = []
            while self.has_element(first=not found):
                found.append(self.value())
            self.close_list()
            return found
        if ahead == OPEN_MAP:
            self.open()
            named: dict[str, object] = {}
            first = True
            while (key := self.key(first=first)) is not None:
                first = False
                self.colon()
                named[key] = self.value()
            self.close_map()
            return named
        return self.scalar()

    def ignore(self) -> None:
        """Pass over a value that nobody asked for: only its syntax counts, to any depth."""
        enclosing: list[int] = []
        while True:
            ahead = self.peek_value()
            closed = ahead not in (OPEN_LIST, OPEN_MAP)
            if closed:
                self.scalar(strict=False)
            else:
                self.skip()
                enclosing.append(ahead)
            if not self._next_ignored(enclosing, closed=closed):
                return

    def _next_ignored(self, enclosing: list[int], *, closed: bool) -> bool:
        """To the next value inside what is passed over; False when all of it is closed."""
        while enclosing:
            frame = enclosing[-1]
            what, end = ("a list", CLOSE_LIST) if frame == OPEN_LIST else ("an object", CLOSE_MAP)
            ahead = self.peek()
            if ahead == END:
                raise self.error_ahead(f"EOF while parsing {what}")
            if ahead == end:
                self.skip()
                enclosing.pop()
                closed = True
                continue
            if closed:
                if ahead != COMMA:
                    raise self.error_ahead(f"expected `,` or `{chr(end)}`")
                self.skip()
            if frame == OPEN_MAP:
                self._ignore_key()
            return True
        return False

    def _ignore_key(self) -> None:
        ahead = self.peek()
        if ahead != QUOTE:
            raise self.error_ahead("EOF while parsing an object" if ahead == END else "key must be a string")
        self.string(strict=False)
        self.colon()

    def scalar(self, *, strict: bool = True) -> object:
        """What is neither list nor map. `strict`: its value counts, not only its syntax."""
        ahead = self.peek_value()
        if ahead == QUOTE:
            return self.string(strict=strict)
        if ahead == _MINUS or ahead in _DIGITS:
            return self.number(strict=strict)
        if ahead in _WORDS:
            return self._word(*_WORDS[ahead])
        raise self.error_ahead("expected value")

    def _word(self, word: bytes, value: bool | None) -> bool | None:
        for expected in word:
            if self._ahead() == END:
                raise self.error("EOF while parsing a value")
            self.skip()
            if self._data[self._at - 1] != expected:
                raise self.error("expected ident")
        return value

    def string(self, *, strict: bool = True) -> str:
        self.skip()
        pieces: list[str] = []
        while True:
            match = _PLAIN.match(self._data, self._at)
            assert match is not None
            pieces.append(match[0].decode("utf-8"))
            self._at = match.end()
            ahead = self._ahead()
            if ahead == END:
                raise self.error("EOF while parsing a string")
            self.skip()
            if ahead == QUOTE:
                return "".join(pieces)
            if ahead != ord("\\"):
                raise self.error("control character (\\u0000-\\u001F) found while parsing a string")
            pieces.append(self._escape(strict=strict))

    def _escape(self, *, strict: bool) -> str:
        ahead = self._ahead()
        if ahead == END:
            raise self.error("EOF while parsing a string")
        self.skip()
        if ahead in _ESCAPES:
            return _ESCAPES[ahead]
        if ahead != ord("u"):
            raise self.error("invalid escape")
        code = self._hex()
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        if not strict:
            return ""
        if code >= 0xDC00:
            raise self.error("lone leading surrogate in hex escape")
        for expected in b"\\u":
            if self._ahead() == END:
                raise self.error("EOF while parsing a string")
            self.skip()
            if self._data[self._at - 1] != expected:
                raise self.error("unexpected end of hex escape")
        low = self._hex()
        if not 0xDC00 <= low <= 0xDFFF:
            raise self.error("lone leading surrogate in hex escape")
        return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))

    def _hex(self) -> int:
        match = _HEX.match(self._data, self._at)
        end = self._at + 4
        if end > len(self._data):
            self._at = len(self._data)
            raise self.error("EOF while parsing a string")
        self._at = end
        if match is None:
            raise self.error("invalid escape")
        return int(match[0], 16)

    def number(self, *, strict: bool = True) -> int | float:
        start = self._at
        if self._ahead() == _MINUS:
            self.skip()
        self._whole_digits()
        whole_end = self._at
        if self._ahead() == ord("."):
            self.skip()
            if not self._digits():
                ended = self._ahead() == END
                raise self.error_ahead("EOF while parsing a value" if ended else "invalid number")
        if self._ahead() in (ord("e"), ord("E")):
            self._exponent()
        text = self._data[start : self._at]
        if not strict:
            return 0
        if self._at == whole_end:
            whole = int(text) if len(text) <= 20 else 1 << 64
            if -(1 << 63) <= whole < 1 << 64 and text != b"-0":
                return whole
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise self.error("number out of range")
        return value

    def _whole_digits(self) -> None:
        first = self._ahead()
        if first == END:
            raise self.error("EOF while parsing a value")
        self.skip()
        if first not in _DIGITS:
            raise self.error("invalid number")
        if first == ord("0"):
            if self._ahead() in _DIGITS:
                raise self.error_ahead("invalid number")
        else:
            self._digits()

    def _exponent(self) -> None:
        self.skip()
        if self._ahead() in (ord("+"), ord("-")):
            self.skip()
        if self._ahead() == END:
            raise self.error("EOF while parsing a value")
        if not self._digits():
            self.skip()
            raise self.error("invalid number")

    def _digits(self) -> bool:
        """Whether there were any."""
        match = _DIGIT_RUN.match(self._data, self._at)
        assert match is not None
        self._at = match.end()
        return match.end() > match.start()


def described(value: object) -> str:
    """A scalar as an error names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{_shown_float(value)}`"
    return f"string {quoted(str(value))}"


def _shown_float(value: float) -> str:
    """The shortest form; with an exponent from 1e16 on and below 1e-5."""
    text = repr(value)
    digits, _, exponent = text.partition("e")
    if not exponent:
        return text
    power = int(exponent)
    if power == -5:
        sign = "-" if value < 0 else ""
        return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"
    return f"{digits}e{power:+d}"
