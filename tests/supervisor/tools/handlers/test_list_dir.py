"""A directory as the model sees it."""

from pathlib import Path

from hypothesis import given

from pycodex.supervisor.tools.handlers.list_dir import ListDir
from support.direct_calls import answered, denying, hostile_arguments, hostile_settings, survives, told
from support.tool_calls import Benches, make_turn


async def test_entries_are_listed_down_to_the_second_level(benches: Benches, workspace: Path) -> None:
    (workspace / "a" / "b" / "c").mkdir(parents=True)
    for number in range(30):
        (workspace / f"f{number:02}").touch()
    async with benches() as bench:
        answer = await answered(ListDir(), bench, {"dir_path": str(workspace)})
        assert isinstance(answer.output, str)
        head, *entries, remark = answer.output.split("\n")
        assert head == f"Absolute path: {workspace}"
        assert entries[:3] == ["a/", "  b/", "f00"]
        assert (len(entries), remark) == (25, "More than 25 entries found")
        assert answer.usage is not None
        rest = await told(ListDir(), bench, dir_path=str(workspace), depth=3, offset=3, limit=2)
        assert rest == f"Absolute path: {workspace}\n    c/\nf00\nMore than 2 entries found"


async def test_mistakes_are_told_in_words(benches: Benches, workspace: Path) -> None:
    unread = "failed to parse function arguments"
    cases: list[tuple[object, str]] = [
        ({"dir_path": "x", "offset": 0}, "offset must be a 1-indexed entry number"),
        ({"dir_path": "x"}, "dir_path must be an absolute path"),
        ({"dir_path": f"{workspace}/no"}, "failed to read directory: No such file or directory (os error 2)"),
        ({}, f"{unread}: missing field `dir_path` at line 1 column 2"),
        ([], f"{unread}: invalid length 0, expected struct ListDirArgs with 4 elements at line 1 column 2"),
        ({"depth": None}, f"{unread}: invalid type: null, expected usize at line 1 column 14"),
    ]
    async with benches() as bench:
        for arguments, text in cases:
            assert (await answered(ListDir(), bench, arguments)).output == text


async def test_what_is_denied_is_not_listed(benches: Benches, workspace: Path) -> None:
    (workspace / "secret").mkdir()
    (workspace / "secret" / "key").touch()
    (workspace / "link").symlink_to("secret")
    async with benches() as bench:
        assert "key" in await told(ListDir(), bench, dir_path=str(workspace))
    async with benches(denying(workspace / "secret")) as bench:
        for path in (workspace, workspace / "secret", workspace / "link"):
            assert "key" not in await told(ListDir(), bench, dir_path=str(path))
        assert "secret/" in await told(ListDir(), bench, dir_path=str(workspace))


HOSTILE = {
    "dir_path": ("/dev", "/proc/self/fd", "/nul\0", "/" + "x" * 5000, "/proc/self/task", __file__, "x"),
    "offset": (0, 1, 3, (1 << 64) - 1, -1),
    "limit": (0, 1, (1 << 64) - 1),
    "depth": (0, 1, 3),
}


@hostile_settings
@given(hostile_arguments(HOSTILE))
def test_any_arguments_are_answered(benches: Benches, texts: list[str]) -> None:
    survives(ListDir(), benches, texts)


def test_schema() -> None:
    parameters = ListDir().spec(make_turn())["parameters"]
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "depth": "number",
        "dir_path": "string",
        "limit": "number",
        "offset": "number",
    }
    assert parameters["required"] == ["dir_path"]
    assert ListDir().parallel
