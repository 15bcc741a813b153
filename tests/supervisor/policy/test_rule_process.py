"""Rules are evaluated where they can break nothing but themselves."""

import sys
from pathlib import Path

import pytest

from pycodex.supervisor.policy.rule_language import RuleError, Source
from pycodex.supervisor.policy.rule_process import MOST_ANSWER_BYTES, evaluated, evaluated_with_calls, places_of
from pycodex.supervisor.policy.rules import HostExecutable, NetworkRule, PrefixRule, Rules


def sources(*texts: str) -> list[Source]:
    return [Source(path=f"{number}.rules", text=text) for number, text in enumerate(texts)]


def error_of(*texts: str) -> RuleError:
    with pytest.raises(RuleError) as caught:
        # Long enough for a busy machine: what breaks off here does so for another reason.
        evaluated(sources(*texts), most_seconds=60)
    return caught.value


def test_everything_that_texts_say_comes_back() -> None:
    texts = (
        'prefix_rule(["a", ["é", "\\x00"]], "forbidden", justification="j")\n',
        'network_rule("h", "http", "prompt")\nhost_executable("a", ["/bin/a"])\n',
    )
    assert evaluated(sources(*texts)) == Rules(
        prefix_rules=(PrefixRule(program="a", rest=(("é", "\0"),), decision="forbidden", justification="j"),),
        network_rules=(NetworkRule(host="h", protocol="http", decision="prompt"),),
        host_executables=(HostExecutable(name="a", paths=("/bin/a",)),),
    )


LOOPED = """\
def asked(program):
    prefix_rule([program], "prompt")

for program in ("a", "b"):
    asked(program)

prefix_rule([["c", "d"], "x"]); prefix_rule(["e"])
"""


def test_every_rule_is_known_by_its_call_and_every_call_by_its_place() -> None:
    given = sources('host_executable("z", [])\nprefix_rule(["z"])\n', "", LOOPED)
    rules, calls = evaluated_with_calls(given)
    assert [rule.program for rule in rules.prefix_rules] == ["z", "a", "b", "c", "d", "e"]
    assert calls == ((0, 0), (2, 0), (2, 1), (2, 2), (2, 2), (2, 3))
    assert places_of(calls, given) == [(2, 1), (2, 5), (2, 5), (7, 1), (7, 1), (7, 33)]


def test_place_of_a_call_that_is_not_there_is_not_known() -> None:
    assert places_of([(0, 1), (0, 0)], sources("prefix_rule(['a'])")) == [(None, None), (1, 1)]


def test_places_that_take_too_long_to_find_are_not_told() -> None:
    one_long_step = "x = 1 << 100000\nfor i in range(7):\n  x = x * x\ny = str(x)\n"
    assert places_of([(0, 0)], sources(one_long_step), most_seconds=0.5) == [(None, None)]


def test_no_texts_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    assert evaluated([]) == Rules()
    assert places_of([], sources("prefix_rule(['a'])")) == []


def test_error_comes_back_with_its_place() -> None:
    error = error_of("", '\n  # x\nprefix_rule(["a"], match=["b"])\n')
    assert (error.path, error.line, error.column) == ("1.rules", 3, 1)
    assert error.summary.startswith("expected every example to match at least one rule. rules: [")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = " + "-" * 100_000 + "1\n", id="operators without end"),
        pytest.param("x = " + "[" * 100_000 + "]" * 100_000, id="brackets in brackets"),
        pytest.param("x = " + "1+" * 100_000 + "1", id="a sum without end"),
        pytest.param("x = []\nfor i in range(100000):\n  x = [x]\nprefix_rule(x)\n", id="lists in lists"),
        pytest.param("x = 'a'\nfor i in range(100):\n  x = x + x\n", id="a text that doubles"),
        pytest.param("x = [1]\nfor i in range(100):\n  x = x + x\n", id="a list that doubles"),
        pytest.param("x = list(range(2000000000))\n", id="a list without end"),
        pytest.param("x = 'a' * 100000000\ny = x.replace('a', x)\n", id="a text of texts"),
    ],
)
def test_text_that_breaks_its_process_is_named(text: str) -> None:
    error = error_of("prefix_rule(['a'])", text, "prefix_rule(['b'])")
    assert error.path == "1.rules"
    assert error.summary.startswith("starlark error: error: the evaluation broke off (")


def test_work_that_starlark_does_not_break_off_is_ended() -> None:
    one_long_step = "x = 1 << 100000\nfor i in range(7):\n  x = x * x\ny = str(x)\n"
    with pytest.raises(RuleError) as caught:
        evaluated(sources(one_long_step), most_seconds=0.5)
    error = caught.value
    assert (error.path, error.summary) == ("0.rules", "starlark error: error: took longer than 0.5 seconds")


@pytest.mark.parametrize("text", [f"prefix_rule(['a' * {MOST_ANSWER_BYTES}])", f"fail('a' * {MOST_ANSWER_BYTES})"])
def test_answer_is_bounded(text: str) -> None:
    assert error_of(text).summary == f"makes more than {MOST_ANSWER_BYTES} bytes of rules"


def test_process_loads_nothing_that_lies_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("starlark", "msgpack", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert evaluated(sources("x = 1\n")) == Rules()


def test_process_says_nothing_on_our_streams(capfd: pytest.CaptureFixture[str]) -> None:
    error_of("x = [1]\nfor i in range(100):\n  x = x + x\n")
    assert capfd.readouterr() == ("", "")
