"""What the functions of the rule language take, and the reference's words for what they do not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.rule_arguments import Claim, Refused, host_executable, network_rule, prefix_rule
from pycodex.supervisor.policy.rules import ALLOW, FORBIDDEN, PROMPT, HostExecutable, NetworkRule, PrefixRule

FUNCTIONS = {"prefix_rule": prefix_rule, "network_rule": network_rule, "host_executable": host_executable}


def refusal(function: str, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(Refused) as caught:
        FUNCTIONS[function](args, kwargs)
    return str(caught.value)


def test_rule_of_every_program_and_its_examples() -> None:
    claim = prefix_rule(
        ([["bash", "sh"], "-c", ["a", "b"]], "prompt"),
        {"match": ["sh -c 'a'", ["bash", "-c", "b c"]], "not_match": ["ls # x"], "justification": " why "},
    )
    rest = (("-c",), ("a", "b"))
    assert claim == Claim(
        rules=tuple(
            PrefixRule(program=program, rest=rest, decision=PROMPT, justification=" why ") for program in ("bash", "sh")
        ),
        match=(("sh", "-c", "a"), ("bash", "-c", "b c")),
        not_match=(("ls",),),
    )


def test_rule_allows_unless_it_says_otherwise() -> None:
    assert prefix_rule(([""],), {}).rules == (PrefixRule(program="", decision=ALLOW),)
    assert len(prefix_rule(([["a", "a"]],), {}).rules) == 2


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"decision": "deny"}, "invalid decision: deny"),
        ({"decision": "Allow"}, "invalid decision: Allow"),
        ({"decision": ""}, "invalid decision: "),
        ({"pattern": []}, "invalid pattern element: pattern cannot be empty"),
        ({"pattern": ["a", []]}, "invalid pattern element: pattern alternatives cannot be empty"),
        ({"pattern": [[], "a"]}, "invalid pattern element: pattern alternatives cannot be empty"),
        *(
            (
                {"pattern": ["a", value]},
                f"invalid pattern element: pattern element must be a string or list of strings (got {kind})",
            )
            for value, kind in ((1, "int"), (None, "NoneType"), (True, "bool"), (1.5, "float"), ({1: 2}, "dict"))
        ),
        ({"pattern": ["a", ["b", 1]]}, "invalid pattern element: pattern alternative must be a string (got int)"),
        ({"pattern": [[["a"]]]}, "invalid pattern element: pattern alternative must be a string (got list)"),
        *(
            ({"justification": text}, "invalid rule: justification cannot be empty")
            for text in ("", " ", "\n\x85\xa0\u2003")
        ),
        ({"match": [""]}, "invalid example: example cannot be an empty string"),
        ({"match": ["# a"]}, "invalid example: example cannot be an empty string"),
        ({"match": [[]]}, "invalid example: example cannot be an empty list"),
        ({"match": ["a '"]}, "invalid example: example string has invalid shell syntax"),
        ({"not_match": [1]}, "invalid example: example must be a string or list of strings (got int)"),
        ({"match": [["a", None]]}, "invalid example: example tokens must be strings (got NoneType)"),
    ],
)
def test_bad_prefix_rule_is_refused_in_known_words(kwargs: dict[str, Any], text: str) -> None:
    assert refusal("prefix_rule", **{"pattern": ["a"], **kwargs}) == text


def test_zero_width_and_control_characters_are_a_justification() -> None:
    for text in ("\u200b", "\x1f"):
        assert prefix_rule((["a"],), {"justification": text}).rules[0].justification == text


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"pattern": [], "decision": "x", "justification": ""}, "invalid decision: x"),
        ({"pattern": [], "justification": ""}, "invalid rule: justification cannot be empty"),
        ({"pattern": [], "match": [1]}, "invalid pattern element: pattern cannot be empty"),
        (
            {"pattern": ["a"], "match": [2], "not_match": [[]]},
            "invalid example: example must be a string or list of strings (got int)",
        ),
    ],
)
def test_first_of_several_mistakes_is_told(kwargs: dict[str, Any], text: str) -> None:
    assert refusal("prefix_rule", **kwargs) == text


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "text"),
    [
        ("prefix_rule", (), {}, "Missing parameter `pattern` for call to `prefix_rule`"),
        ("prefix_rule", (), {"foo": 1}, "Missing parameter `pattern` for call to `prefix_rule`"),
        ("network_rule", ("a", "http"), {}, "Missing parameter `decision` for call to `network_rule`"),
        ("host_executable", (), {"paths": []}, "Missing parameter `name` for call to `host_executable`"),
        ("prefix_rule", (["a"],), {"foo": 1}, "Found `foo` extra named parameter(s) for call to prefix_rule"),
        (
            "prefix_rule",
            (["a"], ["not text"]),
            {"foo": 1, "a b": 2},
            "Found `foo` `a b` extra named parameter(s) for call to prefix_rule",
        ),
        (
            "prefix_rule",
            (["a"], "allow", [], [], "j", 1, 2),
            {"foo": 1},
            "Found 2 extra positional argument(s) for call to prefix_rule",
        ),
        ("network_rule", tuple("abcde"), {}, "Found 1 extra positional argument(s) for call to network_rule"),
        ("host_executable", ("a", [], 1), {}, "Found 1 extra positional argument(s) for call to host_executable"),
        (
            "prefix_rule",
            (["a"], "allow", [], [], "j", 1),
            {"pattern": ["b"]},
            "Argument `pattern` occurs more than once",
        ),
    ],
)
def test_wrong_arguments_are_told(function: str, args: tuple[Any, ...], kwargs: dict[str, Any], text: str) -> None:
    assert refusal(function, *args, **kwargs) == text


@pytest.mark.parametrize(
    ("function", "kwargs", "parameter", "expected", "actual"),
    [
        ("prefix_rule", {"pattern": "ls"}, "pattern", "list", 'string (repr: "ls")'),
        ("prefix_rule", {"pattern": 1 << 70}, "pattern", "list", "int (repr: 1180591620717411303424)"),
        ("prefix_rule", {"pattern": True}, "pattern", "list", "bool (repr: True)"),
        ("prefix_rule", {"pattern": 1e100}, "pattern", "list", "float (repr: 1e+100)"),
        (
            "prefix_rule",
            {"pattern": {"a": [1, None, True, 1.5, 'x\n"\\é\t']}},
            "pattern",
            "list",
            r'dict (repr: {"a": [1, None, True, 1.5, "x\n\"\\\xe9\t"]})',
        ),
        (
            "prefix_rule",
            {"pattern": "\x00\x1f\x7f\u200bĀ\U00010000\U0001f600\r'"},
            "pattern",
            "list",
            'string (repr: "\\x00\\x1f\\x7f\\u200bĀ\U00010000\\U0001f600\\r\'")',
        ),
        ("prefix_rule", {"pattern": "q" * 58}, "pattern", "list", f'string (repr: "{"q" * 58}")'),
        (
            "prefix_rule",
            {"pattern": "q" * 59},
            "pattern",
            "list",
            f'string (repr: "{"q" * 33}<<...>>{"q" * 16}")',
        ),
        ("prefix_rule", {"decision": None}, "decision", "str", "NoneType (repr: None)"),
        ("prefix_rule", {"decision": True}, "decision", "str", "bool (repr: True)"),
        ("prefix_rule", {"decision": 2, "match": 1}, "decision", "str", "int (repr: 2)"),
        ("prefix_rule", {"match": "a"}, "match", "list", 'string (repr: "a")'),
        ("prefix_rule", {"not_match": {}}, "not_match", "list", "dict (repr: {})"),
        ("prefix_rule", {"justification": [1]}, "justification", "str", "list (repr: [1])"),
        ("network_rule", {"host": 1, "protocol": "x", "decision": "y"}, "host", "str", "int (repr: 1)"),
        ("host_executable", {"name": "git", "paths": "/x"}, "paths", "list", 'string (repr: "/x")'),
    ],
)
def test_wrong_type_is_told_with_the_value(
    function: str, kwargs: dict[str, Any], parameter: str, expected: str, actual: str
) -> None:
    given_all = {"pattern": ["a"], **kwargs} if function == "prefix_rule" else kwargs
    text = f"Type of parameter `{parameter}` doesn't match, expected `{expected}`, actual `{actual}`"
    assert refusal(function, **given_all) == text


@pytest.mark.parametrize(
    ("given_host", "host"),
    [
        (" A.B... ", "a.b"),
        ("a:80", "a"),
        ("a.:80", "a"),
        ("[::1]", "::1"),
        ("[::1]:80", "::1"),
        ("[ ::1 ]", "::1"),
        ("::1", "::1"),
        ("a:x", "a:x"),
        ("a:", "a:"),
        (":80", ":80"),
        ("a:1:2", "a:1:2"),
        ("a:٣", "a:٣"),
        ("É", "É"),
    ],
)
def test_host_is_brought_to_its_plain_form(given_host: str, host: str) -> None:
    assert network_rule((given_host, "https", "allow"), {}).host == host


@pytest.mark.parametrize(
    ("host", "text"),
    [
        *((host, "cannot be empty") for host in ("", " ", "...", "[]", "[]:80")),
        *(
            (host, "must be a hostname or IP literal (without scheme or path)")
            for host in ("http://a", "a/b", "a?b", "a#b", "a b/c", "http://*")
        ),
        *(
            (host, "must be a specific host; wildcards are not allowed")
            for host in ("*", "*.a", "a*b", "*a:80", "[*]", "* a")
        ),
        *((host, "cannot contain whitespace") for host in ("a b", "a\tb", "a\u2003b", "[a b]", "a:8 0")),
        ("[::1", "has an invalid bracketed IPv6 literal"),
        *((host, f"contains an unsupported suffix: {host}") for host in ("[::1]x", "[::1]:x", "[::1]:", "[::1].")),
    ],
)
def test_bad_host_is_refused_in_known_words(host: str, text: str) -> None:
    assert refusal("network_rule", host, "https", "allow") == f"invalid rule: network_rule host {text}"


@pytest.mark.parametrize(
    ("protocol", "plain"),
    [
        ("http", "http"),
        ("https", "https"),
        ("https_connect", "https"),
        ("http-connect", "https"),
        ("socks5_tcp", "socks5_tcp"),
        ("socks5_udp", "socks5_udp"),
    ],
)
def test_protocol_has_one_name(protocol: str, plain: str) -> None:
    assert network_rule(("a", protocol, "deny", "j"), {}) == NetworkRule(
        host="a", protocol=plain, decision=FORBIDDEN, justification="j"
    )


@pytest.mark.parametrize("protocol", ["ftp", "HTTP", "", " http"])
def test_unknown_protocol_is_told_first(protocol: str) -> None:
    known = "must be one of http, https, socks5_tcp, socks5_udp"
    text = f"invalid rule: network_rule protocol {known} (got {protocol})"
    assert refusal("network_rule", "", protocol, "nope", " ") == text


def test_other_mistakes_of_a_network_rule_have_their_order() -> None:
    assert refusal("network_rule", "", "http", "nope", " ") == "invalid decision: nope"
    assert refusal("network_rule", "", "http", "prompt", " ") == "invalid rule: justification cannot be empty"


def test_executables_are_plain_paths_without_repetition() -> None:
    paths = ["/usr/bin/git", "/opt//git/./x/../git/", "/usr/bin/git"]
    assert host_executable(("git", paths), {}) == HostExecutable(name="git", paths=("/usr/bin/git", "/opt/git/git"))
    for name in (" ", " git ", "a\\b"):
        assert host_executable((name, []), {}) == HostExecutable(name=name, paths=())


@pytest.mark.parametrize(
    ("name", "paths", "text"),
    [
        ("", ["x", 1], "name cannot be empty"),
        *((name, [1], f"name must be a bare executable name (got {name})") for name in ("a/git", "git/", ".", "..")),
        *(("git", [path], f"paths must be absolute (got {path})") for path in ("usr/bin/git", "", "~/git")),
        ("git", [1], "paths must be strings (got int)"),
        ("git", [["/a/git"]], "paths must be strings (got list)"),
        *(
            ("git", [path], f"path `{path}` must have basename `git`")
            for path in ("/usr/bin/gitx", "/usr/bin/git/..", "/")
        ),
    ],
)
def test_bad_host_executable_is_refused_in_known_words(name: str, paths: list[Any], text: str) -> None:
    assert refusal("host_executable", name, paths) == f"invalid rule: host_executable {text}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["pattern", "decision", "match", "not_match", "justification", "host", "protocol", "name", "paths", "x"]
)


@given(st.sampled_from(list(FUNCTIONS)), st.lists(VALUES, max_size=6), st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_arguments_are_taken_or_refused(function: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        made = FUNCTIONS[function](args, kwargs)
    except Refused:
        return
    assert type(made).from_plain(made.to_plain()) == made
