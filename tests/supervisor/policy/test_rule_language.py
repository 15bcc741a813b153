"""Texts of rules become rules, or an error that says what is wrong and where, in the reference's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.rule_language import MOST_BYTES, Evaluation, RuleError, Source
from pycodex.supervisor.policy.rules import HostExecutable, NetworkRule, PrefixRule, Rules


def evaluate(*texts: str) -> Rules:
    evaluation = Evaluation()
    for number, text in enumerate(texts):
        evaluation.add(Source(path=f"{number}.rules", text=text))
    return evaluation.rules


def error_of(*texts: str) -> RuleError:
    with pytest.raises(RuleError) as caught:
        evaluate(*texts)
    return caught.value


def patterns(text: str) -> list[tuple[str, ...]]:
    return [(rule.program, *(words[0] for words in rule.rest)) for rule in evaluate(text).prefix_rules]


def test_all_kinds_of_rules_of_all_texts_are_kept_in_order() -> None:
    assert evaluate(
        'prefix_rule(["b"])\nnetwork_rule("h:1", "https_connect", "deny")\n',
        'prefix_rule(["a", ["x", "y"]], decision="prompt", justification="j")\nhost_executable("a", ["/bin/a"])\n',
    ) == Rules(
        prefix_rules=(
            PrefixRule(program="b"),
            PrefixRule(program="a", rest=(("x", "y"),), decision="prompt", justification="j"),
        ),
        network_rules=(NetworkRule(host="h", protocol="https", decision="forbidden"),),
        host_executables=(HostExecutable(name="a", paths=("/bin/a",)),),
    )


@pytest.mark.parametrize("text", ["", "\n", "# x", "pass\n", "x=1\r\ny=2\r\n"])
def test_text_without_rules_makes_none(text: str) -> None:
    assert evaluate(text) == Rules()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def rule(name):\n    prefix_rule([name])\nrule("a")\n', [("a",)]),
        ('for i in range(2):\n    prefix_rule(["b", str(i)])\n', [("b", "0"), ("b", "1")]),
        ('if True:\n    prefix_rule(["a"])\n', [("a",)]),
        ('[prefix_rule([n, "%d" % len(n)]) for n in ["c"]]\n', [("c", "1")]),
        ('x = "d"\nprefix_rule([f"{x}-e"])\n', [("d-e",)]),
        ('x = lambda y: y\nprefix_rule([x("a")])\n', [("a",)]),
        ('prefix_rule(*[["a"], "prompt"], **{"match": ["a"]})\n', [("a",)]),
        ('def f():\n  x = prefix_rule\n  x(["a"])\nf()\n', [("a",)]),
        ('x = prefix_rule(["a"])\nprefix_rule([str(x)])\n', [("a",), ("None",)]),
        ("prefix_rule = 1\n", []),
        ("def prefix_rule(x):\n  pass\nprefix_rule(1)\n", []),
        ('prefix_rule(["\\x00"])\n', [("\0",)]),
    ],
)
def test_language_is_starlark(text: str, expected: list[tuple[str, ...]]) -> None:
    assert patterns(text) == expected


def test_later_word_about_a_host_replaces_the_earlier_one() -> None:
    later = 'host_executable("git", ["/b/git"])\n'
    hosts = evaluate('host_executable("git", ["/a/git"])\nhost_executable("ls", [])\n', later).host_executables
    assert hosts == (HostExecutable(name="git", paths=("/b/git",)), HostExecutable(name="ls", paths=()))


def test_error_of_a_function_shows_every_call_on_the_way() -> None:
    error = error_of('def f():\n  prefix_rule(["a"], "deny")\n\nf()\n')
    assert str(error) == (
        "starlark error: Traceback (most recent call last):\n"
        "  * 0.rules:4, in <module>\n"
        "      f()\n"
        "  * 0.rules:2, in f\n"
        '      prefix_rule(["a"], "deny")\n'
        "error: invalid decision: deny\n"
        " --> 0.rules:2:3\n"
        "  |\n"
        '2 |   prefix_rule(["a"], "deny")\n'
        "  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  |\n"
    )
    assert (error.path, error.line, error.column) == ("0.rules", 2, 3)
    assert error.summary == "error: invalid decision: deny"


@pytest.mark.parametrize(
    ("text", "told", "place"),
    [
        ("foo()\n", "Variable `foo` not found, did you mean `bool`?", (1, 1)),
        ("\nprefix_rul()\n", "Variable `prefix_rul` not found, did you mean `prefix_rule`?", (2, 1)),
        ("print(1)\n", "Variable `print` not found, did you mean `int`?", (1, 1)),
        ("x = struct(a=1)\n", "Variable `struct` not found", (1, 5)),
        (
            'load("a", "b")\n',
            "No imports are available, you tried `a` (no call to `Evaluator.set_loader`)",
            (1, 1),
        ),
        ("while True:\n  pass\n", "Parse error: cannot use reserved keyword `while`", (1, 1)),
        ("import x\n", "Parse error: cannot use reserved keyword `import`", (1, 1)),
        ("x = 1 // 0\n", "Floor division by zero: 1 // 0", (1, 5)),
        ('x = "a\n', "Parse error: unfinished string literal", (1, 5)),
        ("\n" * 11 + "\tx = 1\n", "Parse error: tabs are not allowed", (11, 1)),
        ("é = 1\n", "Parse error: invalid input `é`", (1, 1)),
        ("return 1\n", "`return` cannot be used outside of a `def` function", (1, 1)),
    ],
)
def test_error_of_the_language_says_where_without_calls(text: str, told: str, place: tuple[int, int]) -> None:
    error = error_of(text)
    assert (error.line, error.column) == place
    assert error.summary == f"starlark error: error: {told}"
    assert str(error).split("\n")[1].lstrip() == f"--> 0.rules:{place[0]}:{place[1]}"


@pytest.mark.parametrize(
    ("text", "summary", "place"),
    [
        ('fail("hey")\n', "error: fail: hey", (1, 1)),
        ('fail("a\\nb")\n', "error: fail: a", (1, 1)),
        ('\n\nprefix_rule(["a"], "x\\nerror: y\\n --> 0.rules:9:9\\n")\n', "error: invalid decision: x", (3, 1)),
        (
            '[prefix_rule([x]) for x in ["a", 1]]\n',
            "error: invalid pattern element: pattern element must be a string or list of strings (got int)",
            (1, 2),
        ),
        (
            "\n" * 11 + "prefix_rule(\n  pattern=[],\n)\n",
            "error: invalid pattern element: pattern cannot be empty",
            (12, 1),
        ),
        ('network_rule("", "http", "allow")\n', "error: invalid rule: network_rule host cannot be empty", (1, 1)),
        ('host_executable("", [])\n', "error: invalid rule: host_executable name cannot be empty", (1, 1)),
        ("prefix_rule(**{1: 1})\n", "error: The argument provided for *args is not an identifier", (1, 1)),
        ("prefix_rule([len])\n", "error: Operation `serde::serialize` not supported on type `function`", (1, 1)),
        ("prefix_rule({(1, 2): 3})\n", "error: unhashable type: 'list'", (1, 1)),
        ("def f(n):\n  return f(n)\nf(1)\n", "error: Starlark call stack overflow", (2, 10)),
    ],
)
def test_summary_is_the_one_line_that_says_what_is_wrong(text: str, summary: str, place: tuple[int, int]) -> None:
    error = error_of(text)
    assert (error.summary, (error.line, error.column)) == (summary, place)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('\n\nprefix_rule(["git"], match=["ls"])\n', (3, 1)),
        ('prefix_rule(["a"], match=["a"]); prefix_rule(["git"],\n\n  match=["ls"])\n', (1, 34)),
        ('def f(x):\n  prefix_rule(["git"], match=[x])\n\nf("git")\nf("ls")\n', (2, 3)),
        ('prefix_rule(["git"], match=["ls"])\nprefix_rule(["c"], not_match=["c"])\n', (1, 1)),
        ('for x in ["git", "ls"]:\n  network_rule(x, "http", "allow")\n  prefix_rule(["git"], match=[x])\n', (3, 3)),
    ],
)
def test_broken_example_is_told_at_its_call(text: str, place: tuple[int, int]) -> None:
    error = error_of(text)
    assert str(error) == error.summary
    assert error.summary.startswith("expected every example to match at least one rule. ")
    assert error.summary.endswith('unmatched examples: ["ls"]')
    assert (error.line, error.column) == place


def test_examples_are_looked_at_when_the_whole_text_has_been_evaluated() -> None:
    rule = 'prefix_rule(["git"], match=["/usr/bin/git x"])\n'
    assert error_of(rule + 'host_executable("git", ["/opt/git"])\n').line == 1
    assert "invalid decision" in str(error_of('prefix_rule(["git"], match=["ls"])\nprefix_rule(["a"], "x")\n'))
    assert evaluate(rule, 'host_executable("git", ["/opt/git"])\n').prefix_rules
    assert error_of('host_executable("git", ["/opt/git"])\n', rule).path == "1.rules"


def test_rules_of_other_texts_do_not_help_an_example() -> None:
    assert error_of('prefix_rule(["ls"])\n', 'prefix_rule(["git"], match=["ls"])\n').path == "1.rules"


def test_loop_without_an_end_in_sight_is_broken_off() -> None:
    evaluation = Evaluation(most_seconds=0.05)
    with pytest.raises(RuleError) as caught:
        evaluation.add(Source(path="r", text="\nfor i in range(1000000000):\n  pass\n"))
    assert caught.value.summary == "starlark error: error: took longer than 0.05 seconds"
    assert caught.value.line == 2


def test_text_that_is_too_large_is_refused() -> None:
    assert evaluate("#" * MOST_BYTES) == Rules()
    assert str(error_of("#" * (MOST_BYTES + 1))) == f"larger than {MOST_BYTES} bytes"


def test_half_a_character_is_refused() -> None:
    assert str(error_of("\ud800")) == "starlark error: not valid UTF-8"


PIECES = st.sampled_from(
    [
        *("prefix_rule", "network_rule", "host_executable", "(", ")", "[", "]", ",", "=", "\n", "  ", '"a"', "'", '"'),
        *("pattern", "match", "not_match", "decision", "*", "**", "{", "}", ":", "1", "None", "def f():", "f()", "for"),
        *("x", "in", "range(9)", "if", "lambda", "+", "%", "#", "\\", 'f"{x}"', "fail", "load", "é", "\0", "\r"),
    ]
)


@given(st.text() | st.lists(PIECES, max_size=25).map("".join))
def test_any_text_makes_rules_or_an_error(text: str) -> None:
    try:
        rules = evaluate(text)
    except RuleError:
        return
    assert Rules.from_plain(rules.to_plain()) == rules
