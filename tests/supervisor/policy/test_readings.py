"""However a command is wrapped, what is inside is among its readings."""

import pytest

from pycodex.supervisor.policy.readings import readings

PUSH = ("git", "push")


@pytest.mark.parametrize(
    "argv",
    [
        PUSH,
        ("g\\it", "push"),
        ("git", "pu\\\nsh"),
        ("env", *PUSH),
        ("env", "-i", "A=1", "B=2", *PUSH),
        ("/usr/bin/env", "--", *PUSH),
        ("sudo", "-u", "bob", *PUSH),
        ("sudo",) * 1000 + PUSH,
        ("nohup", "nice", "-n", "5", "timeout", "10", *PUSH),
        ("bash", "-c", "git push"),
        ("bash", "-lc", "cd x && git push"),
        ("bash", "-lc", "if true; then git push; fi"),
        ("bash", "-lc", "x=$(git push)"),
        ("bash", "-c", "bash -c 'sh -c \"git push\"'"),
        ("env", "A=1", "bash", "-lc", "time git push | tee log"),
        ("eval", "git", "push"),
        ("eval", "cd x; git push"),
        ("find", ".", "-exec", "git", "push", ";"),
    ],
)
def test_command_inside_is_found(argv: tuple[str, ...]) -> None:
    assert any(reading[: len(PUSH)] == PUSH for reading in readings(argv))


@pytest.mark.parametrize("argv", [(), ("",), ("echo", "git", "push"), ("bash", "-lc", "echo 'git push'"), ("env",)])
def test_words_that_are_run_by_nobody_are_no_command(argv: tuple[str, ...]) -> None:
    assert all(reading[: len(PUSH)] != PUSH for reading in readings(argv))


def test_the_command_itself_comes_first_and_readings_are_bounded() -> None:
    argv = ("env", *(f"w{number}" for number in range(1000)))
    found = readings(argv)
    assert found[0] == argv
    assert len(found) <= 100
