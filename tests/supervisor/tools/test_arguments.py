"""Arguments are read, and refused, as Codex 0.116 does it: all texts below were observed on it."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.tools.arguments import (
    BadArguments,
    Field,
    Shape,
    boolean,
    choice,
    i32,
    list_of,
    optional,
    parse,
    parse_any,
    text,
    u64,
)
from pycodex.supervisor.tools.handlers import apply_patch, exec_command, update_plan, write_stdin
from support.json_texts import arguments_naming

PERMISSIONS = "`use_default`, `require_escalated`, `with_additional_permissions`"

EXEC_COMMAND_ERRORS = [
    ("[]", "invalid length 0, expected struct ExecCommandArgs with 11 elements at line 1 column 2"),
    ("5", "invalid type: integer `5`, expected struct ExecCommandArgs at line 1 column 1"),
    ('"x"', 'invalid type: string "x", expected struct ExecCommandArgs at line 1 column 3'),
    ("null", "invalid type: null, expected struct ExecCommandArgs at line 1 column 4"),
    ("[1]", "invalid type: integer `1`, expected a string at line 1 column 2"),
    ('{"cmd":"a","max_output_tokens":-1}', "invalid value: integer `-1`, expected usize at line 1 column 33"),
    ('{"cmd":"a","max_output_tokens":1.5}', "invalid type: floating point `1.5`, expected usize at line 1 column 34"),
    (
        '{"cmd":"a","yield_time_ms":18446744073709551616}',
        "invalid type: floating point `1.8446744073709552e+19`, expected u64 at line 1 column 47",
    ),
    ('{"cmd":"a","yield_time_ms":1e3}', "invalid type: floating point `1000.0`, expected u64 at line 1 column 30"),
    ('{"cmd":"a","yield_time_ms":01}', "invalid number at line 1 column 29"),
    ('{"cmd":"a","yield_time_ms":1.}', "invalid number at line 1 column 30"),
    ('{"cmd":"a","yield_time_ms":-0}', "invalid type: floating point `-0.0`, expected u64 at line 1 column 29"),
    ('{"cmd":"a","yield_time_ms":0.00001}', "invalid type: floating point `0.00001`, expected u64 at line 1 column 34"),
    ('{"cmd":"a","yield_time_ms":1e999}', "number out of range at line 1 column 32"),
    ('{"cmd":"a","yield_time_ms":-}', "invalid number at line 1 column 29"),
    ('{"cmd":"a",}', "trailing comma at line 1 column 12"),
    ('{"cmd":"a" "b":1}', "expected `,` or `}` at line 1 column 12"),
    ('{"cmd":"a"} x', "trailing characters at line 1 column 13"),
    ('{"cmd":"a"', "EOF while parsing an object at line 1 column 10"),
    ('{"cmd":"a","cmd":"b"}', "duplicate field `cmd` at line 1 column 16"),
    ('{"cmd":"a","cmd" :"b"}', "duplicate field `cmd` at line 1 column 17"),
    ('{"cmd":"a\\q"}', "invalid escape at line 1 column 11"),
    ('{"cmd":"a\\ud800"}', "unexpected end of hex escape at line 1 column 16"),
    ('{"cmd":"a\\udc00"}', "lone leading surrogate in hex escape at line 1 column 15"),
    ('{"cmd":"a\\u12"}', "invalid escape at line 1 column 15"),
    ('{"cmd":"a\tb"}', "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 10"),
    ('{"cmd":"a', "EOF while parsing a string at line 1 column 9"),
    ('{"cmd":tru}', "expected ident at line 1 column 11"),
    ('{"cmd":true}', "invalid type: boolean `true`, expected a string at line 1 column 11"),
    ('{"cmd":{"a":1}}', "invalid type: map, expected a string at line 1 column 7"),
    ('{"cmd":12}', "invalid type: integer `12`, expected a string at line 1 column 9"),
    ('{"cmd":-12}', "invalid type: integer `-12`, expected a string at line 1 column 10"),
    ('{"cmd":1.5}', "invalid type: floating point `1.5`, expected a string at line 1 column 10"),
    ('{"cmd":nope}', "expected ident at line 1 column 9"),
    ('{"cmd":@}', "expected value at line 1 column 8"),
    ('{"cmd" "a"}', "expected `:` at line 1 column 8"),
    ('{"cmd":"a","z":[1,]}', "trailing comma at line 1 column 19"),
    ('{"cmd":"a","z":{"k":1,}}', "trailing comma at line 1 column 23"),
    ('{"cmd":"a","z":@}', "expected value at line 1 column 16"),
    ('{"cmd":"a","sandbox_permissions":5}', "expected value at line 1 column 34"),
    (
        '{"cmd":"a","sandbox_permissions":{"use_default":1}}',
        "invalid type: integer `1`, expected unit at line 1 column 49",
    ),
    (
        '{"cmd":"a","sandbox_permissions":{"bogus":1}}',
        f"unknown variant `bogus`, expected one of {PERMISSIONS} at line 1 column 41",
    ),
    ('{"cmd":"a","sandbox_permissions":null}', "expected value at line 1 column 34"),
    ('{"cmd":"a","prefix_rule":"x"}', 'invalid type: string "x", expected a sequence at line 1 column 28'),
    ('{"cmd":"a","prefix_rule":["x",1]}', "invalid type: integer `1`, expected a string at line 1 column 31"),
    ('{"cmd":"a","prefix_rule":["x",]}', "trailing comma at line 1 column 31"),
    ('{"cmd":"a","prefix_rule":["x" "y"]}', "expected `,` or `]` at line 1 column 31"),
    ('{"cmd":"a","prefix_rule":["x"', "EOF while parsing a list at line 1 column 29"),
    ('{"cmd":"a","tty":"yes"}', 'invalid type: string "yes", expected a boolean at line 1 column 22'),
    ('{"cmd":"a","tty":1}', "invalid type: integer `1`, expected a boolean at line 1 column 18"),
    ('{"cmd":"a","login":1}', "invalid type: integer `1`, expected a boolean at line 1 column 20"),
    (
        '{"cmd":"a","additional_permissions":1}',
        "invalid type: integer `1`, expected struct PermissionProfile at line 1 column 37",
    ),
    ('{"cmd":"a","justification":1}', "invalid type: integer `1`, expected a string at line 1 column 28"),
    ('{"cmd":"é€","tty":1}', "invalid type: integer `1`, expected a boolean at line 1 column 22"),
    ('{"cmd":"a","cmd":', "EOF while parsing a value at line 1 column 17"),
    ('  {"cmd":  5 }', "invalid type: integer `5`, expected a string at line 1 column 12"),
    (
        '{"cmd":"say \\"hi\\" \'é\' \\u0007 \\n end","tty":"q\\u0007\\n\\"\\u00e9\\u200b"}',
        'invalid type: string "q\\u{7}\\n\\"é\\u{200b}", expected a boolean at line 1 column 70',
    ),
    ('{"cmd":"a","workdir":5}', "invalid type: integer `5`, expected a string at line 1 column 22"),
    ('{"cmd":"a","shell":5}', "invalid type: integer `5`, expected a string at line 1 column 20"),
    ('{"workdir":5,"cmd":', "EOF while parsing a value at line 1 column 19"),
]

WRITE_STDIN_ERRORS = [
    ("[]", "invalid length 0, expected struct WriteStdinArgs with 4 elements at line 1 column 2"),
    ("{}", "missing field `session_id` at line 1 column 2"),
    ("5", "invalid type: integer `5`, expected struct WriteStdinArgs at line 1 column 1"),
    ('{"session_id":2147483648}', "invalid value: integer `2147483648`, expected i32 at line 1 column 24"),
    ('{"session_id":-2147483649}', "invalid value: integer `-2147483649`, expected i32 at line 1 column 25"),
    ('{"session_id":1.0}', "invalid type: floating point `1.0`, expected i32 at line 1 column 17"),
    ('{"session_id":1,"chars":null}', "invalid type: null, expected a string at line 1 column 28"),
    ('{"session_id":1,"yield_time_ms":null}', "invalid type: null, expected u64 at line 1 column 36"),
    ('{"session_id":1,"z":[1,]}', "expected value at line 1 column 24"),
    ('{"session_id":1,"z":{"k":1,}}', "key must be a string at line 1 column 28"),
    ('{"session_id":1,"session_id":', "duplicate field `session_id` at line 1 column 28"),
    ('{"session_id":1.0e15}', "invalid type: floating point `1000000000000000.0`, expected i32 at line 1 column 20"),
    ('{"session_id":1.0e16}', "invalid type: floating point `1e+16`, expected i32 at line 1 column 20"),
    ('{"session_id":1.5e16}', "invalid type: floating point `1.5e+16`, expected i32 at line 1 column 20"),
    ('{"session_id":1.0e17}', "invalid type: floating point `1e+17`, expected i32 at line 1 column 20"),
    (
        '{"session_id":123456789012345678.0}',
        "invalid type: floating point `1.2345678901234568e+17`, expected i32 at line 1 column 34",
    ),
    ('{"session_id":1e20}', "invalid type: floating point `1e+20`, expected i32 at line 1 column 18"),
    ('{"session_id":1e21}', "invalid type: floating point `1e+21`, expected i32 at line 1 column 18"),
    ('{"session_id":1.5e300}', "invalid type: floating point `1.5e+300`, expected i32 at line 1 column 21"),
    ('{"session_id":0.001}', "invalid type: floating point `0.001`, expected i32 at line 1 column 19"),
    ('{"session_id":0.00012}', "invalid type: floating point `0.00012`, expected i32 at line 1 column 21"),
    ('{"session_id":0.000012}', "invalid type: floating point `0.000012`, expected i32 at line 1 column 22"),
    ('{"session_id":0.0000012}', "invalid type: floating point `1.2e-6`, expected i32 at line 1 column 23"),
    ('{"session_id":0.00000012}', "invalid type: floating point `1.2e-7`, expected i32 at line 1 column 24"),
    ('{"session_id":1.25e-10}', "invalid type: floating point `1.25e-10`, expected i32 at line 1 column 22"),
    ('{"session_id":-1.5}', "invalid type: floating point `-1.5`, expected i32 at line 1 column 18"),
    ('{"session_id":1e-400}', "invalid type: floating point `0.0`, expected i32 at line 1 column 20"),
    ('{"session_id":1e}', "invalid number at line 1 column 17"),
    ('{"session_id":1e+}', "invalid number at line 1 column 18"),
    ('{"session_id":-a}', "invalid number at line 1 column 16"),
    ('{"session_id":1.5.5}', "invalid type: floating point `1.5`, expected i32 at line 1 column 17"),
    (
        '{"session_id":1,"chars":"\\ud83d\\ude00","yield_time_ms":"\\ud83d\\ude00"}',
        'invalid type: string "😀", expected u64 at line 1 column 69',
    ),
    ('{"session_id":1,"yield_time_ms":"a\\ud83dx"}', "unexpected end of hex escape at line 1 column 41"),
    ('{"session_id":1,"yield_time_ms":"a\\ud83d\\n"}', "unexpected end of hex escape at line 1 column 42"),
    ('{"session_id":1,"yield_time_ms":"a\\ud83d\\u0041"}', "lone leading surrogate in hex escape at line 1 column 46"),
    ('{"session_id":1,"yield_time_ms":"\\u00zz"}', "invalid escape at line 1 column 39"),
    ('{"session_id":1,"yield_time_ms":"\\u00', "EOF while parsing a string at line 1 column 37"),
    ('{"session_id":1,"yield_time_ms":"\\', "EOF while parsing a string at line 1 column 34"),
    ('{"session_id":1,"z":"a\\q"}', "invalid escape at line 1 column 24"),
    ('{"session_id":1,"z":[[1 2]]}', "expected `,` or `]` at line 1 column 25"),
    ('{"session_id":1,"z":[{"a" 2}]}', "expected `:` at line 1 column 27"),
    ('{"session_id":1,"z":[{2:3}]}', "key must be a string at line 1 column 23"),
    ('{"session_id":1,"z":[1', "EOF while parsing a list at line 1 column 22"),
    ('{"session_id":1,"z":{"a":1', "EOF while parsing an object at line 1 column 26"),
    ('{"session_id":1,"z":-}', "invalid number at line 1 column 22"),
    ('{"session_id":1,"z":01}', "invalid number at line 1 column 22"),
    ('{"session_id":1,"z":1.}', "invalid number at line 1 column 23"),
    ('{"session_id":1,"z":tru}', "expected ident at line 1 column 24"),
    ('{"session_id":1,"yield_time_ms":{}}', "invalid type: map, expected u64 at line 1 column 32"),
    (
        '{"session_id":1,"yield_time_ms":"e\\u0301 \\u00a0 \\u0000 \\t \\u007f \'"}',
        'invalid type: string "e\\u{301} \\u{a0} \\0 \\t \\u{7f} \'", expected u64 at line 1 column 67',
    ),
    ('{"session_id" ', "EOF while parsing an object at line 1 column 14"),
    ('{"session_id":1,', "EOF while parsing a value at line 1 column 16"),
    ("{", "EOF while parsing an object at line 1 column 1"),
    ("[1,", "EOF while parsing a value at line 1 column 3"),
    ("[1 2]", "expected `,` or `]` at line 1 column 4"),
    ('[1,"x",300,null,5]', "trailing characters at line 1 column 17"),
    ("[1,]", "trailing comma at line 1 column 4"),
    ("x", "expected value at line 1 column 1"),
    ('{"session_id":1}}', "trailing characters at line 1 column 17"),
    ("  ", "EOF while parsing a value at line 1 column 2"),
]

UPDATE_PLAN_ERRORS = [
    ("[]", "invalid length 1, expected struct UpdatePlanArgs with 2 elements at line 1 column 2"),
    ("5", "invalid type: integer `5`, expected struct UpdatePlanArgs at line 1 column 1"),
    ('{"plan":5}', "invalid type: integer `5`, expected a sequence at line 1 column 9"),
    ('{"plan":[5]}', "invalid type: integer `5`, expected struct PlanItemArg at line 1 column 10"),
    ('{"plan":[[]]}', "invalid length 0, expected struct PlanItemArg with 2 elements at line 1 column 11"),
    ('{"plan":[["a"]]}', "invalid length 1, expected struct PlanItemArg with 2 elements at line 1 column 14"),
    (
        '{"plan":[{"step":"a","status":"pending","x":1}]}',
        "unknown field `x`, expected `step` or `status` at line 1 column 43",
    ),
    ('{"plan":[{"step":"a","status":5}]}', "expected value at line 1 column 31"),
    ('{"plan":[{"step":"a","step":"b"}]}', "duplicate field `step` at line 1 column 27"),
    ('{"explanation":5,"plan":[]}', "invalid type: integer `5`, expected a string at line 1 column 16"),
    ('{"plan":[],"extra" : 1}', "unknown field `extra`, expected `explanation` or `plan` at line 1 column 19"),
    ('{"plan":[{"step":"a","status":{"pending":null]}]}', "expected value at line 1 column 45"),
    ('{"plan":[{"step":"a","status":{"pending":null}', "EOF while parsing an object at line 1 column 46"),
    ('{"plan":[{"step":"a","status":{}}]}', "expected value at line 1 column 32"),
    ('{"plan":[{"step":"a","status":null}]}', "expected value at line 1 column 31"),
    ('{"plan":[{"step":"a","status":"pending"},]}', "trailing comma at line 1 column 42"),
    ('{"plan":[["a","pending",3]]}', "trailing characters at line 1 column 25"),
    ('{"plan":null}', "invalid type: null, expected a sequence at line 1 column 12"),
]

ERRORS = [
    *((exec_command.SHAPE, *case) for case in EXEC_COMMAND_ERRORS),
    *((write_stdin.SHAPE, *case) for case in WRITE_STDIN_ERRORS),
    *((update_plan.SHAPE, *case) for case in UPDATE_PLAN_ERRORS),
]


@pytest.mark.parametrize(("shape", "given", "error"), ERRORS, ids=[f"{each[0].name}-{each[1]}" for each in ERRORS])
def test_error_names_what_is_wrong_and_where(shape: Shape, given: str, error: str) -> None:
    with pytest.raises(BadArguments) as raised:
        parse(given, shape)
    assert str(raised.value) == f"failed to parse function arguments: {error}"


SHAPE = Shape(
    "Args",
    (
        Field("word", text),
        Field("flag", boolean, False),
        Field("count", u64, 7),
        Field("level", optional(i32), None),
        Field("words", optional(list_of(text)), None),
        Field("how", choice("fast", "slow"), "slow"),
    ),
)
DEFAULTS = {"word": "w", "flag": False, "count": 7, "level": None, "words": None, "how": "slow"}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ('{"word":"w"}', {}),
        (' \n{ "word" :\t"w" } ', {}),
        ('["w"]', {}),
        ('["w", true, 3]', {"flag": True, "count": 3}),
        ('{"word":"a\\u00e9\\ud83d\\ude00\\n\\"\\\\\\/é"}', {"word": 'aé\U0001f600\n"\\/é'}),
        ('{"word":"w","count":18446744073709551615}', {"count": (1 << 64) - 1}),
        ('{"word":"w","level":-2147483648}', {"level": -(1 << 31)}),
        ('{"word":"w","level":null,"words":null}', {}),
        ('{"word":"w","words":[]}', {"words": []}),
        ('{"word":"w","words":["a","b"]}', {"words": ["a", "b"]}),
        ('{"word":"w","how":"fast"}', {"how": "fast"}),
        ('{"word":"w","how":{"fast":null}}', {"how": "fast"}),
        ('{"word":"w","other":{"a":[1,{"b":[]}],"c":"\\ud800"},"more":1e999}', {}),
        ('{"other":' + "[" * 1000 + "]" * 1000 + ',"word":"w"}', {}),
    ],
)
def test_values_are_read(given: str, changed: dict[str, object]) -> None:
    assert parse(given, SHAPE) == {**DEFAULTS, **changed}


def test_two_known_words_are_listed_with_or() -> None:
    with pytest.raises(BadArguments, match=r"unknown variant `x`, expected `fast` or `slow` at line 2 column 6$"):
        parse('{"word":"w","how":\n   "x"}', SHAPE)


def test_whole_text_is_checked_before_any_field() -> None:
    """Where a tool looks at the text twice, the second look finds only what the first let pass."""
    given = '{"count":"x","word":'
    whole = Shape("Args", SHAPE.fields, checked_whole=True)
    with pytest.raises(BadArguments, match='invalid type: string "x", expected u64'):
        parse(given, SHAPE)
    with pytest.raises(BadArguments, match="EOF while parsing a value"):
        parse(given, whole)


def test_depth_is_bounded() -> None:
    with pytest.raises(BadArguments, match=r"recursion limit exceeded at line 1 column 136$"):
        parse('{"other":' + "[" * 200, Shape("Args", SHAPE.fields, checked_whole=True))


def test_half_a_character_does_no_harm() -> None:
    assert parse('{"word":"\ud800"}', SHAPE)["word"] == "?"


@pytest.mark.parametrize(
    ("text", "value"), [("[1]", [1]), ("null", None), ('{"a":1.0,"a":2}', {"a": 2}), (' "x" ', "x"), ("2.5", 2.5)]
)
def test_any_value_can_be_read(text: str, value: object) -> None:
    assert parse_any(text) == value


@pytest.mark.parametrize(
    ("text", "error"),
    [("", "EOF while parsing a value at line 1 column 0"), ("1 2", "trailing characters at line 1 column 3")],
)
def test_what_is_no_value_is_refused(text: str, error: str) -> None:
    with pytest.raises(BadArguments) as raised:
        parse_any(text)
    assert str(raised.value) == f"failed to parse function arguments: {error}"


def test_one_element_is_named_in_the_singular() -> None:
    with pytest.raises(BadArguments, match="expected struct One with 1 element at line 1 column 2"):
        parse("[]", Shape("One", (Field("a", text),)))


def test_field_may_have_a_second_name() -> None:
    shape = Shape("Args", (Field("timeout_ms", optional(u64), None, alias="timeout"),))
    assert parse('{"timeout":5}', shape) == parse('{"timeout_ms":5}', shape) == {"timeout_ms": 5}
    with pytest.raises(BadArguments, match=r"duplicate field `timeout_ms` at line 1 column 25$"):
        parse('{"timeout":5,"timeout_ms":6}', shape)


@pytest.mark.parametrize("tool", [apply_patch, exec_command, update_plan, write_stdin], ids=lambda tool: tool.NAME)
@given(data=st.data())
def test_whatever_a_model_writes_is_read_or_refused(tool: ModuleType, data: st.DataObject) -> None:
    names = [*tool.SHAPE.by_name, "step", "status"]
    given_text = data.draw(arguments_naming(*names))
    try:
        values = parse(given_text, tool.SHAPE)
    except BadArguments:
        return
    assert set(values) == set(tool.SHAPE.by_name)
