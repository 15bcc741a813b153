"""What the functions of the rule language take, and what is wrong with what they are given.

Owns their parameters and every text about a bad argument, word for word those of the reference, in the order in which
it looks. Knows no Starlark: takes plain values, gives rules and examples, or raises `Refused`. Tuples arrive here as
lists, so they are taken for such.
"""

import os

from pycodex.protocol.record import Record
from pycodex.supervisor.policy.rules import DECISIONS, FORBIDDEN, HostExecutable, NetworkRule, PrefixRule, plain_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Name, type, whether it must be given.
_PARAMETERS: "Mapping[str, tuple[tuple[str, type, bool], ...]]" = {
    "prefix_rule": (
        ("pattern", list, True),
        ("decision", str, False),
        ("match", list, False),
        ("not_match", list, False),
        ("justification", str, False),
    ),
    "network_rule": (
        ("host", str, True),
        ("protocol", str, True),
        ("decision", str, True),
        ("justification", str, False),
    ),
    "host_executable": (("name", str, True), ("paths", list, True)),
}
_PROTOCOLS = {
    "http": "http",
    "https": "https",
    "https_connect": "https",
    "http-connect": "https",
    "socks5_tcp": "socks5_tcp",
    "socks5_udp": "socks5_udp",
}
# What Unicode calls white space. Python adds four control characters to it.
_BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LONGEST_SHOWN = 60
_SHOWN_START, _SHOWN_END = 34, 17
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class Refused(Exception):
    """An argument that a function of the language does not take. The text is for whoever wrote the rules."""


class Claim(Record):
    """One call of `prefix_rule`: its rules, and the commands that they are said to match or not."""

    rules: "tuple[PrefixRule, ...]"
    match: "tuple[tuple[str, ...], ...]" = ()
    not_match: "tuple[tuple[str, ...], ...]" = ()


def prefix_rule(args: "Sequence[Any]", kwargs: "Mapping[str, Any]") -> Claim:
    given = _bound("prefix_rule", args, kwargs)
    decision = _decision(given.get("decision", DECISIONS[0]))
    justification = _justification(given)
    programs, *rest = _pattern(given["pattern"])
    match, not_match = (tuple(map(_example, given.get(key, ()))) for key in ("match", "not_match"))
    rules = [
        PrefixRule(program=program, rest=tuple(rest), decision=decision, justification=justification)
        for program in programs
    ]
    return Claim(rules=tuple(rules), match=match, not_match=not_match)


def network_rule(args: "Sequence[Any]", kwargs: "Mapping[str, Any]") -> NetworkRule:
    given = _bound("network_rule", args, kwargs)
    protocol = _PROTOCOLS.get(given["protocol"])
    if protocol is None:
        known = "http, https, socks5_tcp, socks5_udp"
        raise Refused(f"invalid rule: network_rule protocol must be one of {known} (got {given['protocol']})")
    decision = FORBIDDEN if given["decision"] == "deny" else _decision(given["decision"])
    justification = _justification(given)
    return NetworkRule(host=_host(given["host"]), protocol=protocol, decision=decision, justification=justification)


def host_executable(args: "Sequence[Any]", kwargs: "Mapping[str, Any]") -> HostExecutable:
    given = _bound("host_executable", args, kwargs)
    name = given["name"]
    if not name:
        raise Refused("invalid rule: host_executable name cannot be empty")
    if "/" in name or name in (".", ".."):
        raise Refused(f"invalid rule: host_executable name must be a bare executable name (got {name})")
    paths = dict.fromkeys(_executable(path, name) for path in given["paths"])
    return HostExecutable(name=name, paths=tuple(paths))


def _bound(function: str, args: "Sequence[Any]", kwargs: "Mapping[str, Any]") -> "dict[str, Any]":
    """The arguments by their names, all of the right type."""
    parameters = _PARAMETERS[function]
    names = [name for name, _, _ in parameters]
    given = dict(zip(names, args, strict=False))
    for name in kwargs:
        if name in given:
            raise Refused(f"Argument `{name}` occurs more than once")
    given |= kwargs
    for name, _, is_needed in parameters:
        if is_needed and name not in given:
            raise Refused(f"Missing parameter `{name}` for call to `{function}`")
    if len(args) > len(names):
        raise Refused(f"Found {len(args) - len(names)} extra positional argument(s) for call to {function}")
    unknown = [f"`{name}`" for name in kwargs if name not in names]
    if unknown:
        raise Refused(f"Found {' '.join(unknown)} extra named parameter(s) for call to {function}")
    for name, kind, _ in parameters:
        if name in given and type(given[name]) is not kind:
            actual = f"{_kind(given[name])} (repr: {_shortened(_shown(given[name]))})"
            expected = kind.__name__
            raise Refused(f"Type of parameter `{name}` doesn't match, expected `{expected}`, actual `{actual}`")
    return given


