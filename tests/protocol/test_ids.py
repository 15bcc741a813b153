"""Identifiers."""

import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.ids import Instants, is_uuid, new_thread_id


def test_thread_id_is_a_uuid_of_version_7_that_tells_its_time() -> None:
    before = time.time_ns() // 1_000_000
    thread_id = uuid.UUID(made := new_thread_id())
    after = time.time_ns() // 1_000_000
    assert str(thread_id) == made
    assert (thread_id.version, thread_id.variant) == (7, uuid.RFC_4122)
    # A few may have been made ahead of the clock within one instant.
    assert before <= int(made.replace("-", "")[:12], 16) <= after + 1


def test_later_ids_sort_behind_earlier_ones() -> None:
    made = [new_thread_id() for _ in range(5000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@given(st.lists(st.integers(0, 2**62), min_size=2))
def test_instants_go_on_when_the_clock_does_not(clock: list[int]) -> None:
    instants = Instants(iter(clock).__next__)
    made = [instants.next() for _ in clock]
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("01950000-0000-7000-8000-0000000000aa", True),
        ("01950000-0000-7000-8000-0000000000AA", True),
        ("01950000-0000-7000-8000-0000000000a", False),
        ("01950000-0000-7000-8000-0000000000ag", False),
        ("0195000000007000800000000000000aa", False),
        ("Plums", False),
        ("", False),
    ],
)
def test_ids_are_told_from_names(text: str, is_one: bool) -> None:
    assert is_uuid(text) is is_one
