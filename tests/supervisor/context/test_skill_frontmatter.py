"""The head of a SKILL.md. Results and errors were seen on the reference; the parser's own words are not compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.context.skill_frontmatter import (
    BadSkill,
    Frontmatter,
    _plain_fields,
    _yaml_fields,
    parse,
)
from support.interpreter import modules_loaded_by


def head(*lines: str) -> str:
    return "\n".join(("---", *lines, "---", "body"))


@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        ("--- \nname: a\ndescription: d\n--- \nx", "a", "d"),
        (" ---\nname: a\ndescription: d\n ---\nx", "a", "d"),
        ("---\r\nname: a\r\ndescription: d\r\n---\r\nx", "a", "d"),
        ("---\nname: a\ndescription: d\n---", "a", "d"),
        (head("name: 123", "description: 456"), "123", "456"),
        (head("name: 2020-01-01", "description: 1.50"), "2020-01-01", "1.50"),
        (head("name: true", "description: false"), "true", "false"),
        (head("name:", "description: d"), "folder", "d"),
        (head("name: ~", "description: d"), "folder", "d"),
        (head("name: null", "description: d"), "folder", "d"),
        (head("name: ''", "description: d"), "folder", "d"),
        (head("name: 'null'", "description: d"), "null", "d"),
        (head("description: d"), "folder", "d"),
        (head("name: ' a  b '", "description: second   one"), "a b", "second one"),
        (head("name: a", "description: >", "  one", "  two", "", "  three"), "a", "one two three"),
        (head("name: a", "description: |", "  one", "  two: x"), "a", "one two: x"),
        (head("name: a", "description: one", "  two", "  three"), "a", "one two three"),
        (head("name: hash # c", "description: a#b # comment"), "hash", "a#b"),
        (head('name: "q"', "description: 'it''s'"), "q", "it's"),
        (head("name:\ta", "description: a\tb"), "a", "a b"),
        (head("name: a", "description: &x y"), "a", "y"),
        (head("name: a", "description: !x y"), "a", "y"),
        (head("name: a", "description: d", "allowed-tools: [x]", "license: MIT"), "a", "d"),
        (head("name: ünï", "description: a http://x.y/z, (b) - c"), "ünï", "a http://x.y/z, (b) - c"),
        (head("name: a", "description: d", "metadata:"), "a", "d"),
        (head("name: " + "n" * 64, "description: " + "d" * 1024), "n" * 64, "d" * 1024),
    ],
)
def test_accepted(text: str, name: str, description: str) -> None:
    assert parse(text, "folder") == Frontmatter(name, description, None)


@pytest.mark.parametrize(
    ("lines", "short"),
    [
        (("metadata:", "  short-description: s   s"), "s s"),
        (("metadata:", "  short-description: ' '"), None),
        (("metadata:", "  short-description: ~"), None),
        (("metadata:", "  other: x", "  short-description: s", "license: MIT"), "s"),
        (("metadata:", "  nested:", "    short-description: s"), None),
        (("metadata: {short-description: s}",), "s"),
        (("short-description: s",), None),
        (("metadata.short-description: s",), None),
    ],
)
def test_short_description(lines: tuple[str, ...], short: str | None) -> None:
    assert parse(head("name: a", "description: d", *lines), "folder").short_description == short


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n", "missing YAML frontmatter delimited by ---"),
        ("", "missing YAML frontmatter delimited by ---"),
        ("\n---\nname: b\ndescription: d\n---\n", "missing YAML frontmatter delimited by ---"),
        ("\ufeff---\nname: b\ndescription: d\n---\n", "missing YAML frontmatter delimited by ---"),
        ("---\nname: a\ndescription: d\n", "missing YAML frontmatter delimited by ---"),
        ("---\n---\nx", "missing YAML frontmatter delimited by ---"),
        (f"---\ndescription: d\nx: [{'a,' * 10_000}]\n---\n", "invalid YAML: more than 16384 characters of it"),
        (head("name: a"), "missing field `description`"),
        (head("name: a", "description:"), "missing field `description`"),
        (head("name: a", "description: '  '"), "missing field `description`"),
        (head("name: " + "n" * 65, "description: d"), "invalid name: exceeds maximum length of 64 characters"),
        (
            head("name: a", "description: " + "d" * 1025),
            "invalid description: exceeds maximum length of 1024 characters",
        ),
        (
            head("name: a", "description: d", "metadata:", "  short-description: " + "d" * 1025),
            "invalid metadata.short-description: exceeds maximum length of 1024 characters",
        ),
        (head("name: a", "name: b", "description: d"), "invalid YAML: duplicate field `name`"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(BadSkill) as caught:
        parse(text, "folder")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "line",
    [
        *("use: when", "use it:", "*x", "@x", "`x`", "%x", "{x", "{a: b}", "[a, b]", "- x", "? x", "'open"),
        "a\x00b",
    ],
)
def test_what_is_no_string_in_yaml_is_refused(line: str) -> None:
    with pytest.raises(BadSkill, match=r"^invalid YAML: "):
        parse(head("name: a", f"description: {line}"), "folder")


@pytest.mark.parametrize("text", [head("just text"), head("name: a", "description: d", "metadata: [a]")])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(BadSkill, match=r"^invalid YAML: .*expected a mapping"):
        parse(text, "folder")


def test_errors_name_the_place() -> None:
    with pytest.raises(BadSkill, match="line 2 column"):
        parse(head("name: a", "description: use: when"), "folder")


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(BadSkill):
        parse(head("name: a", "description: " + "[" * 5000), "folder")


CODE = "from pycodex.supervisor.context.skill_frontmatter import parse; parse(sys.argv[1], 'x')"


@pytest.mark.parametrize(
    ("lines", "needs_parser"),
    [
        (("name: a", "description: Does it, and (more)."), False),
        (('name: "a"', "description: 'Does it: well'"), False),
        (("name: a", "description: d", "metadata:", "  short-description: s"), False),
        (("name: a", "description: >", "  x"), True),
    ],
)
def test_plain_heads_are_read_without_yaml(lines: tuple[str, ...], needs_parser: bool) -> None:
    assert ("yaml" in modules_loaded_by(CODE, head(*lines))) == needs_parser


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["name: a", "metadata:", "  short-description: s", "description:", "  b: 'c'", "# x", ""]),
            st.tuples(
                st.sampled_from(["name", "description", "license", " name", "  short-description", "metadata"]),
                st.sampled_from([": ", ":", " : "]),
                st.text(alphabet="ab1 '\"#:-~nul[]{},&*!|>%@`\\\u00e4", max_size=8),
            ).map("".join),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_quick_way_reads_what_the_parser_reads(lines: list[str]) -> None:
    quick = _plain_fields(lines)
    if quick is not None:
        known = {
            key: text for key, text in quick.items() if key in ("name", "description", "metadata.short-description")
        }
        assert known == _yaml_fields(lines)