def _decision(given: str) -> str:
    if given not in DECISIONS:
        raise Refused(f"invalid decision: {given}")
    return given


def _justification(given: "Mapping[str, Any]") -> "str | None":
    text: str | None = given.get("justification")
    if text is not None and not text.strip(_BLANKS):
        raise Refused("invalid rule: justification cannot be empty")
    return text


def _pattern(given: "Sequence[Any]") -> "list[tuple[str, ...]]":
    if not given:
        raise Refused("invalid pattern element: pattern cannot be empty")
    return [_alternatives(element) for element in given]


def _alternatives(element: "Any") -> "tuple[str, ...]":
    if isinstance(element, str):
        return (element,)
    if not isinstance(element, list):
        wanted = "pattern element must be a string or list of strings"
        raise Refused(f"invalid pattern element: {wanted} (got {_kind(element)})")
    if not element:
        raise Refused("invalid pattern element: pattern alternatives cannot be empty")
    for word in element:
        if not isinstance(word, str):
            raise Refused(f"invalid pattern element: pattern alternative must be a string (got {_kind(word)})")
    return tuple(element)


def _example(given: "Any") -> "tuple[str, ...]":
    if isinstance(given, str):
        return _example_line(given)
    if not isinstance(given, list):
        raise Refused(f"invalid example: example must be a string or list of strings (got {_kind(given)})")
    if not given:
        raise Refused("invalid example: example cannot be an empty list")
    for word in given:
        if not isinstance(word, str):
            raise Refused(f"invalid example: example tokens must be strings (got {_kind(word)})")
    return tuple(given)


def _example_line(line: str) -> "tuple[str, ...]":
    from pycodex.supervisor.text.words import split_words

    words = split_words(line)
    if words is None:
        raise Refused("invalid example: example string has invalid shell syntax")
    if not words:
        raise Refused("invalid example: example cannot be an empty string")
    return tuple(words)


def _executable(path: "Any", name: str) -> str:
    if not isinstance(path, str):
        raise Refused(f"invalid rule: host_executable paths must be strings (got {_kind(path)})")
    if not path.startswith("/"):
        raise Refused(f"invalid rule: host_executable paths must be absolute (got {path})")
    plain = plain_path(path)
    if os.path.basename(plain) != name:
        raise Refused(f"invalid rule: host_executable path `{path}` must have basename `{name}`")
    return plain


def _host(raw: str) -> str:
    """A name or an address alone: no port, no brackets, no dots at its end, in lower case."""
    host = raw.strip(_BLANKS)
    if not host:
        raise Refused("invalid rule: network_rule host cannot be empty")
    if any(mark in host for mark in "/?#"):
        wanted = "a hostname or IP literal (without scheme or path)"
        raise Refused(f"invalid rule: network_rule host must be {wanted}")
    if host.startswith("["):
        host = _unwrapped(host, raw)
    elif host.count(":") == 1:
        name, _, port = host.partition(":")
        host = name if name and _is_port(port) else host
    host = _lower(host.rstrip(".").strip(_BLANKS))
    if not host:
        raise Refused("invalid rule: network_rule host cannot be empty")
    if "*" in host:
        raise Refused("invalid rule: network_rule host must be a specific host; wildcards are not allowed")
    if any(character in _BLANKS for character in host):
        raise Refused("invalid rule: network_rule host cannot contain whitespace")
    return host


def _unwrapped(host: str, raw: str) -> str:
    inside, bracket, behind = host[1:].partition("]")
    if not bracket:
        raise Refused("invalid rule: network_rule host has an invalid bracketed IPv6 literal")
    if behind and not (behind[0] == ":" and _is_port(behind[1:])):
        raise Refused(f"invalid rule: network_rule host contains an unsupported suffix: {raw}")
    return inside


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _lower(text: str) -> str:
    """Only of ASCII: what else has a case, names other hosts in lower case."""
    return "".join(character.lower() if character.isascii() else character for character in text)


def _kind(value: "Any") -> str:
    """The type by its name in Starlark."""
    return "string" if isinstance(value, str) else type(value).__name__


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_SHOWN_START]}<<...>>{text[-_SHOWN_END:]}"


def _shown(value: "Any") -> str:
    """As Starlark's `repr` shows it."""
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_shown(key)}: {_shown(item)}' for key, item in value.items())}}}"
    return repr(value)


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    code = ord(character)
    if 0x20 <= code < 0x7F or (code > 0xFF and character.isalnum()):
        return character
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
