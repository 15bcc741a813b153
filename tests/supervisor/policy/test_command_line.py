"""An argv is taken apart only where a shell would do nothing else with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.policy.command_line import Segments, script_of, segments_of


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh", "/bin/bash", "/usr/local/bin/zsh", "./sh", "/opt/bash.exe"])
@pytest.mark.parametrize("flag", ["-c", "-lc"])
def test_shell_with_a_script(shell: str, flag: str) -> None:
    assert script_of((shell, flag, "ls && pwd")) == "ls && pwd"
    assert segments_of((shell, flag, "ls && pwd")) == Segments((("ls",), ("pwd",)))


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("ls",),
        ("bash",),
        ("bash", "-c"),
        ("bash", "-c", "ls", "x"),
        ("bash", "-l", "-c", "ls"),
        ("bash", "-l", "ls"),
        ("bash", "-cl", "ls"),
        ("bash", "-ec", "ls"),
        ("bash", "--", "ls"),
        ("dash", "-c", "ls"),
        ("fish", "-c", "ls"),
        ("BASH", "-c", "ls"),
        ("bash.tar.gz", "-c", "ls"),
        ("bash/", "-c", "ls"),
        ("pwsh", "-c", "ls"),
        ("ls", "&&", "pwd"),
    ],
)
def test_anything_else_stays_whole(argv: tuple[str, ...]) -> None:
    assert script_of(argv) is None
    assert segments_of(argv) == Segments((argv,))


@pytest.mark.parametrize(
    "script", ["", "ls $X", "ls > f", "(ls)", "if ls; then pwd; fi", "ls '", "a\0b", "x|" * 100_000]
)
def test_script_of_which_nothing_is_known_stays_with_its_shell(script: str) -> None:
    argv = ("/bin/bash", "-lc", script)
    assert segments_of(argv) == Segments((argv,))


@pytest.mark.parametrize(
    ("script", "does_more"),
    [
        ("python3 - <<'EOF'\nprint(1)\nEOF\n", False),
        ("python3 - <<'EOF' > out\nprint(1)\nEOF\n", True),
        ("PATH=. python3 - <<'EOF'\nprint(1)\nEOF\n", True),
    ],
)
def test_command_that_is_fed_a_document(script: str, does_more: bool) -> None:
    found = segments_of(("bash", "-c", script))
    assert found == Segments((("python3", "-"),), is_complex=True, does_more=does_more)


@given(st.lists(st.text(), max_size=4) | st.text().map(lambda script: ["bash", "-lc", script]))
def test_any_argv_has_commands(argv: list[str]) -> None:
    assert segments_of(argv).commands != ()
