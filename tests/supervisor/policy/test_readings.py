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
        ("find", *("." * 30), "-exec", "git", "push", ";"),
        ("bash", "-ec", "git push"),
        ("bash", "-l", "-c", "git push", "_"),
        ("dash", "-c", "git push"),
        ("bash", "-lc", "git push\nif"),
        ("bash", "-lc", "# " + "x" * 5000 + "\ngit push"),
        ("env", "-S", "git push"),
        ("env", "--split-string=git push"),
        ("coproc", *PUSH),
        ("flock", "lock", *PUSH),
        ("trap", "git push", "EXIT"),
    ],
)
def test_command_inside_is_found(argv: tuple[str, ...]) -> None:
    assert any(reading[: len(PUSH)] == PUSH for reading in readings(argv).all)


@pytest.mark.parametrize("argv", [(), ("",), ("echo", "git", "push"), ("bash", "-lc", "echo 'git push'"), ("env",)])
def test_words_that_are_run_by_nobody_are_no_command(argv: tuple[str, ...]) -> None:
    assert all(reading[: len(PUSH)] != PUSH for reading in readings(argv).all)


def test_the_command_itself_comes_first_and_readings_are_bounded() -> None:
    argv = ("env", *(f"w{number}" for number in range(1000)))
    found = readings(argv)
    assert found.all[0] == argv
    assert len(found.all) <= 100


def test_what_would_take_too_long_to_read_is_known_to_be_unread() -> None:
    scripts = [f"echo {number}; " + "a|" * 1500 + "a" for number in range(12)]
    assert readings(("bash", "-lc", scripts[0])).is_whole
    assert not readings(("bash", "-c", scripts[0], "-c", scripts[1], *(w for s in scripts for w in ("-c", s)))).is_whole
